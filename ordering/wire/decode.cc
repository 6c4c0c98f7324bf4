#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ordering_generated.h"
#include "ordering_wire/codec.h"

// The FlatBuffers verifier proves that every offset stays inside the buffer and that required
// fields are there; the functions here hold what it can't know: ranges, lengths, and numbers.
namespace phalanx::ordering {
namespace {

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed ordering message: ", what));
}

bool IsRank(int rank) { return rank >= 0 && rank < kMostRanks; }

template <typename Enum>
absl::Status ReadEnum(uint8_t value, Enum last, const char* what, Enum* to) {
  if (value > static_cast<uint8_t>(last)) return Malformed(absl::StrCat(what, " out of range"));
  *to = static_cast<Enum>(value);
  return absl::OkStatus();
}

// One overload a kind of table or struct. Offsets may share what they point to, so that a short
// message can list more than its length lets expect: everything listed counts against one budget.
class Reader {
 public:
  absl::Status Read(const wire::Lane& from, Lane* to) {
    PHX_RETURN_IF_ERROR(ReadEnum(from.kind(), Lane::Kind::kPair, "a kind of lane", &to->kind));
    PHX_RETURN_IF_ERROR(ReadId(from.communicator(), &to->communicator));
    to->detail = from.detail();
    if (to->kind == Lane::Kind::kCommunicator && to->detail != 0) {
      return Malformed("a communicator's lane with a detail");
    }
    if (to->kind == Lane::Kind::kPair && !(IsRank(to->source()) && IsRank(to->destination()))) {
      return Malformed("a pair of ranks out of range");
    }
    return absl::OkStatus();
  }
  absl::Status Read(const wire::Op& from, OpName* to) {
    to->sequence = from.sequence();
    return Read(from.lane(), &to->lane);
  }
  absl::Status Read(const wire::Op& from, Schedule::Base* to) {
    to->sequence = from.sequence();
    return Read(from.lane(), &to->lane);
  }
  absl::Status Read(const wire::Op& from, RankSnapshot::Issued* to) {
    to->next = from.sequence();
    return Read(from.lane(), &to->lane);
  }
  absl::Status Read(const wire::Signature& from, Signature* to) {
    PHX_RETURN_IF_ERROR(ReadEnum(from.kind(), OpKind::kDestroy, "a kind of operation", &to->kind));
    PHX_RETURN_IF_ERROR(
        ReadEnum(from.type(), static_cast<DataType>(kDataTypeCount - 1), "a data type", &to->type));
    PHX_RETURN_IF_ERROR(ReadEnum(from.reduce(), static_cast<ReduceOp>(kReduceOpCount - 1),
                                 "a reduce operation", &to->reduce));
    if (!IsRank(from.root())) return Malformed("a root out of range");
    to->root = from.root();
    to->count = from.count();
    to->counts_hash = from.counts_hash();
    return absl::OkStatus();
  }
  absl::Status Read(const wire::Party& from, Party* to) {
    PHX_RETURN_IF_ERROR(ReadRank(from.rank(), &to->rank));
    return Read(from.signature(), &to->signature);
  }
  absl::Status Read(const wire::Ticket& from, Ticket* to) {
    to->number = Number(from.number());
    to->previous = Number(from.previous());
    return Read(from.op(), &to->op);
  }
  absl::Status Read(const wire::Entry& from, Schedule::Entry* to) {
    PHX_RETURN_IF_ERROR(Read(from.lane(), &to->lane));
    return Read(from.signature(), &to->signature);
  }

