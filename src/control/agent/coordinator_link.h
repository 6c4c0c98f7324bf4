// The agent's connection to the coordinator.
#ifndef PHALANX_CONTROL_AGENT_COORDINATOR_LINK_H_
#define PHALANX_CONTROL_AGENT_COORDINATOR_LINK_H_

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "control_channel/channel.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/message.h"

namespace phalanx::control {

// On the agent's thread only. `context` has stopped running, or `lost` was called, before it is
// destroyed.
class CoordinatorLink {
 public:
  struct Handlers {
    // Before hello is said: what is to be said in it of `own_address`, ours towards the
    // coordinator.
    std::function<void(const std::string& own_address, message::AgentHello* hello)> opened;
    std::function<void(Message)> message;
    // The coordinator is gone and another one may come. Gives what is to be said to it first, or
    // nullopt: we don't wait for it. What is sent from here on goes to that one.
    std::function<std::optional<message::AgentHello>(const absl::Status&)> interrupted;
    // Once: the coordinator is gone, can't be reached or doesn't accept us. Names its address.
    //   PERMISSION_DENIED  wrong key
    //   UNAVAILABLE        anything else
    std::function<void(const absl::Status&)> lost;
  };

  // `tls` outlives the link.
  CoordinatorLink(asio::io_context& context, Endpoint endpoint, TlsContext* tls)
      : endpoint_(std::move(endpoint)),
        tls_(tls),
        resolver_(context),
        socket_(context),
        timer_(context) {}

  // Connects, trying again until `deadline` while the coordinator can't be reached (it may not have
  // begun yet); says `hello` first.
  void Start(message::AgentHello hello, Deadline deadline, Handlers handlers);
  // Before Start(): when the connection breaks, tries to reach a coordinator at the same address,
  // for so long each time, unless connections are refused there.
  void AwaitSuccessors(Clock::duration timeout) { successor_timeout_ = timeout; }
  // Queued until we are connected.
  void Send(const Message& message);
  // Sends what is queued and ends; `lost` comes when it is done.
  void Finish(Clock::duration timeout);

 private:
  void Resolve();
  void Connect(const asio::ip::tcp::resolver::results_type& addresses);
  void TryLater(const std::string& why);
  void OnConnected();
  void OnOpened();
  void OnClosed(const absl::Status& status);
  bool AwaitSuccessor(const absl::Status& status);
  void Lose(const absl::Status& status);

  const Endpoint endpoint_;
  TlsContext* const tls_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  message::AgentHello hello_;
  Deadline deadline_ = Deadline::Never();
  Handlers handlers_;
  std::optional<Clock::duration> successor_timeout_;
  std::vector<Message> queued_;
  std::shared_ptr<Channel> channel_;
  bool open_ = false;
  bool interrupted_ = false;
  bool finishing_ = false;
  bool lost_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_COORDINATOR_LINK_H_
