// A process's membership of a job.
#ifndef PHALANX_SESSION_H_
#define PHALANX_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phalanx/communicator.h"
#include "phalanx/export.h"
#include "phalanx/memory.h"
#include "phalanx/options.h"
#include "phalanx/stream.h"

namespace phalanx {
namespace api {
class SessionState;
}  // namespace api

// The numbered map from ranks to processes, and the communicator of all of them. Belongs to its
// session.
class PHALANX_EXPORT View {
 public:
  uint64_t epoch() const { return epoch_; }
  int rank() const { return world_->rank(); }
  int size() const { return world_->size(); }
  // This rank's number among, and the number of, the ranks of its node.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  Communicator& world() { return *world_; }

 private:
  friend class Session;
  View() = default;

  uint64_t epoch_ = 0;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::unique_ptr<Communicator> world_;
};

// Owns everything that the library has in this process; two sessions can live side by side.
// Thread-safe. Destroying a session closes it; an unfinished operation ends as aborted then.
class PHALANX_EXPORT Session {
 public:
  // Joins the job that `options` name and waits, at most options.join_timeout, until all its ranks
  // are there; prints who is missing meanwhile.
  //   INVALID_ARGUMENT    options that can't work; two processes with one rank; different world
  //   sizes DEADLINE_EXCEEDED   ranks that didn't come, named PERMISSION_DENIED   wrong key
  //   UNAVAILABLE         nobody at the address, or a rank lost while joining
  static absl::StatusOr<std::unique_ptr<Session>> Join(const Options& options);

  // A name for a new job, for Options::unique_id; starts the job's coordinator as a child process,
  // which ends with the job, or when nobody joins within options.join_timeout.
  static absl::StatusOr<std::string> CreateUniqueId(const Options& options = {});

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  View& view();

  // Memory for buffers that travel fastest between the ranks of a node. RESOURCE_EXHAUSTED, with
  // nothing taken, when the machine or the limit hasn't that much.
  absl::StatusOr<Buffer> Allocate(size_t bytes);

  absl::StatusOr<std::unique_ptr<Stream>> CreateStream();

  // Blocks until all that was queued on the session's streams so far has ended, however it ended.
  // DEADLINE_EXCEEDED leaves it queued; FAILED_PRECONDITION inside a stream's callback.
  absl::Status Synchronize(std::chrono::nanoseconds timeout);

  // Ends this rank's part: waits until every rank has closed, so that none takes the end for a
  // loss. Further calls on the session's communicators fail with FAILED_PRECONDITION. Idempotent.
  //   FAILED_PRECONDITION  operations are still in flight; the session stays open
  //   DEADLINE_EXCEEDED    not all ranks closed in time; this one has
  absl::Status Close(std::chrono::milliseconds timeout = std::chrono::seconds(30));

 private:
  explicit Session(std::shared_ptr<api::SessionState> state);

  std::shared_ptr<api::SessionState> state_;
  View view_;
};

}  // namespace phalanx

#endif  // PHALANX_SESSION_H_
