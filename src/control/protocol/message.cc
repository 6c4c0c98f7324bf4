#include "control_protocol/message.h"

namespace phalanx::control {

std::vector<int> NodesByRank(const message::View& view) {
  std::vector<int> nodes;
  nodes.reserve(view.members.size());
  for (const message::Member& member : view.members) nodes.push_back(member.node);
  return nodes;
}

absl::string_view NameOf(const Message& message) {
  struct Namer {
    absl::string_view operator()(const message::Join&) const { return "Join"; }
    absl::string_view operator()(const message::Leave&) const { return "Leave"; }
    absl::string_view operator()(const message::AgentHello&) const { return "AgentHello"; }
    absl::string_view operator()(const message::MemberLost&) const { return "MemberLost"; }
    absl::string_view operator()(const message::AgentWelcome&) const { return "AgentWelcome"; }
    absl::string_view operator()(const message::Progress&) const { return "Progress"; }
    absl::string_view operator()(const message::Refused&) const { return "Refused"; }
    absl::string_view operator()(const message::View&) const { return "View"; }
    absl::string_view operator()(const message::Revoked&) const { return "Revoked"; }
    absl::string_view operator()(const message::AllLeft&) const { return "AllLeft"; }
    absl::string_view operator()(const message::Segments&) const { return "Segments"; }
    absl::string_view operator()(const message::Ordering&) const { return "Ordering"; }
    absl::string_view operator()(const message::AskCommunicatorIds&) const {
      return "AskCommunicatorIds";
    }
    absl::string_view operator()(const message::CommunicatorIds&) const {
      return "CommunicatorIds";
    }
    absl::string_view operator()(const message::AskStatus&) const { return "AskStatus"; }
    absl::string_view operator()(const message::JobStatus&) const { return "JobStatus"; }
    absl::string_view operator()(const message::SpareAccepted&) const { return "SpareAccepted"; }
    absl::string_view operator()(const message::Recoverable&) const { return "Recoverable"; }
    absl::string_view operator()(const message::Finished&) const { return "Finished"; }
    absl::string_view operator()(const message::AllFinished&) const { return "AllFinished"; }
    absl::string_view operator()(const message::Checkpoint&) const { return "Checkpoint"; }
    absl::string_view operator()(const message::FaultPerformed&) const { return "FaultPerformed"; }
    absl::string_view operator()(const message::Heartbeat&) const { return "Heartbeat"; }
    absl::string_view operator()(const message::MemberSilent&) const { return "MemberSilent"; }
    absl::string_view operator()(const message::MemberHeard&) const { return "MemberHeard"; }
    absl::string_view operator()(const message::Evict&) const { return "Evict"; }
    absl::string_view operator()(const message::Suffer&) const { return "Suffer"; }
    absl::string_view operator()(const message::StartSpare&) const { return "StartSpare"; }
    absl::string_view operator()(const message::SpareGone&) const { return "SpareGone"; }
    absl::string_view operator()(const message::AskWitness&) const { return "AskWitness"; }
    absl::string_view operator()(const message::WitnessSays&) const { return "WitnessSays"; }
    absl::string_view operator()(const message::Probe&) const { return "Probe"; }
    absl::string_view operator()(const message::ProbeAnswer&) const { return "ProbeAnswer"; }
    absl::string_view operator()(const message::Steps&) const { return "Steps"; }
  };
  return std::visit(Namer{}, message);
}

}  // namespace phalanx::control
