// The messages of the control plane as plain values, and their bytes.
#ifndef PHALANX_CONTROL_PROTOCOL_MESSAGE_H_
#define PHALANX_CONTROL_PROTOCOL_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/frame.h"
#include "control_protocol/job_settings.h"

namespace phalanx::control {

// What both sides of a connection must speak; told in Join and AgentHello.
inline constexpr uint32_t kProtocolVersion = 8;

// Bounds that the decoder holds. A text beyond its bound is cut by the encoder.
inline constexpr int kMaxWorldSize = 65536;
inline constexpr int kMaxNodes = 65536;
inline constexpr size_t kMaxTextBytes = 4096;
inline constexpr size_t kMaxAddresses = 16;
inline constexpr size_t kMaxTransportNameBytes = 64;
inline constexpr size_t kMaxAddressBytes = 4096;
// What fits into a worker's message, with room for what goes around it.
inline constexpr size_t kMaxOrderingBytes = kMaxWorkerMessageBytes - 1024;
inline constexpr size_t kMaxCheckpointBytes = kMaxWorkerMessageBytes - 1024;
inline constexpr uint32_t kMaxWitnessWaitMs = 3'600'000;
inline constexpr size_t kMaxFaults = 4096;
inline constexpr size_t kMaxStatusBytes = kMaxControlMessageBytes / 2;

namespace message {

struct Member {
  int rank = -1;
  Incarnation incarnation;
  int node = -1;
  int pid = 0;
  std::map<std::string, std::string> addresses;  // by transport
  bool operator==(const Member&) const = default;
};

struct Join {
  uint32_t version = kProtocolVersion;
  Member member;
  int world_size = 0;
  bool has_segment = false;
  JobSettings settings;
  bool spare = false;  // waits for a rank that is lost
  bool operator==(const Join&) const = default;
};

struct Leave {
  Incarnation incarnation;
  bool operator==(const Leave&) const = default;
};

struct AgentHello {
  uint32_t version = kProtocolVersion;
  std::string job;
  int node = -1;
  std::string node_name;
  int cores = 1;
  int spares = 0;        // that this node's launcher starts
  bool returns = false;  // was there when the coordinator was lost
  std::string machine;   // equal for agents that fall together; empty: it falls alone
  Endpoint peers;        // where it listens for other agents; port 0: nowhere
  int restarts = 0;      // how many processes more its launcher would start, each on a StartSpare
  bool operator==(const AgentHello&) const = default;
};

struct MemberLost {
  Incarnation incarnation;
  std::string how;         // "was killed by signal 9 (SIGKILL)"
  bool restarted = false;  // said again, after the StartSpare for it had come
  bool operator==(const MemberLost&) const = default;
};

// About a member that nobody hears, or a spare; repeated each second while that is so.
struct MemberSilent {
  Incarnation incarnation;
  std::string how;  // "is stopped (SIGSTOP?) and silent for 0.7 s"
  bool operator==(const MemberSilent&) const = default;
};

// Of one that was silent.
struct MemberHeard {
  Incarnation incarnation;
  uint64_t silent_ms = 0;
  bool operator==(const MemberHeard&) const = default;
};

// To the member's agent: nobody waits for it any more. It is to be killed, and its end to be told
// as MemberLost.
struct Evict {
  Incarnation incarnation;
  std::string why;  // its MemberLost says the same
  bool operator==(const Evict&) const = default;
};

// To an agent, for a test: it, or a process of its node, suffers this fault now.
struct Suffer {
  std::string fault;        // see faults/fault.h
  Incarnation incarnation;  // of the process that does; 0: the agent
  bool operator==(const Suffer&) const = default;
};

// To an agent: its launcher is to start one more process, which waits as a spare.
struct StartSpare {
  Incarnation lost;  // where this one was; 0: one that hadn't joined
  bool operator==(const StartSpare&) const = default;
};

// From an agent: one of the spares that are still to come has ended before it joined.
struct SpareGone {
  std::string how;  // "exited with code 1"
  bool operator==(const SpareGone&) const = default;
};

// To an agent: is the agent of node `suspect`, which the coordinator doesn't hear, there for you?
// To be asked by a Probe, for `wait_ms` of time in which the asked one runs itself.
struct AskWitness {
  int suspect = 0;     // its node
  uint64_t round = 0;  // the coordinator's number for the question
  Endpoint peers;      // where it listens for other agents
  uint32_t wait_ms = 0;
  bool operator==(const AskWitness&) const = default;
};

// The answer to it.
struct WitnessSays {
  int suspect = 0;
  uint64_t round = 0;
  bool answered = false;
  bool operator==(const WitnessSays&) const = default;
};

// "Are you there?" Between agents, and its answer.
struct Probe {
  bool operator==(const Probe&) const = default;
};
struct ProbeAnswer {
  bool operator==(const ProbeAnswer&) const = default;
};

// "I am there." From a member to its agent, and between agents and the coordinator, every 100 ms.
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};

struct AgentWelcome {
  int node = 0;
  bool operator==(const AgentWelcome&) const = default;
};

// To a spare: it is known, and hears by a View when it is needed.
struct SpareAccepted {
  Incarnation incarnation;
  bool operator==(const SpareAccepted&) const = default;
};

// From a member: it can take part in another view when this one is lost.
struct Recoverable {
  Incarnation incarnation;
  bool operator==(const Recoverable&) const = default;
};

// From a member: it has come to the end of its work in this view.
struct Finished {
  Incarnation incarnation;
  bool operator==(const Finished&) const = default;
};

// From a member, just before: it suffers the fault of this number (see faults/fault.h), so that
// nobody does again.
struct FaultPerformed {
  uint32_t index = 0;
  uint32_t continue_after_ms = 0;  // the agent lets it go on (SIGCONT) then; 0: never
  bool operator==(const FaultPerformed&) const = default;
};

// All ranks have: nothing is rolled back any more.
struct AllFinished {
  Epoch epoch;
  bool operator==(const AllFinished&) const = default;
};

struct Progress {
  std::string line;
  bool operator==(const Progress&) const = default;
};

struct Refused {
  Incarnation incarnation;  // 0: the agent itself
  absl::Status status;      // never OK
  bool evicted = false;     // the agent: it was silent, and the job goes on without its node
  bool operator==(const Refused&) const = default;
};

struct View {
  Epoch epoch;
  uint64_t job_token = 0;
  std::vector<Member> members;  // by rank: the decoder holds that members[i].rank is i
  std::vector<int> node_cores;  // by node
  JobSettings settings;
  std::vector<uint32_t> performed_faults;  // in this job, so far
  bool operator==(const View&) const = default;
};

struct Revoked {
  Epoch epoch;
  absl::Status reason;   // never OK
  bool goes_on = false;  // another view follows; members that can join again do
  bool operator==(const Revoked&) const = default;
};

struct AllLeft {
  Epoch epoch;
  bool operator==(const AllLeft&) const = default;
};

struct Segments {
  std::vector<int> ranks;
  bool operator==(const Segments&) const = default;
};

// For the ordering service; what is inside is ordering_wire's. At most kMaxOrderingBytes.
struct Ordering {
  std::string payload;
  bool operator==(const Ordering&) const = default;
};

// About checkpoints; what is inside is checkpoint_wire's. At most kMaxCheckpointBytes. Between a
// worker and its agent so many descriptors come with it.
struct Checkpoint {
  std::string payload;
  uint32_t descriptors = 0;
  bool operator==(const Checkpoint&) const = default;
};

// About steps that are applied live; what is inside is checkpoint_wire's. From a member, or to one;
// also while a revoked view's members wait for the next one. At most kMaxCheckpointBytes.
struct Steps {
  Incarnation incarnation;
  std::string payload;
  bool operator==(const Steps&) const = default;
};

// From a member: numbers that no other communicator of the view has.
struct AskCommunicatorIds {
  Incarnation incarnation;  // of the asker
  uint64_t request = 0;     // its own number for the question
  uint32_t count = 0;
  bool operator==(const AskCommunicatorIds&) const = default;
};
struct CommunicatorIds {
  Incarnation incarnation;
  uint64_t request = 0;
  uint32_t first = 0;  // of `count` in a row; 0: there aren't that many left
  bool operator==(const CommunicatorIds&) const = default;
};

// How is the job? To be answered with what is known by `timeout_ms` from now, whoever is silent.
struct AskStatus {
  uint32_t version = kProtocolVersion;
  uint64_t question = 0;
  uint32_t timeout_ms = 0;
  bool operator==(const AskStatus&) const = default;
};

// An object as docs/ordering.md describes it. At most kMaxStatusBytes.
struct JobStatus {
  uint64_t question = 0;
  std::string json;
  bool operator==(const JobStatus&) const = default;
};

}  // namespace message

using Message = std::variant<
    message::Join, message::Leave, message::AgentHello, message::MemberLost, message::AgentWelcome,
    message::Progress, message::Refused, message::View, message::Revoked, message::AllLeft,
    message::Segments, message::Ordering, message::AskCommunicatorIds, message::CommunicatorIds,
    message::AskStatus, message::JobStatus, message::SpareAccepted, message::Recoverable,
    message::Finished, message::AllFinished, message::Checkpoint, message::FaultPerformed,
    message::Heartbeat, message::MemberSilent, message::MemberHeard, message::Evict,
    message::Suffer, message::StartSpare, message::SpareGone, message::AskWitness,
    message::WitnessSays, message::Probe, message::ProbeAnswer, message::Steps>;

// members[i].node, for all i.
std::vector<int> NodesByRank(const message::View& view);

std::string Encode(const Message& message);

// Any bytes are safe to pass. INVALID_ARGUMENT when they are not a well-formed message within its
// bounds.
absl::StatusOr<Message> Decode(absl::string_view bytes);

// "Join", "View", …: for log lines.
absl::string_view NameOf(const Message& message);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_MESSAGE_H_
