// A process's membership of a job.
#ifndef PHALANX_SESSION_H_
#define PHALANX_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "phalanx/checkpoint_copy.h"
#include "phalanx/communicator.h"
#include "phalanx/export.h"
#include "phalanx/memory.h"
#include "phalanx/options.h"
#include "phalanx/state.h"
#include "phalanx/stream.h"

namespace phalanx {
namespace api {
class SessionState;
}  // namespace api

// The numbered map from ranks to processes, and the communicator of all of them. Belongs to its
// session. When a rank is lost the view is over: its communicators' operations fail from then on.
class PHALANX_EXPORT View {
 public:
  uint64_t epoch() const { return epoch_; }
  // -1 and 0 in a spare that has no place yet.
  int rank() const { return world_ == nullptr ? -1 : world_->rank(); }
  int size() const { return world_ == nullptr ? 0 : world_->size(); }
  // This rank's number among, and the number of, the ranks of its node.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  // Not in a spare that has no place yet.
  Communicator& world() { return *world_; }

  // What follows belongs into the function that Session::Run() is given, on one thread. All end by
  // Options::operation_timeout.

  // Once in every view and before anything else: puts the regions into the state that all ranks go
  // on from, and returns the step that comes next: the one after the newest committed checkpoint's;
  // before the first, 0, with the regions as this rank's first Restore() found them. In a job with
  // Options::live: the step after the last one that was applied; see Step().
  //   INVALID_ARGUMENT    two regions of one name, or others than in this rank's first Restore()
  //   FAILED_PRECONDITION it was called before in this view, or this process has no place
  //   RESOURCE_EXHAUSTED  the machine hasn't the memory for the copies; see docs/recovery.md
  //   the view's end      a rank was lost meanwhile; the regions are unspecified, and Run() calls
  //                       the function again
  absl::StatusOr<int64_t> Restore(absl::Span<const StateRegion> regions);

  // Saves the regions as the state after `step`, into memory of this node's agent, where it
  // survives this process. Returns when the copy is taken; what follows goes on in the background.
  // Called by all ranks with the same steps, which rise. A version is committed once all ranks'
  // copies are verified; while one is on its way, all ranks skip those that come.
  //   INVALID_ARGUMENT    a step that doesn't rise, or other regions than Restore() was given
  //   FAILED_PRECONDITION without Restore() before it
  //   the view's end      as above; the regions are as they were
  absl::Status Checkpoint(absl::Span<const StateRegion> regions, int64_t step);

  // Checkpoint() for programs that only read the regions for a while (until the next update of the
  // weights, say): returns at once, and a thread of the library's takes the copy. Until the result
  // was waited for, or destroyed, the regions must not change. Errors are Checkpoint()'s and come
  // from there; besides
  //   FAILED_PRECONDITION  the one before hasn't been waited for
  CheckpointCopy BeginCheckpoint(absl::Span<const StateRegion> regions, int64_t step);

  // In a job with Options::live, whose regions are the same on every rank: commits a step and
  // applies it. Called by all ranks with the steps from Restore()'s on, one after the other, when
  // all of the step's operations, on all communicators, have completed on this rank. The regions
  // that Restore() was given change only in `apply`, which is called at most once, in here, when
  // all ranks have come to this call; what it reads must stay as it is until then. So no step that
  // any rank has applied is ever taken back, and at most one is computed again after a loss.
  //
  // It costs each step one message to the coordinator and one back. When the view ends meanwhile it
  // is decided first, among those who are left, whether the step stands; if so it is applied. That
  // takes as long as the slowest of them needs to hear of the view's end, at most
  // Options::join_timeout.
  //   INVALID_ARGUMENT    not the step that follows
  //   FAILED_PRECONDITION without Options::live, or without Restore() before it
  //   DEADLINE_EXCEEDED   not all ranks came to it within Options::operation_timeout; this rank's
  //                       regions count for nothing any more
  //   the view's end      whether the step was applied or not, the next Restore() says
  //   apply's error       the step stands on the others, and this rank can't go on
  absl::Status Step(int64_t step, const std::function<absl::Status()>& apply);

 private:
  friend class Session;
  View() = default;

  std::shared_ptr<api::SessionState> state_;
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

  // Closes it, as Close() does, waiting for the others for 30 s or Options::operation_timeout,
  // whichever is shorter; doesn't wait if operations were still in flight.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Of a spare: without a place until Run() has one for it.
  View& view();

  // Runs `body`, and again in a new view whenever a rank is lost and there is a spare to take its
  // place: the body's operations fail then, and it is to return, with whatever status. A spare
  // waits in here, for as long as the job runs, and runs the body from the view on in which it
  // takes part. Returns OK once the body has come to its end on every rank, on spares that weren't
  // needed too; otherwise
  //   the body's error     no rank was lost (waits 2 s for word of it after UNAVAILABLE or ABORTED)
  //   UNAVAILABLE          a rank was lost, and there was no spare or it couldn't be replaced
  //   DEADLINE_EXCEEDED    ranks that didn't come back within options.join_timeout, or didn't end
  //                        within options.operation_timeout
  // On one thread at a time, and with no other call on this session meanwhile but those of the
  // body. References to the view's communicator and communicators split from it are of no use after
  // the body has returned; buffers and streams stay.
  absl::Status Run(const std::function<absl::Status(View& view)>& body);

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
  absl::Status OpenView();
  absl::Status EnterView();
  absl::Status RunView(const std::function<absl::Status(View& view)>& body);

  std::shared_ptr<api::SessionState> state_;
  View view_;
};

}  // namespace phalanx

#endif  // PHALANX_SESSION_H_
