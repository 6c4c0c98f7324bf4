#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_generated.h"
#include "control_protocol/message.h"

// The FlatBuffers verifier proves that every offset stays inside the buffer and that required
// fields are there; the functions here hold what it can't know: ranges, lengths, and codes.
namespace phalanx::control {
namespace {

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed message: ", what));
}

absl::StatusOr<std::string> TextOf(const flatbuffers::String* text) {
  if (text->size() > kMaxTextBytes) return Malformed("a text is too long");
  return text->str();
}

absl::Status ReadStatus(int code, const flatbuffers::String* text, absl::Status* status) {
  if (code < static_cast<int>(absl::StatusCode::kCancelled) ||
      code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return Malformed("a status code out of range");
  }
  PHX_ASSIGN_OR_RETURN(const std::string message, TextOf(text));
  *status = absl::Status(static_cast<absl::StatusCode>(code), message);
  return absl::OkStatus();
}

absl::StatusOr<message::Member> MemberOf(const wire::Member& from) {
  message::Member member;
  if (from.rank() < -1 || from.rank() >= kMaxWorldSize) return Malformed("a rank out of range");
  if (from.node() < -1 || from.node() >= kMaxNodes) return Malformed("a node out of range");
  member.rank = from.rank();
  member.incarnation = Incarnation{from.incarnation()};
  member.node = from.node();
  member.pid = from.pid();
  if (from.addresses() == nullptr) return member;
  if (from.addresses()->size() > kMaxAddresses)
    return Malformed("a member with too many addresses");
  for (const wire::Address* address : *from.addresses()) {
    if (address->transport()->size() > kMaxTransportNameBytes ||
        address->address()->size() > kMaxAddressBytes) {
      return Malformed("an address is too long");
    }
    member.addresses[address->transport()->str()] = std::string(
        reinterpret_cast<const char*>(address->address()->data()), address->address()->size());
  }
  return member;
}

absl::StatusOr<JobSettings> SettingsOf(const wire::Settings& from) {
  if (from.ordering() >= kOrderingModeCount) return Malformed("an ordering out of range");
  if (from.device_slots() < 0 || from.device_slots() > kMaxDeviceSlots) {
    return Malformed("a number of slots out of range");
  }
  if (from.stall_action() >= kStallActionCount) return Malformed("a stall action out of range");
  if (from.stall_timeout_ms() > kMaxStallTimeoutMs) {
    return Malformed("a stall timeout out of range");
  }
  if (from.suspect_after_ms() < kMinSuspectAfterMs ||
      from.suspect_after_ms() > kMaxSuspectAfterMs) {
    return Malformed("a time of suspicion out of range");
  }
  JobSettings settings;
  settings.ordering = static_cast<OrderingMode>(from.ordering());
  settings.device_slots = from.device_slots();
  settings.stall_timeout_ms = from.stall_timeout_ms();
  settings.stall_action = static_cast<StallAction>(from.stall_action());
  settings.fusion_threshold = from.fusion_threshold();
  settings.suspect_after_ms = from.suspect_after_ms();
  if (from.replicas() < 0 || from.replicas() > kMaxReplicas) {
    return Malformed("a number of replicas out of range");
  }
  settings.replicas = from.replicas();
  settings.live = from.live();
  if (from.on_loss() != nullptr) {
    PHX_ASSIGN_OR_RETURN(settings.on_loss, LossPolicy::Parse(from.on_loss()->str()));
  }
  settings.may_shrink = from.may_shrink();
  if (from.checkpoint_every() < 1 || from.checkpoint_every() > kMaxCheckpointEvery) {
    return Malformed("an interval of checkpoints out of range");
  }
  settings.checkpoint_every = from.checkpoint_every();
  return settings;
}

absl::StatusOr<Message> Convert(const wire::Join& from) {
  message::Join join;
  join.version = from.version();
  PHX_ASSIGN_OR_RETURN(join.member, MemberOf(*from.member()));
  join.world_size = from.world_size();
  join.has_segment = from.has_segment();
  PHX_ASSIGN_OR_RETURN(join.settings, SettingsOf(*from.settings()));
  join.spare = from.spare();
  return join;
}

absl::StatusOr<Message> Convert(const wire::Leave& from) {
  return message::Leave{Incarnation{from.incarnation()}};
}

absl::StatusOr<Message> Convert(const wire::AgentHello& from) {
  if (from.spares() < 0 || from.spares() > kMaxWorldSize) return Malformed("too many spares");
  if (from.restarts() < 0 || from.restarts() > kMaxWorldSize) return Malformed("too many restarts");
  if (from.node() < -1 || from.node() >= kMaxNodes) return Malformed("a node out of range");
  PHX_ASSIGN_OR_RETURN(std::string job, TextOf(from.job()));
  PHX_ASSIGN_OR_RETURN(std::string node_name, TextOf(from.node_name()));
  message::AgentHello hello{from.version(),
                            std::move(job),
                            from.node(),
                            std::move(node_name),
                            from.cores(),
                            from.spares(),
                            from.returns(),
                            {},
                            {}};
  if (from.machine() != nullptr) {
    PHX_ASSIGN_OR_RETURN(hello.machine, TextOf(from.machine()));
  }
  if (from.peer_host() != nullptr) {
    PHX_ASSIGN_OR_RETURN(hello.peers.host, TextOf(from.peer_host()));
  }
  hello.peers.port = from.peer_port();
  hello.restarts = from.restarts();
  return hello;
}

absl::StatusOr<Message> Convert(const wire::MemberLost& from) {
  PHX_ASSIGN_OR_RETURN(std::string how, TextOf(from.how()));
  return message::MemberLost{Incarnation{from.incarnation()}, std::move(how), from.restarted()};
}

absl::StatusOr<Message> Convert(const wire::MemberSilent& from) {
  PHX_ASSIGN_OR_RETURN(std::string how, TextOf(from.how()));
  return message::MemberSilent{Incarnation{from.incarnation()}, std::move(how)};
}

absl::StatusOr<Message> Convert(const wire::MemberHeard& from) {
  return message::MemberHeard{Incarnation{from.incarnation()}, from.silent_ms()};
}

absl::StatusOr<Message> Convert(const wire::Evict& from) {
  PHX_ASSIGN_OR_RETURN(std::string why, TextOf(from.why()));
  return message::Evict{Incarnation{from.incarnation()}, std::move(why)};
}

absl::StatusOr<Message> Convert(const wire::Suffer& from) {
  PHX_ASSIGN_OR_RETURN(std::string fault, TextOf(from.fault()));
  return message::Suffer{std::move(fault), Incarnation{from.incarnation()}};
}

absl::StatusOr<Message> Convert(const wire::StartSpare& from) {
  return message::StartSpare{Incarnation{from.lost()}};
}

absl::StatusOr<Message> Convert(const wire::SpareGone& from) {
  PHX_ASSIGN_OR_RETURN(std::string how, TextOf(from.how()));
  return message::SpareGone{std::move(how)};
}

absl::StatusOr<Message> Convert(const wire::AskWitness& from) {
  if (from.suspect() < 0 || from.suspect() >= kMaxNodes) return Malformed("a node out of range");
  if (from.wait_ms() > kMaxWitnessWaitMs) return Malformed("a witness's wait out of range");
  PHX_ASSIGN_OR_RETURN(std::string host, TextOf(from.host()));
  return message::AskWitness{
      from.suspect(), from.round(), {std::move(host), from.port()}, from.wait_ms()};
}

absl::StatusOr<Message> Convert(const wire::WitnessSays& from) {
  if (from.suspect() < 0 || from.suspect() >= kMaxNodes) return Malformed("a node out of range");
  return message::WitnessSays{from.suspect(), from.round(), from.answered()};
}

absl::StatusOr<Message> Convert(const wire::AgentWelcome& from) {
  if (from.node() < 0 || from.node() >= kMaxNodes) return Malformed("a node out of range");
  return message::AgentWelcome{from.node()};
}

absl::StatusOr<Message> Convert(const wire::Progress& from) {
  PHX_ASSIGN_OR_RETURN(std::string line, TextOf(from.line()));
  return message::Progress{std::move(line)};
}

absl::StatusOr<Message> Convert(const wire::Refused& from) {
  message::Refused refused{Incarnation{from.incarnation()}, absl::OkStatus()};
  PHX_RETURN_IF_ERROR(ReadStatus(from.code(), from.text(), &refused.status));
  refused.evicted = from.evicted();
  return refused;
}

absl::StatusOr<Message> Convert(const wire::View& from) {
  message::View view;
  view.epoch = Epoch{from.epoch()};
  view.job_token = from.job_token();
  PHX_ASSIGN_OR_RETURN(view.settings, SettingsOf(*from.settings()));
  if (from.members()->size() > static_cast<size_t>(kMaxWorldSize)) {
    return Malformed("a view with too many members");
  }
  if (from.node_cores()->size() > static_cast<size_t>(kMaxNodes)) {
    return Malformed("a view with too many nodes");
  }
  view.node_cores.assign(from.node_cores()->begin(), from.node_cores()->end());
  if (const auto* performed = from.performed_faults(); performed != nullptr) {
    if (performed->size() > kMaxFaults) return Malformed("a view with too many faults");
    view.performed_faults.assign(performed->begin(), performed->end());
  }
  for (const wire::Member* entry : *from.members()) {
    PHX_ASSIGN_OR_RETURN(message::Member member, MemberOf(*entry));
    if (member.rank != static_cast<int>(view.members.size())) {
      return Malformed("a view that isn't ordered by rank");
    }
    if (member.node < 0 || member.node >= static_cast<int>(view.node_cores.size())) {
      return Malformed("a member on an unknown node");
    }
    view.members.push_back(std::move(member));
  }
  return view;
}

absl::StatusOr<Message> Convert(const wire::Revoked& from) {
  message::Revoked revoked{Epoch{from.epoch()}, absl::OkStatus(), from.goes_on()};
  PHX_RETURN_IF_ERROR(ReadStatus(from.code(), from.text(), &revoked.reason));
  return revoked;
}

absl::StatusOr<Message> Convert(const wire::SpareAccepted& from) {
  return message::SpareAccepted{Incarnation{from.incarnation()}};
}

absl::StatusOr<Message> Convert(const wire::Recoverable& from) {
  return message::Recoverable{Incarnation{from.incarnation()}};
}

absl::StatusOr<Message> Convert(const wire::Finished& from) {
  return message::Finished{Incarnation{from.incarnation()}};
}

absl::StatusOr<Message> Convert(const wire::AllFinished& from) {
  return message::AllFinished{Epoch{from.epoch()}};
}

absl::StatusOr<Message> Convert(const wire::FaultPerformed& from) {
  if (from.index() >= kMaxFaults) return Malformed("a fault out of range");
  return message::FaultPerformed{from.index(), from.continue_after_ms()};
}

absl::StatusOr<Message> Convert(const wire::AllLeft& from) {
  return message::AllLeft{Epoch{from.epoch()}};
}

absl::StatusOr<Message> Convert(const wire::Segments& from) {
  if (from.ranks()->size() > static_cast<size_t>(kMaxWorldSize)) {
    return Malformed("too many segments");
  }
  message::Segments segments;
  for (const int rank : *from.ranks()) {
    if (rank < 0 || rank >= kMaxWorldSize) return Malformed("a rank out of range");
    segments.ranks.push_back(rank);
  }
  return segments;
}

absl::StatusOr<Message> Convert(const wire::Ordering& from) {
  if (from.payload()->size() > kMaxOrderingBytes) return Malformed("a payload is too long");
  return message::Ordering{
      std::string(reinterpret_cast<const char*>(from.payload()->data()), from.payload()->size())};
}

absl::StatusOr<Message> Convert(const wire::Checkpoint& from) {
  if (from.payload()->size() > kMaxCheckpointBytes) return Malformed("a payload is too long");
  return message::Checkpoint{
      std::string(reinterpret_cast<const char*>(from.payload()->data()), from.payload()->size()),
      from.descriptors()};
}

absl::StatusOr<Message> Convert(const wire::Steps& from) {
  if (from.payload()->size() > kMaxCheckpointBytes) return Malformed("a payload is too long");
  return message::Steps{
      Incarnation{from.incarnation()},
      std::string(reinterpret_cast<const char*>(from.payload()->data()), from.payload()->size())};
}

absl::StatusOr<Message> Convert(const wire::AskCommunicatorIds& from) {
  return message::AskCommunicatorIds{Incarnation{from.incarnation()}, from.request(), from.count()};
}

absl::StatusOr<Message> Convert(const wire::CommunicatorIds& from) {
  return message::CommunicatorIds{Incarnation{from.incarnation()}, from.request(), from.first()};
}

absl::StatusOr<Message> Convert(const wire::AskStatus& from) {
  return message::AskStatus{from.version(), from.question(), from.timeout_ms()};
}

absl::StatusOr<Message> Convert(const wire::JobStatus& from) {
  if (from.json()->size() > kMaxStatusBytes) return Malformed("a status is too long");
  return message::JobStatus{
      from.question(),
      std::string(reinterpret_cast<const char*>(from.json()->data()), from.json()->size())};
}

// About those who say nothing: one of these.
absl::StatusOr<Message> ConvertOfSilence(const wire::Envelope& envelope) {
  if (const auto* from = envelope.body_as_MemberSilent(); from != nullptr) return Convert(*from);
  if (const auto* from = envelope.body_as_MemberHeard(); from != nullptr) return Convert(*from);
  if (const auto* from = envelope.body_as_Evict(); from != nullptr) return Convert(*from);
  if (const auto* from = envelope.body_as_AskWitness(); from != nullptr) return Convert(*from);
  if (const auto* from = envelope.body_as_WitnessSays(); from != nullptr) return Convert(*from);
  if (envelope.body_as_Heartbeat() != nullptr) return Message(message::Heartbeat{});
  if (envelope.body_as_Probe() != nullptr) return Message(message::Probe{});
  return Message(message::ProbeAnswer{});
}

absl::StatusOr<Message> ConvertOfSpares(const wire::Envelope& envelope) {
  if (const auto* from = envelope.body_as_StartSpare(); from != nullptr) return Convert(*from);
  return Convert(*envelope.body_as_SpareGone());
}

absl::StatusOr<Message> ConvertBody(const wire::Envelope& envelope) {
  if (envelope.body() == nullptr) return Malformed("it has no body");
  switch (envelope.body_type()) {
    case wire::Body_NONE:
      break;
    case wire::Body_Join:
      return Convert(*envelope.body_as_Join());
    case wire::Body_Leave:
      return Convert(*envelope.body_as_Leave());
    case wire::Body_AgentHello:
      return Convert(*envelope.body_as_AgentHello());
    case wire::Body_MemberLost:
      return Convert(*envelope.body_as_MemberLost());
    case wire::Body_AgentWelcome:
      return Convert(*envelope.body_as_AgentWelcome());
    case wire::Body_Progress:
      return Convert(*envelope.body_as_Progress());
    case wire::Body_Refused:
      return Convert(*envelope.body_as_Refused());
    case wire::Body_View:
      return Convert(*envelope.body_as_View());
    case wire::Body_Revoked:
      return Convert(*envelope.body_as_Revoked());
    case wire::Body_AllLeft:
      return Convert(*envelope.body_as_AllLeft());
    case wire::Body_Segments:
      return Convert(*envelope.body_as_Segments());
    case wire::Body_Ordering:
      return Convert(*envelope.body_as_Ordering());
    case wire::Body_AskCommunicatorIds:
      return Convert(*envelope.body_as_AskCommunicatorIds());
    case wire::Body_CommunicatorIds:
      return Convert(*envelope.body_as_CommunicatorIds());
    case wire::Body_AskStatus:
      return Convert(*envelope.body_as_AskStatus());
    case wire::Body_JobStatus:
      return Convert(*envelope.body_as_JobStatus());
    case wire::Body_SpareAccepted:
      return Convert(*envelope.body_as_SpareAccepted());
    case wire::Body_Recoverable:
      return Convert(*envelope.body_as_Recoverable());
    case wire::Body_Finished:
      return Convert(*envelope.body_as_Finished());
    case wire::Body_AllFinished:
      return Convert(*envelope.body_as_AllFinished());
    case wire::Body_Checkpoint:
      return Convert(*envelope.body_as_Checkpoint());
    case wire::Body_FaultPerformed:
      return Convert(*envelope.body_as_FaultPerformed());
    case wire::Body_Suffer:
      return Convert(*envelope.body_as_Suffer());
    case wire::Body_Steps:
      return Convert(*envelope.body_as_Steps());
    case wire::Body_StartSpare:
    case wire::Body_SpareGone:
      return ConvertOfSpares(envelope);
    case wire::Body_Heartbeat:
    case wire::Body_MemberSilent:
    case wire::Body_MemberHeard:
    case wire::Body_Evict:
    case wire::Body_AskWitness:
    case wire::Body_WitnessSays:
    case wire::Body_Probe:
    case wire::Body_ProbeAnswer:
      return ConvertOfSilence(envelope);
  }
  return Malformed("its kind is unknown");
}

}  // namespace

absl::StatusOr<Message> Decode(absl::string_view bytes) {
  if (bytes.size() < sizeof(uint64_t) || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return Malformed("its length");
  }
  // Scalars are read in place, so the buffer starts where the widest of them may start.
  std::vector<uint64_t> aligned((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* buffer = reinterpret_cast<const uint8_t*>(aligned.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 8;
  constexpr flatbuffers::uoffset_t kMaxTables = kMaxWorldSize * (kMaxAddresses + 1) + 8;
  flatbuffers::Verifier verifier(buffer, bytes.size(), kMaxDepth, kMaxTables);
  if (!wire::VerifyEnvelopeBuffer(verifier)) return Malformed("it fails verification");
  return ConvertBody(*wire::GetEnvelope(buffer));
}

}  // namespace phalanx::control