  // Upwards.
  absl::Status Read(const wire::Present& from, Present* to) {
    PHX_RETURN_IF_ERROR(Read(*from.op(), &to->op));
    PHX_RETURN_IF_ERROR(Read(*from.signature(), &to->signature));
    to->launched = from.launched();
    return ReadRank(from.rank(), &to->rank);
  }
  absl::Status Read(const wire::Done& from, Done* to) { return Read(*from.op(), &to->op); }
  absl::Status Read(const wire::Diverged& from, Diverged* to) { return Read(*from.op(), &to->op); }
  absl::Status Read(const wire::Clear& /*from*/, Clear* /*to*/) { return absl::OkStatus(); }
  absl::Status Read(const wire::Held& from, Held* to) {
    return ReadAll(from.tickets(), &to->tickets);
  }
  absl::Status Read(const wire::LocalTickets& from, LocalTickets* to) {
    PHX_RETURN_IF_ERROR(CheckList(*from.tickets()));
    for (const wire::LocalTicket* ticket : *from.tickets()) {
      PHX_RETURN_IF_ERROR(Read(ticket->entry(), &to->entries.emplace_back()));
      to->sequences.push_back(ticket->sequence());
    }
    return absl::OkStatus();
  }
  absl::Status Read(const wire::Disagreement& from, Disagreement* to) {
    PHX_RETURN_IF_ERROR(Read(*from.op(), &to->op));
    PHX_RETURN_IF_ERROR(Read(*from.left(), &to->left));
    return Read(*from.right(), &to->right);
  }
  absl::Status Read(const wire::Stalled& from, Stalled* to) {
    return ReadRank(from.rank(), &to->rank);
  }
  absl::Status Read(const wire::OpView& from, OpView* to) {
    PHX_RETURN_IF_ERROR(Read(*from.op(), &to->name));
    PHX_RETURN_IF_ERROR(Read(*from.signature(), &to->signature));
    to->stream = from.stream();
    to->unit = from.unit();
    to->present = from.present();
    to->launched = from.launched();
    to->overdue = from.overdue();
    to->age_ns = from.age_ns();
    return ReadText(from.call_site(), &to->call_site);
  }
  absl::Status Read(const wire::ThreadView& from, ThreadView* to) {
    PHX_RETURN_IF_ERROR(
        ReadEnum(from.state(), ThreadView::State::kEnded, "a thread's state", &to->state));
    to->device_wide = from.device_wide();
    return ReadAll(from.waits_for(), &to->waits_for);
  }
  absl::Status Read(const wire::SnapshotPart& from, SnapshotPart* to) {
    RankSnapshot& snapshot = to->snapshot;
    to->round = from.round();
    snapshot.progress = from.progress();
    snapshot.device_held = from.device_held();
    snapshot.tickets = from.tickets();
    PHX_RETURN_IF_ERROR(ReadRank(from.rank(), &snapshot.rank));
    PHX_RETURN_IF_ERROR(ReadAll(from.ops(), &snapshot.ops));
    PHX_RETURN_IF_ERROR(ReadAll(from.threads(), &snapshot.threads));
    return ReadAll(from.issued(), &snapshot.issued);
  }
  absl::Status Read(const wire::PassedOfLane& from, Passed::OfLane* to) {
    OpName below;
    PHX_RETURN_IF_ERROR(Read(*from.below(), &below));
    to->lane = below.lane;
    to->below = below.sequence;
    if (from.beyond() != nullptr) {
      PHX_RETURN_IF_ERROR(CheckList(*from.beyond()));
      to->beyond.assign(from.beyond()->begin(), from.beyond()->end());
      if (!std::is_sorted(to->beyond.begin(), to->beyond.end())) {
        return Malformed("operations that aren't in order");
      }
    }
    return ReadAll(from.launched(), &to->launched);
  }
  absl::Status Read(const wire::LaunchedOfLane& from, Passed::Launched* to) {
    to->first = from.first();
    to->until = from.until();
    if (from.entries()->size() == 0) return Malformed("a schedule without entries");
    return ReadAll(from.entries(), &to->entries);
  }
  absl::Status Read(const wire::Passed& from, Passed* to) {
    PHX_RETURN_IF_ERROR(ReadRank(from.rank(), &to->rank));
    return ReadAll(from.lanes(), &to->lanes);
  }
  absl::Status Read(const wire::NewCommunicator& from, NewCommunicator* to) {
    PHX_RETURN_IF_ERROR(ReadId(from.id(), &to->id));
    PHX_RETURN_IF_ERROR(Spend(from.members()->size()));
    for (const int rank : *from.members()) {
      PHX_RETURN_IF_ERROR(ReadRank(rank, &to->members.emplace_back()));
    }
    return absl::OkStatus();
  }

