// A whole group at once: ranks that read each other's memory. *Pull only*: a member writes its own
// memory alone, flags included, so that a frozen process that wakes up after its eviction can't
// spoil anybody's result. Implemented by transports/shm (processes of one node) and transports/sim;
// each passes tests/conformance/group_conformance.h.
#ifndef PHALANX_SPI_GROUP_H_
#define PHALANX_SPI_GROUP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/region.h"

namespace phalanx::spi {

// How a published range becomes readable.
enum class Publication : uint8_t {
  // Copied into the transport's own small slots. The caller may overwrite the range at once, and
  // the operation needs no acknowledgement at its end. At most kMaxStagedBytes in at most
  // kMaxStagedPublications per operation. Read in the round of the publication or a later one.
  kStaged,
  // Read where it lies: each byte must stay as it is until those who read it have raised the
  // acknowledging signal. (A transport that can't read it there copies it round by round, so it
  // is read in the round of its publication.) The input doesn't change: a transport may raise its
  // signal to the last round at once, so one that publishes input in place stands for nothing else.
  kInPlace,
};
inline constexpr size_t kMaxStagedBytes = 64 * 1024;
inline constexpr int kMaxStagedPublications = 32;

// Signals are counters, one per (member, number): a member raises its own, round by round, and
// reads its peers'. An operation of R rounds uses the values 1..R of each signal that its plan
// names.
inline constexpr int kMaxSignals = 8;

// What a member says of its part before anything else of an operation.
struct GroupOperation {
  // Number of this operation on this group: rises by one, the same on every member.
  uint64_t sequence = 0;
  uint32_t rounds = 1;
  const std::byte* input = nullptr;
  size_t input_bytes = 0;
  std::byte* output = nullptr;
  size_t output_bytes = 0;
  size_t scratch_bytes = 0;  // provided by the transport, readable by peers
  // Opaque to the transport, readable by peers once this member has published: its factor of a
  // pre-multiplied sum (see device/reduce.h).
  uint64_t factor_bits = 0;
  // What the operation is, equal on all members: nobody reads from a member that has another.
  uint32_t check = 0;
};

// One range, or `ranges` of them whose starts lie `stride` bytes apart (the round's chunk of every
// peer's block); what lies past the region's end isn't part of it. An operation publishes each
// region at most once in a round.
struct Publish {
  Publication publication = Publication::kInPlace;
  Region region = Region::kInput;
  size_t offset = 0;
  size_t bytes = 0;  // of each range
  uint32_t ranges = 1;
  size_t stride = 0;
  uint32_t round = 0;
  uint8_t signal = 0;  // raised to round + 1
  // kInPlace: the signal by which readers say that they are done with a round. Every other member
  // raises it in every round, whether it reads or not.
  uint8_t acknowledged = 0;
};

// One communicator's group. Not thread-safe: the holder of the communicator's progress token calls
// it; Abort() alone may come from any thread.
class GroupTransport {
 public:
  virtual ~GroupTransport() = default;

  virtual int rank() const = 0;  // in the group
  virtual int size() const = 0;

  // Opens operation `operation.sequence`. Never waits. One operation at a time; End() or
  // Withdraw() closes it.
  // RESOURCE_EXHAUSTED when the scratch can't be had.
  virtual absl::Status Begin(const GroupOperation& operation) = 0;
  virtual std::byte* scratch() = 0;  // between Begin and End

  // Makes a range readable and raises the signal. False when it has to wait for readers of an
  // earlier round or operation; then nothing has happened and it is tried again.
  virtual bool TryPublish(const Publish& publish) = 0;
  // Raises a signal of our own to round + 1 with nothing to read behind it.
  virtual void Raise(uint8_t signal, uint32_t round) = 0;
  // Whether `peer` has raised `signal` to round + 1 in this operation. Acquires what it published.
  virtual bool Reached(int peer, uint8_t signal, uint32_t round) = 0;

