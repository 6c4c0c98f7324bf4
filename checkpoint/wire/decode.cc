#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_generated.h"
#include "checkpoint_wire/codec.h"

// The FlatBuffers verifier proves that every offset stays inside the buffer and that required
// fields are there; the functions here hold what it can't know: ranges, lengths, and places.
namespace phalanx::checkpoint {
namespace {

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed checkpoint message: ", what));
}

VersionName Unpack(const wire::Name& name) { return {name.version(), name.epoch()}; }
Term Unpack(const wire::Term& term) { return {term.epoch(), term.claim()}; }
Digest Unpack(const wire::Digest& digest) { return {digest.high(), digest.low()}; }
ShardItem Unpack(const wire::Item& item) {
  return {Unpack(item.name()), item.rank(), Unpack(item.digest())};
}

absl::Status CheckRank(int rank) {
  return rank >= 0 && rank <= kMaxRank ? absl::OkStatus() : Malformed("a rank out of range");
}

// The verifier doesn't look at where a list's structs lie.
template <typename From, typename To>
absl::Status ReadAll(const flatbuffers::Vector<From>& from, size_t most, std::vector<To>* to) {
  if (from.size() > most) return Malformed("a list is too long");
  if (from.size() > 0 && reinterpret_cast<uintptr_t>(from.Data()) % alignof(uint64_t) != 0) {
    return Malformed("a misplaced list");
  }
  to->reserve(from.size());
  for (const auto* item : from) to->push_back(Unpack(*item));
  return absl::OkStatus();
}

absl::StatusOr<Source> SourceOf(uint8_t kind, int64_t agent) {
  if (kind > static_cast<uint8_t>(Source::Kind::kPersistent)) {
    return Malformed("a source out of range");
  }
  return Source{static_cast<Source::Kind>(kind), agent};
}

absl::StatusOr<LoadResult> ResultOf(uint8_t result) {
  if (result >= kLoadResultCount) return Malformed("a result out of range");
  return static_cast<LoadResult>(result);
}

absl::StatusOr<Orders> OrdersOf(const wire::Orders& from) {
  Orders orders;
  orders.term = Unpack(*from.term());
  orders.sequence = from.sequence();
  orders.decided = from.decided();
  PHX_RETURN_IF_ERROR(ReadAll(*from.kept(), kMostVersions, &orders.kept));
  PHX_RETURN_IF_ERROR(ReadAll(*from.in_flight(), kMostVersions, &orders.in_flight));
  return orders;
}

absl::StatusOr<Message> Convert(const wire::Ask& from) { return Ask{Unpack(*from.term())}; }

absl::StatusOr<Message> Convert(const wire::Orders& from) { return OrdersOf(from); }

absl::StatusOr<Message> Convert(const wire::Fetch& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  PHX_ASSIGN_OR_RETURN(const Source source, SourceOf(from.kind(), from.agent()));
  return Fetch{from.rank(), Unpack(*from.name()), source, Unpack(*from.digest()), from.round()};
}

absl::StatusOr<Message> Convert(const wire::Restored& from) {
  return Restored{Unpack(*from.name())};
}

absl::StatusOr<Message> Convert(const wire::Inventory& from) {
  Inventory inventory;
  inventory.term = Unpack(*from.term());
  PHX_RETURN_IF_ERROR(ReadAll(*from.items(), kMostVersions * (kMaxRank + 1), &inventory.items));
  for (const ShardItem& item : inventory.items) PHX_RETURN_IF_ERROR(CheckRank(item.rank));
  if (from.orders() != nullptr) {
    PHX_ASSIGN_OR_RETURN(inventory.orders, OrdersOf(*from.orders()));
  }
  return inventory;
}

absl::StatusOr<Message> Convert(const wire::Stored& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.item()->rank()));
  return Stored{0, Unpack(*from.item())};
}

absl::StatusOr<Message> Convert(const wire::CopyIsBad& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return CopyIsBad{Unpack(*from.name()), from.rank(), 0};
}

absl::StatusOr<Message> Convert(const wire::Wants& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return Wants{from.rank(), Unpack(*from.name())};
}