  // Downwards.
  absl::Status Read(const wire::Issued& from, Ticket* to) { return Read(*from.ticket(), to); }
  absl::Status Read(const wire::Certify& from, Certify* to) {
    auto schedule = std::make_shared<Schedule>();
    PHX_RETURN_IF_ERROR(ReadAll(from.entries(), &schedule->entries));
    PHX_RETURN_IF_ERROR(ReadAll(from.bases(), &schedule->bases));
    to->schedule = std::move(schedule);
    return absl::OkStatus();
  }
  absl::Status Read(const wire::Fence& /*from*/, Fence* /*to*/) { return absl::OkStatus(); }
  absl::Status Read(const wire::Question& /*from*/, Question* /*to*/) { return absl::OkStatus(); }
  absl::Status Read(const wire::Resume& from, Resume* to) {
    return ReadAll(from.tickets(), &to->tickets);
  }
  absl::Status Read(const wire::AskSnapshot& from, AskSnapshot* to) {
    to->round = from.round();
    return absl::OkStatus();
  }
  absl::Status Read(const wire::Verdict& from, Verdict* to) {
    return ReadShared(*from.explanation(), &to->explanation);
  }
  absl::Status Read(const wire::Refused& from, Refused* to) {
    return ReadShared(*from.explanation(), &to->explanation);
  }
  absl::Status Read(const wire::Line& from, Explanation::Line* to) {
    PHX_RETURN_IF_ERROR(ReadRank(from.rank(), &to->rank));
    PHX_RETURN_IF_ERROR(
        ReadEnum(from.why(), Explanation::Line::Why::kDiffers, "a reason", &to->why));
    PHX_RETURN_IF_ERROR(Read(*from.op(), &to->op));
    if (from.signature() != nullptr) {
      PHX_RETURN_IF_ERROR(Read(*from.signature(), &to->signature.emplace()));
    }
    if (from.stream().has_value()) to->stream = *from.stream();
    if (from.waits_for() != nullptr) {
      PHX_RETURN_IF_ERROR(Read(*from.waits_for(), &to->waits_for.emplace()));
    }
    to->behind = from.behind();
    return ReadText(from.call_site(), &to->call_site);
  }
  absl::Status Read(const wire::Explanation& from, Explanation* to) {
    PHX_RETURN_IF_ERROR(
        ReadEnum(from.kind(), Explanation::Kind::kDeviceWait, "a kind of explanation", &to->kind));
    PHX_RETURN_IF_ERROR(ReadAll(from.lines(), &to->lines));
    if (from.difference() != nullptr) {
      Difference& difference = to->difference.emplace();
      PHX_RETURN_IF_ERROR(ReadText(from.difference()->field(), &difference.field));
      PHX_RETURN_IF_ERROR(ReadText(from.difference()->left(), &difference.left));
      PHX_RETURN_IF_ERROR(ReadText(from.difference()->right(), &difference.right));
    }
    return ReadAll(from.aborted(), &to->aborted);
  }

 private:
  absl::Status Spend(size_t elements) {
    if (elements > budget_) return Malformed("it lists too much");
    budget_ -= elements;
    return absl::OkStatus();
  }

  absl::Status ReadShared(const wire::Explanation& from, std::shared_ptr<const Explanation>* to) {
    auto explanation = std::make_shared<Explanation>();
    PHX_RETURN_IF_ERROR(Read(from, explanation.get()));
    *to = std::move(explanation);
    return absl::OkStatus();
  }

