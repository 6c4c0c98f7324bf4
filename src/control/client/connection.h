// The client's Unix socket: framed messages both ways, with descriptors.
#ifndef PHALANX_CONTROL_CLIENT_CONNECTION_H_
#define PHALANX_CONTROL_CLIENT_CONNECTION_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "control_process/fd.h"
#include "control_protocol/frame.h"
#include "control_protocol/message.h"

namespace phalanx::control {

// Sending and receiving may go on in two threads, one each.
class Connection {
 public:
  // The agent at the abstract socket `name`. UNAVAILABLE when nobody listens there,
  // PERMISSION_DENIED when it is another user's.
  static absl::StatusOr<Connection> Open(const std::string& name, Deadline deadline);

  // `fd` (-1: none) travels with the message; the caller keeps its own. UNAVAILABLE when the agent
  // is gone.
  absl::Status Send(const Message& message, int fd, Deadline deadline);

  // Sends what can be sent of `bytes` at once; how many. UNAVAILABLE when the agent is gone.
  absl::StatusOr<size_t> SendSome(absl::string_view bytes);

  // What has come; nothing when more bytes are needed. Never blocks. UNAVAILABLE when the agent is
  // gone, INVALID_ARGUMENT when it speaks garbage.
  absl::StatusOr<std::optional<Message>> Receive();
  // The descriptors that came, in order; taken away from the connection.
  std::optional<Fd> TakeFd();

  int fd() const { return socket_.get(); }
  // Once known: for messages.
  void set_node(int node) { node_ = node; }

 private:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}

  // True when bytes came, false when there were none.
  absl::StatusOr<bool> ReadSome();
  absl::Status Gone(const char* what) const;

  Fd socket_;
  int node_ = -1;
  FrameReader reader_{kMaxControlMessageBytes};
  std::deque<Fd> fds_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_CONNECTION_H_
