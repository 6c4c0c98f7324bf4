#include <algorithm>
#include <string>
#include <vector>

#include "control_generated.h"
#include "control_protocol/message.h"

namespace phalanx::control {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<flatbuffers::String> Text(FlatBufferBuilder& builder, absl::string_view text) {
  return builder.CreateString(text.data(), std::min(text.size(), kMaxTextBytes));
}

Offset<wire::Member> MemberOf(FlatBufferBuilder& builder, const message::Member& member) {
  std::vector<Offset<wire::Address>> addresses;
  for (const auto& [transport, address] : member.addresses) {
    const auto name = builder.CreateString(transport);
    const auto bytes =
        builder.CreateVector(reinterpret_cast<const uint8_t*>(address.data()), address.size());
    addresses.push_back(wire::CreateAddress(builder, name, bytes));
  }
  const auto vector = builder.CreateVector(addresses);
  return wire::CreateMember(builder, member.rank, member.incarnation.value, member.node, member.pid,
                            vector);
}

Offset<wire::Settings> SettingsOf(FlatBufferBuilder& builder, const JobSettings& settings) {
  const auto on_loss = builder.CreateString(settings.on_loss.ToText());
  return wire::CreateSettings(
      builder, static_cast<uint8_t>(settings.ordering), settings.device_slots,
      settings.stall_timeout_ms, static_cast<uint8_t>(settings.stall_action),
      settings.fusion_threshold, settings.suspect_after_ms, settings.replicas, settings.live,
      on_loss, settings.may_shrink, settings.checkpoint_every);
}

// One overload a message: builds its table.
struct Encoder {
  FlatBufferBuilder& builder;

