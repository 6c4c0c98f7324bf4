// One well-formed message of every kind, with every field set.
#ifndef PHALANX_TESTS_UNIT_CONTROL_SAMPLE_MESSAGES_H_
#define PHALANX_TESTS_UNIT_CONTROL_SAMPLE_MESSAGES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control_protocol/message.h"

namespace phalanx::control {

inline message::Member SampleMember(int rank) {
  return message::Member{rank,
                         Incarnation{0x1234567890abcdefULL},
                         1,
                         4711,
                         {{"shm", "a"}, {"ucx", std::string(9, 0)}}};
}

inline std::vector<Message> SampleMessages() {
  return {message::Join{kProtocolVersion, SampleMember(2), 4, true,
                        JobSettings{OrderingMode::kAdaptive, 3, 250, StallAction::kWarn, 1 << 20,
                                    900, 3, true},
                        true},
          message::Leave{Incarnation{7}},
          message::AgentHello{kProtocolVersion, "job", 3, "host", 16, 2, true, "machine",
                              Endpoint{"::1", 4711}, 5},
          message::MemberLost{Incarnation{8}, "was killed by signal 9 (SIGKILL)", true},
          message::AgentWelcome{5},
          message::Progress{"3 of 4 ranks joined, waiting for rank 2"},
          message::Refused{Incarnation{9}, absl::InvalidArgumentError("no"), true},
          message::View{Epoch{1},
                        99,
                        {SampleMember(0), SampleMember(1)},
                        {4, 8},
                        JobSettings{OrderingMode::kStrict, 1, 500, StallAction::kWarn, 2, 400, 1},
                        {0, 7}},
          message::Revoked{Epoch{2}, absl::UnavailableError("gone"), true},
          message::AllLeft{Epoch{3}},
          message::Segments{{0, 3, 65535}},
          message::Ordering{std::string("\0\x01\xff", 3)},
          message::AskCommunicatorIds{Incarnation{10}, 11, 12},
          message::CommunicatorIds{Incarnation{13}, 14, 15},
          message::AskStatus{kProtocolVersion, 12, 5000},
          message::JobStatus{12, "{}"},
          message::SpareAccepted{Incarnation{16}},
          message::Recoverable{Incarnation{17}},
          message::Finished{Incarnation{18}},
          message::AllFinished{Epoch{4}},
          message::Checkpoint{std::string("\x00\x02", 2), 3},
          message::FaultPerformed{9, 30000},
          message::Heartbeat{},
          message::MemberSilent{Incarnation{19}, "is stopped"},
          message::MemberHeard{Incarnation{20}, 3100},
          message::Evict{Incarnation{21}, "is stopped"},
          message::Suffer{"kill rank=2 at=point:revoked", Incarnation{22}},
          message::StartSpare{Incarnation{23}},
          message::SpareGone{"exited with code 1"},
          message::AskWitness{2, 24, Endpoint{"::1", 4712}, 3000},
          message::WitnessSays{2, 25, true},
          message::Probe{},
          message::ProbeAnswer{},
          message::Steps{Incarnation{26}, std::string("\x00\x03", 2)}};
}

}  // namespace phalanx::control

#endif  // PHALANX_TESTS_UNIT_CONTROL_SAMPLE_MESSAGES_H_
