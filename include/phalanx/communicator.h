// Collectives and messages among an ordered group of ranks.
#ifndef PHALANX_COMMUNICATOR_H_
#define PHALANX_COMMUNICATOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "phalanx/export.h"
#include "phalanx/types.h"
#include "phalanx/work.h"

namespace phalanx {
namespace api {
class CommunicatorState;
class Split;
struct RecordedCall;
}  // namespace api
namespace engine {
struct Request;
}  // namespace engine

class Graph;
class Group;
class PendingCommunicator;
class Stream;

// Where in the program an operation was issued, for reports. Nothing is known of OpOptions that are
// declared without braces (`OpOptions options;`); `OpOptions options{}` has its own place.
struct CallSite {
  const char* file = nullptr;  // as the compiler was told it; not owned
  uint32_t line = 0;

  static constexpr CallSite Here(const char* file = __builtin_FILE(),
                                 uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

struct OpOptions {
  // Starts when the stream reaches it, and the stream waits for its end. Null: starts at once.
  Stream* stream = nullptr;
  // Recorded, and started with the rest of the group by Group::Launch(). The returned Work is the
  // validation's result then.
  Group* group = nullptr;
  // Recorded, and issued by each Graph::Launch(), on the stream that is given there. Not together
  // with `group` or `stream`. The returned Work is the validation's result.
  Graph* graph = nullptr;
  // Collectives with a key may be issued in any order relative to those with other keys and to
  // those without, on each rank its own; the n-th use of a key on this communicator is one
  // operation on all ranks. At most 255 bytes, not beginning with "phalanx."; read during the call.
  // A key is remembered until its communicator ends:
  // name tensors, not steps. Sends and receives take none (INVALID_ARGUMENT).
  std::string_view key;
  // How long Work::Wait() waits. Zero: Options::operation_timeout.
  std::chrono::nanoseconds timeout{0};
  // Of whoever writes these options down, `{}` included.
  CallSite call_site = CallSite::Here();
};

// Where a rank's part lies in a vector of unequal parts: elements, indexed by rank.
struct Parts {
  absl::Span<const uint64_t> counts;
  absl::Span<const uint64_t> displacements;  // empty: one behind the other
};

// Every member calls the same operations, with matching arguments, in the same order; operations of
// different communicators, of different keys (OpOptions::key) and messages between different pairs
// are independent. All calls return at
// once, are thread-safe, and report mistakes through the Work. Counts are elements of `type`, as in
// NCCL. A buffer belongs to the operation until its Work is done, and may be null where it holds 0
// elements. Results of floats are equal on all ranks, bit for bit, and from run to run.
//
// Send and receive buffers are the same memory (in place) or don't overlap. In place means, where
// the two have different sizes, that the smaller is this rank's part of the larger.
//
// A communicator lives as long as its view; using one after its session was closed fails with
// FAILED_PRECONDITION.
class PHALANX_EXPORT Communicator {
 public:
  explicit Communicator(std::shared_ptr<api::CommunicatorState> state);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;

  // receive = reduction over all ranks of send; `count` elements each.
  Work AllReduce(const void* send, void* receive, size_t count, DataType type,
                 const Reduction& reduction, const OpOptions& options = {});
  // receive (count elements) = this rank's part of the reduction over all ranks of send (count ×
  // size).
  Work ReduceScatter(const void* send, void* receive, size_t count, DataType type,
                     const Reduction& reduction, const OpOptions& options = {});
  // receive (count × size) = every rank's send (count), by rank.
  Work AllGather(const void* send, void* receive, size_t count, DataType type,
                 const OpOptions& options = {});
  // The same with unequal parts: rank r sends parts.counts[r]. `parts.counts` is equal on all
  // ranks.
  Work AllGather(const void* send, void* receive, const Parts& parts, DataType type,
                 const OpOptions& options = {});
  // receive = root's send. `send` is read at the root only.
  Work Broadcast(const void* send, void* receive, size_t count, DataType type, int root,
                 const OpOptions& options = {});
  // receive, at the root only = reduction over all ranks of send.
  Work Reduce(const void* send, void* receive, size_t count, DataType type,
              const Reduction& reduction, int root, const OpOptions& options = {});
  // receive (count × size), at the root only = every rank's send (count), by rank.
  Work Gather(const void* send, void* receive, size_t count, DataType type, int root,
              const OpOptions& options = {});
  // receive (count) = this rank's part of root's send (count × size).
  Work Scatter(const void* send, void* receive, size_t count, DataType type, int root,
               const OpOptions& options = {});
  // Part r of receive = part `rank()` of rank r's send; `count` elements a part. Not in place.
  Work AllToAll(const void* send, void* receive, size_t count, DataType type,
                const OpOptions& options = {});
  // The same with unequal parts: what rank a sends to b, b receives from a. Not in place.
  Work AllToAll(const void* send, const Parts& send_parts, void* receive,
                const Parts& receive_parts, DataType type, const OpOptions& options = {});
  // Message to or from one rank. The n-th send from a to b meets the n-th receive at b from a;
  // counts and types match. Completes with rendezvous semantics: don't rely on buffering.
  Work Send(const void* send, size_t count, DataType type, int peer, const OpOptions& options = {});
  Work Receive(void* receive, size_t count, DataType type, int peer, const OpOptions& options = {});
  // Done when all ranks have called it.
  Work Barrier(const OpOptions& options = {});

  // Collective: members with the same `color` form a new communicator, ordered by `key`, then by
  // rank. Null for those with a negative color. Blocks for Options::operation_timeout at most.
  // The n-th split of a communicator is one on all its members; splits of different communicators
  // are independent, and so are splits and what is issued besides.
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key);
  // The same without blocking, so that communicators can be split in different orders on different
  // ranks.
  PendingCommunicator StartSplit(int color, int key);

 private:
  Work Start(absl::StatusOr<engine::Request>* request, const OpOptions& options);
  template <typename Recorder>
  Work Record(absl::StatusOr<engine::Request>* request, const OpOptions& options,
              Recorder* recorder);

  std::shared_ptr<api::CommunicatorState> state_;
};

// A communicator that is being made. Destroying it waits until that is done.
class PHALANX_EXPORT PendingCommunicator {
 public:
  PendingCommunicator(PendingCommunicator&& other) noexcept;
  PendingCommunicator& operator=(PendingCommunicator&& other) noexcept;
  ~PendingCommunicator();

  // Blocks until it is made, and returns what Communicator::Split() does. Once.
  absl::StatusOr<std::unique_ptr<Communicator>> Wait();

 private:
  friend class Communicator;
  explicit PendingCommunicator(std::unique_ptr<api::Split> split);

  std::unique_ptr<api::Split> split_;
};

// Operations that start together and complete as one Work: what ncclGroupStart/End are for. Sends
// and receives of a group progress side by side. Nothing starts if any call was invalid.
//
//   phalanx::Group group;
//   comm.Send(right, count, type, next, {.group = &group});
//   comm.Receive(left, count, type, previous, {.group = &group});
//   absl::Status status = group.Launch().Wait();
//
// Not thread-safe. All its communicators belong to one session. Unlaunched operations are dropped.
class PHALANX_EXPORT Group {
 public:
  Group();
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Starts what was recorded and empties the group. INVALID_ARGUMENT: the first mistake.
  Work Launch();

 private:
  friend class Communicator;
  absl::Status error_;  // the first mistake
  std::vector<std::unique_ptr<api::RecordedCall>> entries_;
};

}  // namespace phalanx

#endif  // PHALANX_COMMUNICATOR_H_