  auto operator()(const message::Join& join) {
    return wire::CreateJoin(builder, join.version, MemberOf(builder, join.member), join.world_size,
                            join.has_segment, SettingsOf(builder, join.settings), join.spare);
  }
  auto operator()(const message::Leave& leave) {
    return wire::CreateLeave(builder, leave.incarnation.value);
  }
  auto operator()(const message::AgentHello& hello) {
    const auto job = Text(builder, hello.job);
    const auto node_name = Text(builder, hello.node_name);
    const auto machine = Text(builder, hello.machine);
    const auto peer_host = Text(builder, hello.peers.host);
    return wire::CreateAgentHello(builder, hello.version, job, hello.node, node_name, hello.cores,
                                  hello.spares, hello.returns, machine, peer_host, hello.peers.port,
                                  hello.restarts);
  }
  auto operator()(const message::MemberLost& lost) {
    return wire::CreateMemberLost(builder, lost.incarnation.value, Text(builder, lost.how),
                                  lost.restarted);
  }
  auto operator()(const message::MemberSilent& silent) {
    return wire::CreateMemberSilent(builder, silent.incarnation.value, Text(builder, silent.how));
  }
  auto operator()(const message::MemberHeard& heard) {
    return wire::CreateMemberHeard(builder, heard.incarnation.value, heard.silent_ms);
  }
  auto operator()(const message::Evict& evict) {
    return wire::CreateEvict(builder, evict.incarnation.value, Text(builder, evict.why));
  }
  auto operator()(const message::Suffer& suffer) {
    return wire::CreateSuffer(builder, Text(builder, suffer.fault), suffer.incarnation.value);
  }
  auto operator()(const message::StartSpare& start) {
    return wire::CreateStartSpare(builder, start.lost.value);
  }
  auto operator()(const message::SpareGone& gone) {
    return wire::CreateSpareGone(builder, Text(builder, gone.how));
  }
  auto operator()(const message::AskWitness& ask) {
    return wire::CreateAskWitness(builder, ask.suspect, ask.round, Text(builder, ask.peers.host),
                                  ask.peers.port, ask.wait_ms);
  }
  auto operator()(const message::WitnessSays& says) {
    return wire::CreateWitnessSays(builder, says.suspect, says.round, says.answered);
  }
  auto operator()(const message::Probe& /*probe*/) { return wire::CreateProbe(builder); }
  auto operator()(const message::ProbeAnswer& /*answer*/) {
    return wire::CreateProbeAnswer(builder);
  }
  auto operator()(const message::Heartbeat& /*heartbeat*/) {
    return wire::CreateHeartbeat(builder);
  }
  auto operator()(const message::AgentWelcome& welcome) {
    return wire::CreateAgentWelcome(builder, welcome.node);
  }
  auto operator()(const message::Progress& progress) {
    return wire::CreateProgress(builder, Text(builder, progress.line));
  }
  auto operator()(const message::Refused& refused) {
    return wire::CreateRefused(builder, refused.incarnation.value,
                               static_cast<int>(refused.status.code()),
                               Text(builder, refused.status.message()), refused.evicted);
  }
  auto operator()(const message::View& view) {
    std::vector<Offset<wire::Member>> members;
    members.reserve(view.members.size());
    for (const message::Member& member : view.members) {
      members.push_back(MemberOf(builder, member));
    }
    const auto member_vector = builder.CreateVector(members);
    const auto node_cores = builder.CreateVector(view.node_cores);
    const auto settings = SettingsOf(builder, view.settings);
    const auto performed = builder.CreateVector(view.performed_faults);
    return wire::CreateView(builder, view.epoch.value, view.job_token, member_vector, node_cores,
                            settings, performed);
  }
  auto operator()(const message::Revoked& revoked) {
    return wire::CreateRevoked(builder, revoked.epoch.value,
                               static_cast<int>(revoked.reason.code()),
                               Text(builder, revoked.reason.message()), revoked.goes_on);
  }
  auto operator()(const message::SpareAccepted& accepted) {
    return wire::CreateSpareAccepted(builder, accepted.incarnation.value);
  }
  auto operator()(const message::Recoverable& recoverable) {
    return wire::CreateRecoverable(builder, recoverable.incarnation.value);
  }
  auto operator()(const message::Finished& finished) {
    return wire::CreateFinished(builder, finished.incarnation.value);
  }
  auto operator()(const message::AllFinished& finished) {
    return wire::CreateAllFinished(builder, finished.epoch.value);
  }
  auto operator()(const message::Checkpoint& checkpoint) {
    const auto payload = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(checkpoint.payload.data()), checkpoint.payload.size());
    return wire::CreateCheckpoint(builder, payload, checkpoint.descriptors);
  }
  auto operator()(const message::FaultPerformed& performed) {
    return wire::CreateFaultPerformed(builder, performed.index, performed.continue_after_ms);
  }
  auto operator()(const message::AllLeft& left) {
    return wire::CreateAllLeft(builder, left.epoch.value);
  }
  auto operator()(const message::Segments& segments) {
    return wire::CreateSegments(builder, builder.CreateVector(segments.ranks));
  }
  auto operator()(const message::Ordering& ordering) {
    const auto payload = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(ordering.payload.data()), ordering.payload.size());
    return wire::CreateOrdering(builder, payload);
  }
  auto operator()(const message::Steps& steps) {
    const auto payload = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(steps.payload.data()), steps.payload.size());
    return wire::CreateSteps(builder, steps.incarnation.value, payload);
  }
  auto operator()(const message::AskCommunicatorIds& ask) {
    return wire::CreateAskCommunicatorIds(builder, ask.incarnation.value, ask.request, ask.count);
  }
  auto operator()(const message::CommunicatorIds& ids) {
    return wire::CreateCommunicatorIds(builder, ids.incarnation.value, ids.request, ids.first);
  }
  auto operator()(const message::AskStatus& ask) {
    return wire::CreateAskStatus(builder, ask.version, ask.question, ask.timeout_ms);
  }
  auto operator()(const message::JobStatus& status) {
    const auto json = builder.CreateVector(reinterpret_cast<const uint8_t*>(status.json.data()),
                                           status.json.size());
    return wire::CreateJobStatus(builder, status.question, json);
  }
};

template <typename Table>
void Finish(FlatBufferBuilder& builder, Offset<Table> table) {
  builder.Finish(wire::CreateEnvelope(builder, wire::BodyTraits<Table>::enum_value, table.Union()),
                 wire::EnvelopeIdentifier());
}

}  // namespace

std::string Encode(const Message& message) {
  FlatBufferBuilder builder;
  std::visit([&](const auto& value) { Finish(builder, Encoder{builder}(value)); }, message);
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace phalanx::control