absl::StatusOr<Message> Convert(const wire::FetchEnded& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  PHX_ASSIGN_OR_RETURN(const Source source, SourceOf(from.kind(), from.agent()));
  PHX_ASSIGN_OR_RETURN(const LoadResult result, ResultOf(from.result()));
  return FetchEnded{from.rank(), Unpack(*from.name()), source, result, from.bytes()};
}

absl::StatusOr<Message> Convert(const wire::OpenRooms& from) { return OpenRooms{from.bytes()}; }

absl::StatusOr<Message> Convert(const wire::Reached& from) { return Reached{from.version()}; }

absl::StatusOr<Message> Convert(const wire::Taken& from) { return Taken{from.version()}; }

absl::StatusOr<Message> Convert(const wire::AwaitsState& /*from*/) { return AwaitsState{}; }

absl::StatusOr<Message> Convert(const wire::Loaded& from) {
  PHX_ASSIGN_OR_RETURN(const LoadResult result, ResultOf(from.result()));
  return Loaded{from.round(), result};
}

absl::StatusOr<Message> Convert(const wire::Rooms& from) {
  if (from.count() > kMostRooms) return Malformed("too many rooms");
  return Rooms{from.count()};
}

absl::StatusOr<Message> Convert(const wire::Verdict& from) {
  if (from.room() < -1 || from.room() >= static_cast<int>(kMostRooms)) {
    return Malformed("a room out of range");
  }
  return Verdict{from.version(), from.room()};
}

absl::StatusOr<Message> Convert(const wire::Load& from) {
  return Load{Unpack(*from.name()), Unpack(*from.digest()), from.round(), from.bytes(),
              from.is_initial()};
}

absl::StatusOr<std::string> TextOf(const flatbuffers::String* from, size_t most) {
  if (from == nullptr) return std::string();
  if (from->size() > most) return Malformed("a text is too long");
  return from->str();
}

absl::StatusOr<Message> Convert(const wire::DescribeState& from) {
  DescribeState state;
  for (const wire::Region* region : *from.regions()) {
    PHX_ASSIGN_OR_RETURN(std::string name, TextOf(region->name(), kMaxNameBytes));
    state.regions.push_back({std::move(name), region->bytes()});
  }
  return state;
}

absl::StatusOr<Message> Convert(const wire::AskTier& /*from*/) { return AskTier{}; }

absl::StatusOr<Message> Convert(const wire::Tier& from) {
  if (from.versions()->size() > kMostVersions) return Malformed("a list is too long");
  Tier tier;
  for (const wire::TierVersion* version : *from.versions()) {
    PHX_ASSIGN_OR_RETURN(std::string job, TextOf(version->job(), kMaxNameBytes));
    PHX_RETURN_IF_ERROR(CheckRank(version->ranks() - 1));
    tier.versions.push_back(
        {Unpack(*version->name()), std::move(job), version->ranks(), version->committed_unix_ms()});
  }
  PHX_ASSIGN_OR_RETURN(tier.problem, TextOf(from.problem(), kMaxProblemBytes));
  return tier;
}

absl::StatusOr<Message> Convert(const wire::Persist& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.ranks() - 1));
  return Persist{Unpack(*from.name()), from.ranks()};
}

absl::StatusOr<Message> Convert(const wire::ShardWritten& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return ShardWritten{Unpack(*from.name()), from.rank(), from.bytes(), Unpack(*from.digest()),
                      from.crc32c()};
}

absl::StatusOr<Message> Convert(const wire::PersistFailed& from) {
  if (from.rank() != -1) PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  PHX_ASSIGN_OR_RETURN(std::string problem, TextOf(from.problem(), kMaxProblemBytes));
  return PersistFailed{Unpack(*from.name()), from.rank(), std::move(problem)};
}

absl::StatusOr<Message> Convert(const wire::PeerAddress& from) {
  if (from.host()->size() > kMostHostBytes) return Malformed("a host's name is too long");
  return PeerAddress{from.agent(), from.host()->str(), from.port()};
}

absl::StatusOr<Message> Convert(const wire::Copy& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return Copy{Unpack(*from.name()), from.rank(), from.from(), Unpack(*from.digest())};
}

