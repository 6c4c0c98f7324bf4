// What the client has to say while its control thread reads.
#ifndef PHALANX_CONTROL_CLIENT_OUTBOX_H_
#define PHALANX_CONTROL_CLIENT_OUTBOX_H_

#include <cstddef>
#include <mutex>
#include <string>

#include "connection.h"
#include "control_protocol/message.h"

namespace phalanx::control {

// Any thread. A message is sent by who brings it, so that nobody has to be woken for it; what the
// socket doesn't take at once is left to the control thread.
class Outbox {
 public:
  // `connection` outlives it and isn't sent to in another way once Post() was called.
  explicit Outbox(Connection* connection) : connection_(connection) {}

  // True when something is left that wasn't before: Flush() is wanted once the socket takes more.
  bool Post(const Message& message);
  void Flush();
  bool empty() const;

 private:
  void FlushLocked();

  Connection* const connection_;
  mutable std::mutex mutex_;
  std::string bytes_;  // guarded by mutex_
  size_t sent_ = 0;    // of them
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_OUTBOX_H_
