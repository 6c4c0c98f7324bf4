// A worker's side of the control plane: the one connection to the agent of its node.
#ifndef PHALANX_CONTROL_CLIENT_CLIENT_H_
#define PHALANX_CONTROL_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/logger.h"
#include "control_process/fd.h"
#include "control_protocol/job_settings.h"

namespace phalanx::control {

// What a process brings when it asks to be a member.
struct JoinRequest {
  int rank = -1;  // -1: whichever is free
  int world_size = 0;
  Incarnation incarnation;
  // Transport name → where peers reach this process by it (spi::Wire::address(), prepared groups).
  std::map<std::string, std::string> addresses;
  // The process's shared segment, handed to the other members of this node; -1 for none. Borrowed.
  int segment_fd = -1;
  JobSettings settings;  // equal on all ranks
};

struct Member {
  int rank = -1;
  Incarnation incarnation;
  int node = 0;  // index of its agent; members of one node may share memory
  int pid = 0;   // as seen on its node
  std::map<std::string, std::string> addresses;
};

// A view of a job, as every member receives it.
struct ViewDescription {
  Epoch epoch;
  uint64_t job_token = 0;       // proves to data links that a peer belongs to the job
  std::vector<Member> members;  // by rank
  std::vector<int> node_cores;  // by node: processors its workers may use
  JobSettings settings;
  std::vector<uint32_t> performed_faults;  // in this job, so far
};

// Told by the control thread or inside of Receive(), one call at a time; must not block and must
// not call the client, SendOrdering() apart.
class ClientEvents {
 public:
  virtual ~ClientEvents() = default;
  // The view is over: a member was lost or the job is being ended. `reason` is UNAVAILABLE (a
  // member is gone; names its rank, node and how it ended) or ABORTED. At most once in a view;
  // with `goes_on` another one follows.
  virtual void OnRevoked(const absl::Status& reason, bool goes_on) = 0;
  // After OnRevoked() with `goes_on`: no other view follows after all.
  virtual void OnNoneFollows() {}
  // The agent itself is gone, so nobody on this node hears of the job any more; after OnRevoked().
  // Under a launcher the node is down then and the process has no business going on: the session
  // decides. At most once.
  virtual void OnAgentLost() {}
  // A message of the ordering service's, for this rank; in the order in which they were sent. None
  // after OnRevoked().
  virtual void OnOrdering(absl::string_view /*payload*/) {}
  // A message about checkpoints, with its descriptors. None after OnRevoked().
  virtual void OnCheckpoint(absl::string_view /*payload*/, std::vector<Fd> /*descriptors*/) {}
};

class Client {
 public:
  // `agent` is what the environment or Bootstrap() gave: the name of the agent's Unix socket.
  // UNAVAILABLE when nobody answers there by `deadline`.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& agent, Logger logger,
                                                         Deadline deadline);
  // A member that is destroyed without Leave() counts as lost. Joins the control thread.
  virtual ~Client() = default;

  // Asks for a place and waits until all members are there. `progress` is called, now and then,
  // with lines such as "3 of 4 ranks joined, waiting for rank 2". Called once.
  //   INVALID_ARGUMENT    another member has this rank, another world size or other settings
  //   DEADLINE_EXCEEDED   not all ranks came; names the missing ones
  //   PERMISSION_DENIED   the agent or coordinator refused us (key, user)
  //   UNAVAILABLE         agent or coordinator gone, or a member lost while joining
  virtual absl::StatusOr<ViewDescription> Join(
      const JoinRequest& request, const std::function<void(const std::string&)>& progress,
      Deadline deadline) = 0;

  // Instead of Join: says that this process waits to take a lost rank's place, and comes back when
  // the coordinator knows it. Errors as Join's.
  virtual absl::Status JoinAsSpare(const JoinRequest& request, Deadline deadline) = 0;

  // After JoinAsSpare: waits until this process is needed, then as Join.
  //   CANCELLED           the job has come to its end, and this process wasn't needed
  //   DEADLINE_EXCEEDED   nothing of all that happened
  //   UNAVAILABLE         agent or coordinator gone, or the job failed
  virtual absl::StatusOr<ViewDescription> AwaitPlace(Deadline deadline) = 0;