absl::StatusOr<Message> Convert(const wire::CopyEnded& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  PHX_ASSIGN_OR_RETURN(const LoadResult result, ResultOf(from.result()));
  return CopyEnded{Unpack(*from.name()), from.rank(), from.from(), result, from.bytes()};
}

absl::StatusOr<Message> Convert(const wire::ReadPart& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  if (from.bytes() > kMostPartBytes) return Malformed("a part is too long");
  return ReadPart{Unpack(*from.name()), from.rank(), from.offset(), from.bytes(), from.urgent()};
}

absl::StatusOr<Message> Convert(const wire::CheckShard& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return CheckShard{Unpack(*from.name()), from.rank()};
}

absl::StatusOr<Message> Convert(const wire::ShardPart& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  const size_t bytes = from.bytes()->size();
  if (bytes > kMostPartBytes) return Malformed("a part is too long");
  if (from.offset() > from.total() || bytes > from.total() - from.offset()) {
    return Malformed("a part goes beyond its shard");
  }
  return ShardPart{Unpack(*from.name()),
                   from.rank(),
                   from.offset(),
                   from.total(),
                   from.crc(),
                   std::string(reinterpret_cast<const char*>(from.bytes()->data()), bytes)};
}

absl::StatusOr<Message> Convert(const wire::NoShard& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.rank()));
  return NoShard{Unpack(*from.name()), from.rank()};
}

absl::StatusOr<Message> Convert(const wire::CopyRegions& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.from()));
  return CopyRegions{Unpack(*from.term()), from.target(), from.from()};
}

absl::StatusOr<Message> Convert(const wire::ServeRegions& from) {
  PHX_RETURN_IF_ERROR(CheckRank(from.to()));
  return ServeRegions{Unpack(*from.term()), from.target(), from.to()};
}

absl::StatusOr<Message> Convert(const wire::StepReport& from) {
  StepReport report{Unpack(*from.term()), 0, from.whole(), from.committed(), std::nullopt};
  if (from.has_ballot()) report.ballot = StepBallot{from.ballot_step(), from.ballot_epoch()};
  return report;
}

absl::StatusOr<Message> ConvertSteps(const wire::Envelope& envelope) {
  if (const auto* ask = envelope.body_as_AskStanding(); ask != nullptr) {
    return AskStanding{Unpack(*ask->term())};
  }
  if (const auto* resolve = envelope.body_as_Resolve(); resolve != nullptr) {
    return Resolve{Unpack(*resolve->term()), resolve->target()};
  }
  if (const auto* copy = envelope.body_as_CopyRegions(); copy != nullptr) return Convert(*copy);
  if (const auto* serve = envelope.body_as_ServeRegions(); serve != nullptr) return Convert(*serve);
  if (const auto* resume = envelope.body_as_ResumeSteps(); resume != nullptr) {
    return ResumeSteps{Unpack(*resume->term())};
  }
  if (const auto* apply = envelope.body_as_ApplyStep(); apply != nullptr) {
    return ApplyStep{Unpack(*apply->term()), apply->step()};
  }
  if (const auto* roll_back = envelope.body_as_RollBackSteps(); roll_back != nullptr) {
    return RollBackSteps{Unpack(*roll_back->term())};
  }
  if (const auto* report = envelope.body_as_StepReport(); report != nullptr) {
    return Convert(*report);
  }
  if (const auto* stands = envelope.body_as_StepStands(); stands != nullptr) {
    return StepStands{Unpack(*stands->term()), 0, stands->committed(), stands->copied_bytes()};
  }
  if (const auto* vote = envelope.body_as_Vote(); vote != nullptr) {
    return Vote{Unpack(*vote->term()), 0, vote->step()};
  }
  return Malformed("its kind is unknown");
}

// What agents say to each other, and what the coordinator says about it.
absl::StatusOr<Message> ConvertPeers(const wire::Envelope& envelope) {
  if (const auto* peer = envelope.body_as_PeerAddress(); peer != nullptr) return Convert(*peer);
  if (const auto* copy = envelope.body_as_Copy(); copy != nullptr) return Convert(*copy);
  if (const auto* ended = envelope.body_as_CopyEnded(); ended != nullptr) return Convert(*ended);
  if (const auto* read = envelope.body_as_ReadPart(); read != nullptr) return Convert(*read);
  if (const auto* check = envelope.body_as_CheckShard(); check != nullptr) return Convert(*check);
  if (const auto* part = envelope.body_as_ShardPart(); part != nullptr) return Convert(*part);
  if (const auto* none = envelope.body_as_NoShard(); none != nullptr) return Convert(*none);
  if (envelope.body_as_PartsLater() != nullptr) return PartsLater{};
  return Malformed("its kind is unknown");
}

