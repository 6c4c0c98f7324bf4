// Lets other agents of the job read the shards that this one has, and tells them that it is there.
#ifndef PHALANX_CONTROL_AGENT_PEER_SERVER_H_
#define PHALANX_CONTROL_AGENT_PEER_SERVER_H_

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/logger.h"
#include "checkpoint_wire/codec.h"
#include "control_channel/channel.h"
#include "control_process/listen.h"
#include "send_budget.h"
#include "shard_shelf.h"

namespace phalanx::control {

// On the thread that runs `context`; that has stopped before the server is destroyed.
//
// Parts that nobody waits for (`urgent` isn't set) go no faster than the budget allows, all
// readers' together, in the order in which they were asked for. Their readers hear every second
// that there is more to come. The others go at once and cost the budget nothing.
class PeerServer {
 public:
  // A peer has read a shard whose bytes don't have their digest.
  using Doubt = std::function<void(const ShardKey& key)>;

  // `tls` (of a server) and `shelf` outlive it.
  PeerServer(asio::io_context& context, TlsContext* tls, const ShardShelf* shelf, SendBudget budget,
             Doubt doubt, Logger logger)
      : tls_(tls),
        shelf_(shelf),
        doubt_(std::move(doubt)),
        logger_(std::move(logger)),
        budget_(budget),
        acceptor_(context),
        pause_(context),
        held_timer_(context) {}

  void Start(Listener listener);

 private:
  struct Held {
    uint64_t id = 0;  // of the channel
    checkpoint::ReadPart read;
  };

  void Accept();
  void OnAccepted(asio::ip::tcp::socket socket);
  void OnMessage(uint64_t id, const Message& message);
  void OnRead(uint64_t id, const checkpoint::ReadPart& read);
  // How many bytes of the shard that was.
  size_t Answer(Channel* channel, const checkpoint::ReadPart& read);
  void SendHeld();
  void SayHeld();

  TlsContext* const tls_;
  const ShardShelf* const shelf_;
  const Doubt doubt_;
  const Logger logger_;
  SendBudget budget_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::map<uint64_t, std::shared_ptr<Channel>> channels_;
  uint64_t last_id_ = 0;
  std::deque<Held> held_;  // until the budget allows it
  asio::steady_timer held_timer_;
  Clock::time_point say_held_at_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_PEER_SERVER_H_