  template <typename Table>
  absl::Status CheckList(const flatbuffers::Vector<flatbuffers::Offset<Table>>& tables) {
    return Spend(tables.size());
  }
  // The verifier looks at where a list begins, not at where its first struct does; an empty one may
  // lie anywhere.
  template <typename Struct>
  absl::Status CheckList(const flatbuffers::Vector<const Struct*>& structs) {
    const auto place = reinterpret_cast<uintptr_t>(structs.Data());
    if (structs.size() > 0 && place % alignof(Struct) != 0) {
      return Malformed("a misplaced list");
    }
    return Spend(structs.size());
  }

  absl::Status CheckList(const flatbuffers::Vector<uint64_t>& numbers) {
    const auto place = reinterpret_cast<uintptr_t>(numbers.Data());
    if (numbers.size() > 0 && place % alignof(uint64_t) != 0) {
      return Malformed("a misplaced list");
    }
    return Spend(numbers.size());
  }

  template <typename From, typename To>
  absl::Status ReadAll(const flatbuffers::Vector<From>* from, std::vector<To>* to) {
    if (from == nullptr) return absl::OkStatus();
    PHX_RETURN_IF_ERROR(CheckList(*from));
    to->reserve(from->size());
    for (const auto* item : *from) PHX_RETURN_IF_ERROR(Read(*item, &to->emplace_back()));
    return absl::OkStatus();
  }

  static absl::Status ReadId(uint64_t value, CommunicatorId* to) {
    to->value = static_cast<decltype(to->value)>(value);
    if (to->value != value) return Malformed("a communicator out of range");
    return absl::OkStatus();
  }

  static absl::Status ReadRank(int rank, int* to) {
    if (!IsRank(rank)) return Malformed("a rank out of range");
    *to = rank;
    return absl::OkStatus();
  }

  static absl::Status ReadText(const flatbuffers::String* text, std::string* to) {
    if (text == nullptr) return absl::OkStatus();
    if (text->size() > kLongestText) return Malformed("a text is too long");
    *to = text->str();
    return absl::OkStatus();
  }

  static TicketNumber Number(const wire::Number& from) {
    return {from.epoch(), from.global(), from.local()};
  }