absl::StatusOr<Message> ConvertTier(const wire::Envelope& envelope) {
  if (const auto* ask = envelope.body_as_AskTier(); ask != nullptr) return Convert(*ask);
  if (const auto* tier = envelope.body_as_Tier(); tier != nullptr) return Convert(*tier);
  if (const auto* persist = envelope.body_as_Persist(); persist != nullptr) {
    return Convert(*persist);
  }
  if (const auto* written = envelope.body_as_ShardWritten(); written != nullptr) {
    return Convert(*written);
  }
  return Convert(*envelope.body_as_PersistFailed());
}

absl::StatusOr<Message> ConvertBody(const wire::Envelope& envelope) {
  if (envelope.body() == nullptr) return Malformed("it has no body");
  switch (envelope.body_type()) {
    case wire::Body_NONE:
      break;
    case wire::Body_Ask:
      return Convert(*envelope.body_as_Ask());
    case wire::Body_Orders:
      return Convert(*envelope.body_as_Orders());
    case wire::Body_Fetch:
      return Convert(*envelope.body_as_Fetch());
    case wire::Body_Restored:
      return Convert(*envelope.body_as_Restored());
    case wire::Body_Inventory:
      return Convert(*envelope.body_as_Inventory());
    case wire::Body_Stored:
      return Convert(*envelope.body_as_Stored());
    case wire::Body_CopyIsBad:
      return Convert(*envelope.body_as_CopyIsBad());
    case wire::Body_Wants:
      return Convert(*envelope.body_as_Wants());
    case wire::Body_FetchEnded:
      return Convert(*envelope.body_as_FetchEnded());
    case wire::Body_OpenRooms:
      return Convert(*envelope.body_as_OpenRooms());
    case wire::Body_Reached:
      return Convert(*envelope.body_as_Reached());
    case wire::Body_Taken:
      return Convert(*envelope.body_as_Taken());
    case wire::Body_AwaitsState:
      return Convert(*envelope.body_as_AwaitsState());
    case wire::Body_Loaded:
      return Convert(*envelope.body_as_Loaded());
    case wire::Body_Rooms:
      return Convert(*envelope.body_as_Rooms());
    case wire::Body_Verdict:
      return Convert(*envelope.body_as_Verdict());
    case wire::Body_Load:
      return Convert(*envelope.body_as_Load());
    case wire::Body_DescribeState:
      return Convert(*envelope.body_as_DescribeState());
    case wire::Body_AskTier:
    case wire::Body_Tier:
    case wire::Body_Persist:
    case wire::Body_ShardWritten:
    case wire::Body_PersistFailed:
      return ConvertTier(envelope);
    case wire::Body_PeerAddress:
    case wire::Body_Copy:
    case wire::Body_CopyEnded:
    case wire::Body_ReadPart:
    case wire::Body_CheckShard:
    case wire::Body_ShardPart:
    case wire::Body_NoShard:
    case wire::Body_PartsLater:
      return ConvertPeers(envelope);
    case wire::Body_AskStanding:
    case wire::Body_Resolve:
    case wire::Body_CopyRegions:
    case wire::Body_ServeRegions:
    case wire::Body_ResumeSteps:
    case wire::Body_ApplyStep:
    case wire::Body_RollBackSteps:
    case wire::Body_StepReport:
    case wire::Body_StepStands:
    case wire::Body_Vote:
      return ConvertSteps(envelope);
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
  flatbuffers::Verifier verifier(buffer, bytes.size());
  if (!wire::VerifyEnvelopeBuffer(verifier)) return Malformed("it fails verification");
  return ConvertBody(*wire::GetEnvelope(buffer));
}

}  // namespace phalanx::checkpoint