  // After OnRevoked() with goes_on(): takes part in the next view with the same rank. `request` has
  // the same incarnation, and what else is new. Joins the control thread; nobody is told of
  // anything until Start(). Errors as Join's.
  virtual absl::StatusOr<ViewDescription> Return(const JoinRequest& request, Deadline deadline) = 0;

  // After Join: the descriptors of this node's members' segments, by rank; -1 for ranks of other
  // nodes and members that brought none. Owned by the client.
  virtual const std::vector<int>& segment_fds() const = 0;

  // After Join: starts the control thread, which tells `events` from then on.
  virtual void Start(ClientEvents* events) = 0;

  // Sends a message of the ordering service's to the agent; in the order of the calls. Any thread,
  // from Start() on; never blocks. After Leave() it may be too late for it. A payload beyond
  // kMaxOrderingBytes is dropped with a line in the log; when the agent is gone nothing is sent,
  // and OnAgentLost() says so.
  virtual void SendOrdering(std::string payload) = 0;

  // The same for a message about checkpoints.
  virtual void SendCheckpoint(std::string payload) = 0;

  // Of steps that are applied live. What is said of them comes also while no view is there, and is
  // told by whoever reads then: the control thread, Receive(), or one of the calls that wait for a
  // view; one at a time. `steps` must not block nor call the client, SendSteps() apart. Before
  // Join() or JoinAsSpare().
  virtual void SetSteps(std::function<void(absl::string_view payload)> steps) = 0;
  // As SendOrdering(), and inside of `steps` at any time.
  virtual void SendSteps(std::string payload) = 0;

  // For a thread that waits for a message of the ordering service's: reads in the control thread's
  // place, which saves its being woken. Waits `patience` at most and tells ClientEvents of what has
  // come before it returns. False at once when another thread reads or nothing more can come. Any
  // thread that holds nothing which a handler takes; not beside the client's end.
  virtual bool Receive(Clock::duration patience) = 0;

  // The first of `count` numbers in a row that no other communicator of the view has or will have.
  // From Start() on; any thread but the control thread, which it waits for.
  //   RESOURCE_EXHAUSTED  there aren't that many left
  //   DEADLINE_EXCEEDED   no answer in time
  //   the view's end, if it came first
  virtual absl::StatusOr<CommunicatorId> ReserveCommunicators(int count, Deadline deadline) = 0;

  // From Start() on: this member can take part in another view when this one is lost.
  virtual void SayRecoverable() = 0;

  // From Start() on: this member is about to suffer the fault of this number. Comes back when the
  // agent will hear of it whatever happens to this process, or at `deadline`. If it is about to
  // stop itself, the agent lets it go on `continue_after` from now (SIGCONT); 0: it doesn't.
  virtual void SayFaultPerformed(uint32_t index, std::chrono::milliseconds continue_after,
                                 Deadline deadline) = 0;

  // Says that this member has come to the end of its work, and waits until all have. OK when they
  // have, and from then on no view follows; the view's end, if it came first; DEADLINE_EXCEEDED.
  virtual absl::Status Finish(Deadline deadline) = 0;

  // Waits until the view is revoked: false if it isn't by `deadline`.
  virtual bool AwaitRevocation(Deadline deadline) = 0;
  // After OnRevoked(): another view follows, see Return().
  virtual bool goes_on() const = 0;

  // Nothing more is told to `events`, if they were those of the last Start(). Joins the control
  // thread. Not from a handler.
  virtual void Detach(const ClientEvents* events) = 0;

  // Says that this member ends orderly, and waits until all members have said so or the view is
  // revoked, so that nobody takes an end for a loss. Joins the control thread. OK when all have
  // left; the reason of the revocation (told to `events` too, if it came now); DEADLINE_EXCEEDED,
  // and then this member counts as one that has left.
  virtual absl::Status Leave(Deadline deadline) = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_CLIENT_H_