  size_t budget_ = kMostElements;
};

template <typename To, typename From>
absl::StatusOr<To> Take(const From& from) {
  To to;
  Reader reader;
  PHX_RETURN_IF_ERROR(reader.Read(from, &to));
  return to;
}

template <typename Body, typename From>
absl::StatusOr<Uplink> TakeReport(const wire::Envelope& envelope, const From& from) {
  PHX_ASSIGN_OR_RETURN(Body body, Take<Body>(from));
  return Report{{envelope.epoch(), envelope.generation()}, std::move(body)};
}

template <typename Body, typename From>
absl::StatusOr<Downlink> TakeOrder(const wire::Envelope& envelope, const From& from) {
  PHX_ASSIGN_OR_RETURN(Body body, Take<Body>(from));
  return Order{{envelope.epoch(), envelope.generation()}, std::move(body)};
}

// A verified copy of a message.
class Verified {
 public:
  static absl::StatusOr<Verified> Copy(absl::string_view bytes) {
    if (bytes.size() < sizeof(uint64_t) || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
      return Malformed("its length");
    }
    Verified copy;
    copy.aligned_.resize((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(copy.aligned_.data(), bytes.data(), bytes.size());
    constexpr flatbuffers::uoffset_t kMaxDepth = 8;
    constexpr flatbuffers::uoffset_t kMaxTables = kMostElements + 8;
    flatbuffers::Verifier verifier(copy.data(), bytes.size(), kMaxDepth, kMaxTables);
    if (!wire::VerifyEnvelopeBuffer(verifier)) return Malformed("it fails verification");
    if (copy.envelope().body() == nullptr) return Malformed("it has no body");
    return copy;
  }

  const wire::Envelope& envelope() const { return *wire::GetEnvelope(data()); }

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(aligned_.data()); }

  // Scalars are read in place, so the buffer starts where the widest of them may start.
  std::vector<uint64_t> aligned_;
};

}  // namespace

absl::StatusOr<Uplink> DecodeUplink(absl::string_view bytes) {
  PHX_ASSIGN_OR_RETURN(const Verified message, Verified::Copy(bytes));
  const wire::Envelope& envelope = message.envelope();
  switch (envelope.body_type()) {
    case wire::Body_Present:
      return TakeReport<Present>(envelope, *envelope.body_as_Present());
    case wire::Body_Done:
      return TakeReport<Done>(envelope, *envelope.body_as_Done());
    case wire::Body_Diverged:
      return TakeReport<Diverged>(envelope, *envelope.body_as_Diverged());
    case wire::Body_Clear:
      return TakeReport<Clear>(envelope, *envelope.body_as_Clear());
    case wire::Body_Held:
      return TakeReport<Held>(envelope, *envelope.body_as_Held());
    case wire::Body_LocalTickets:
      return TakeReport<LocalTickets>(envelope, *envelope.body_as_LocalTickets());
    case wire::Body_Disagreement:
      return TakeReport<Disagreement>(envelope, *envelope.body_as_Disagreement());
    case wire::Body_Stalled:
      return TakeReport<Stalled>(envelope, *envelope.body_as_Stalled());
    case wire::Body_SnapshotPart:
      return TakeReport<SnapshotPart>(envelope, *envelope.body_as_SnapshotPart());
    case wire::Body_Refused:
      return TakeReport<Refused>(envelope, *envelope.body_as_Refused());
    case wire::Body_Passed:
      return TakeReport<Passed>(envelope, *envelope.body_as_Passed());
    case wire::Body_NewCommunicator:
      return Take<NewCommunicator>(*envelope.body_as_NewCommunicator());
    case wire::Body_NONE:
    case wire::Body_Issued:
    case wire::Body_Certify:
    case wire::Body_Fence:
    case wire::Body_Question:
    case wire::Body_Resume:
    case wire::Body_AskSnapshot:
    case wire::Body_Verdict:
      break;
  }
  return Malformed("its kind doesn't go up");
}

absl::StatusOr<Downlink> DecodeDownlink(absl::string_view bytes) {
  PHX_ASSIGN_OR_RETURN(const Verified message, Verified::Copy(bytes));
  const wire::Envelope& envelope = message.envelope();
  switch (envelope.body_type()) {
    case wire::Body_Issued:
      return TakeOrder<Ticket>(envelope, *envelope.body_as_Issued());
    case wire::Body_Certify:
      return TakeOrder<Certify>(envelope, *envelope.body_as_Certify());
    case wire::Body_Fence:
      return TakeOrder<Fence>(envelope, *envelope.body_as_Fence());
    case wire::Body_Question:
      return TakeOrder<Question>(envelope, *envelope.body_as_Question());
    case wire::Body_Resume:
      return TakeOrder<Resume>(envelope, *envelope.body_as_Resume());
    case wire::Body_AskSnapshot:
      return TakeOrder<AskSnapshot>(envelope, *envelope.body_as_AskSnapshot());
    case wire::Body_Verdict:
      return TakeOrder<Verdict>(envelope, *envelope.body_as_Verdict());
    case wire::Body_NONE:
    case wire::Body_Present:
    case wire::Body_Done:
    case wire::Body_Diverged:
    case wire::Body_Clear:
    case wire::Body_Held:
    case wire::Body_LocalTickets:
    case wire::Body_Disagreement:
    case wire::Body_Stalled:
    case wire::Body_SnapshotPart:
    case wire::Body_NewCommunicator:
    case wire::Body_Refused:
    case wire::Body_Passed:
      break;
  }
  return Malformed("its kind doesn't go down");
}

}  // namespace phalanx::ordering
