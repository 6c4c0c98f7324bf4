// The caller's handle of an operation in flight.
#ifndef PHALANX_WORK_H_
#define PHALANX_WORK_H_

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "phalanx/export.h"

namespace phalanx {
namespace engine {
class Operation;
}  // namespace engine

// Completes exactly once, with a status:
//   OK
//   INVALID_ARGUMENT     the call was wrong; nothing was started
//   FAILED_PRECONDITION  the session is closed, or the call came from inside a callback
//   UNAVAILABLE          a rank is gone; the message names it
//   ABORTED              the view ended for another reason
// After UNAVAILABLE and ABORTED the contents of the operation's output are undefined and its
// communicator is unusable.
//
// Copyable; copies refer to the same operation. Thread-safe. Dropping the last handle doesn't
// cancel: the operation goes on, and its buffers stay in use until it is done.
class PHALANX_EXPORT Work {
 public:
  // A handle that is done, with `status`.
  explicit Work(absl::Status status = absl::OkStatus());
  Work(const Work& other);
  Work(Work&& other) noexcept;
  Work& operator=(const Work& other);
  Work& operator=(Work&& other) noexcept;
  ~Work();

  // Blocks until the operation is done and returns its status. DEADLINE_EXCEEDED, naming the
  // operation and the ranks that it waits for, after `timeout` (by default the operation's own,
  // OpOptions::timeout); the operation is still in flight then. The calling thread does the
  // operation's work meanwhile.
  absl::Status Wait();
  absl::Status Wait(std::chrono::nanoseconds timeout);

  // Whether it is done. Does a little of the operation's work if it isn't; never blocks.
  bool Poll();

  // Runs `callback` once with the status when the operation is done: at once on this thread if it
  // is already, else on the thread that finds it done. A callback must not block; waiting for a
  // Work inside one fails with FAILED_PRECONDITION.
  void Then(std::function<void(const absl::Status&)> callback);

 private:
  friend class WorkAccess;
  explicit Work(engine::Operation* operation);

  engine::Operation* operation_ = nullptr;   // one reference is ours; null: done with status_
  std::shared_ptr<std::vector<Work>> more_;  // the rest of a group
  absl::Status status_;
};

}  // namespace phalanx

#endif  // PHALANX_WORK_H_
