// The agent's end of one worker's Unix socket.
#ifndef PHALANX_CONTROL_AGENT_WORKER_CONNECTION_H_
#define PHALANX_CONTROL_AGENT_WORKER_CONNECTION_H_

#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "control_protocol/frame.h"
#include "control_protocol/message.h"

namespace phalanx::control {

// Descriptors that go to several workers stay open until the last of them has been served.
using SharedFd = std::shared_ptr<const Fd>;

// On the agent's thread only. Made by std::make_shared; calls no handler after `closed`.
class WorkerConnection : public std::enable_shared_from_this<WorkerConnection> {
 public:
  struct Handlers {
    std::function<void(Message)> message;
    // The last call. OK: end of file. INVALID_ARGUMENT: the worker sent what is no message.
    std::function<void(const absl::Status&)> closed;
  };

  explicit WorkerConnection(asio::local::stream_protocol::socket socket);

  // The process at the other end, as the kernel knows it. PERMISSION_DENIED when it belongs to
  // another user.
  absl::StatusOr<int> PeerPid();

  void Start(Handlers handlers);
  // Handles what has come already, for when the process is known to be gone.
  void Drain() { OnReadable(); }
  // `fds` travel with the message; at most kMostFdsPerMessage.
  void Send(const Message& message, std::vector<SharedFd> fds = {});
  // The next descriptor that came with a message.
  std::optional<Fd> TakeFd();
  // Calls no handler.
  void Close();
  bool drained() const { return outgoing_.empty() || closed_; }

  static constexpr size_t kMostFdsPerMessage = 200;

 private:
  struct Outgoing {
    std::string bytes;
    size_t sent = 0;
    std::vector<SharedFd> fds;
  };

  void AwaitReadable();
  void OnReadable();
  absl::StatusOr<bool> ReadSome();
  void Write();
  void AwaitWritable();
  ssize_t SendPart(const Outgoing& outgoing);
  void End(const absl::Status& status);

  asio::local::stream_protocol::socket socket_;
  asio::steady_timer retry_;
  Handlers handlers_;
  FrameReader reader_{kMaxWorkerMessageBytes};
  std::deque<Fd> fds_;
  std::deque<Outgoing> outgoing_;
  bool waiting_to_write_ = false;
  bool closed_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_WORKER_CONNECTION_H_