  // Readable bytes of `peer` (not ourselves), valid until the next call with the same `tile` or the
  // peer's next reuse: a pointer into the peer's memory where that is mapped, else `tile` (of at
  // least `bytes` bytes), filled. Only for ranges that a reached signal covers. INVALID_ARGUMENT
  // when the peer's check is another; UNAVAILABLE when the peer is gone.
  virtual absl::StatusOr<const std::byte*> Read(int peer, Region region, size_t offset,
                                                size_t bytes, uint32_t round, std::byte* tile) = 0;
  // The same into `destination`, without a detour.
  virtual absl::Status ReadInto(int peer, Region region, size_t offset, size_t bytes,
                                uint32_t round, std::byte* destination) = 0;
  // After a reached signal by which that peer published.
  virtual uint64_t factor_bits(int peer) = 0;

  // INVALID_ARGUMENT when a member is seen to have entered this operation, or perhaps the one
  // before, with another check than ours, which it may see from now on. For one that waits, perhaps
  // for what such a member never does; a look that misses it in passing is allowed.
  virtual absl::Status CheckMembers() = 0;

  // Closes an operation that is complete here. ABORTED when a member whose memory we read in place
  // has withdrawn it: the bytes may be of a later use of it.
  virtual absl::Status End() = 0;
  // Closes an operation that isn't complete and never will be; what it published in place is the
  // caller's again. The group has no further operation.
  virtual void Withdraw() = 0;

  // Blocks until Reached(peer, signal, round) may be true, Abort() is called or `timeout` passes
  // (spins first where cores allow; never longer than 1 ms in one call). Spurious returns are
  // allowed.
  virtual void Wait(int peer, uint8_t signal, uint32_t round, Clock::duration timeout) = 0;
  // The same for a TryPublish() that returned false.
  virtual void WaitToPublish(const Publish& publish, Clock::duration timeout) = 0;

  // Makes Wait() return, now and later. Reading goes on to work; the engine checks its own abort
  // status after its last read and before it says "complete".
  virtual void Abort() = 0;
};

// Who may be in a group: a member on this node, with the descriptor of its memory.
struct NodePeer {
  int rank = -1;  // in the view
  Incarnation incarnation;
  int pid = 0;
  int segment_fd = -1;  // owned by the caller; duplicated if kept
};

// A session's readable memory, and the groups that share it. Thread-safe unless said otherwise.
class GroupDomain {
 public:
  virtual ~GroupDomain() = default;

  // The memory that peers map, sealed against shrinking and against others' writes. -1 if peers
  // need no descriptor.
  virtual int segment_fd() const = 0;

  // Maps the peers' memory for reading. Called once, when the view is known. FAILED_PRECONDITION
  // when a segment isn't the one of that incarnation or lacks its seals.
  virtual absl::Status Attach(int own_rank, absl::Span<const NodePeer> peers) = 0;

  // Memory that peers read without a copy, 4 KiB aligned, zeroed. RESOURCE_EXHAUSTED, and nothing
  // taken, when the machine, its control group or the configured limit hasn't that much: checked
  // before use, so that a later touch never ends in SIGBUS. Free() takes what Allocate() returned,
  // when no operation uses it; the memory is kept for later allocations.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) = 0;

  // Forming a group of `size` members takes two calls: PrepareGroup() on each member, whose opaque
  // result (at most 64 bytes) reaches all members, then OpenGroup() with all of them in group
  // order. `ranks` are the members' ranks in the view. `oversubscribed`: more ranks than cores, so
  // don't spin. OpenGroup() before Attach() is a FAILED_PRECONDITION. A group is destroyed before
  // its domain; each member may do so as soon as its own last operation has ended.
  virtual absl::StatusOr<std::string> PrepareGroup(int size) = 0;
  virtual absl::StatusOr<std::unique_ptr<GroupTransport>> OpenGroup(
      CommunicatorId id, absl::Span<const int> ranks, absl::Span<const std::string> prepared,
      bool oversubscribed) = 0;
};

}  // namespace phalanx::spi

#endif  // PHALANX_SPI_GROUP_H_
