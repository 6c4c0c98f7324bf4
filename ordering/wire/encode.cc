#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ordering_generated.h"
#include "ordering_wire/codec.h"

namespace phalanx::ordering {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

wire::Lane Pack(const Lane& lane) {
  return {lane.communicator.value, lane.detail, static_cast<uint8_t>(lane.kind)};
}
wire::Op Pack(const OpName& op) { return {Pack(op.lane), op.sequence}; }
wire::Op Pack(const Schedule::Base& base) { return {Pack(base.lane), base.sequence}; }
wire::Op Pack(const RankSnapshot::Issued& issued) { return {Pack(issued.lane), issued.next}; }
wire::Signature Pack(const Signature& signature) {
  return {signature.count,
          signature.counts_hash,
          signature.root,
          static_cast<uint8_t>(signature.kind),
          static_cast<uint8_t>(signature.type),
          static_cast<uint8_t>(signature.reduce)};
}
wire::Party Pack(const Party& party) { return {Pack(party.signature), party.rank}; }
wire::Number Pack(const TicketNumber& number) {
  return {number.epoch, number.global, number.local};
}
wire::Ticket Pack(const Ticket& ticket) {
  return {Pack(ticket.number), Pack(ticket.previous), Pack(ticket.op)};
}
wire::Entry Pack(const Schedule::Entry& entry) { return {Pack(entry.lane), Pack(entry.signature)}; }

template <typename Item>
auto PackAll(FlatBufferBuilder& builder, const std::vector<Item>& items) {
  std::vector<decltype(Pack(std::declval<const Item&>()))> packed;
  packed.reserve(items.size());
  for (const Item& item : items) packed.push_back(Pack(item));
  return builder.CreateVectorOfStructs(packed);
}

Offset<flatbuffers::String> Text(FlatBufferBuilder& builder, const std::string& text) {
  return builder.CreateString(text.data(), std::min(text.size(), kLongestText));
}

Offset<wire::OpView> BuildOpView(FlatBufferBuilder& builder, const OpView& view) {
  const wire::Op op = Pack(view.name);
  const wire::Signature signature = Pack(view.signature);
  const auto call_site = Text(builder, view.call_site);
  return wire::CreateOpView(builder, &op, &signature, view.stream, view.unit, view.present,
                            view.launched, call_site, view.overdue, view.age_ns);
}

Offset<wire::PassedOfLane> BuildPassed(FlatBufferBuilder& builder, const Passed::OfLane& passed) {
  const wire::Op below = Pack(OpName{passed.lane, passed.below});
  const auto beyond = builder.CreateVector(passed.beyond);
  std::vector<Offset<wire::LaunchedOfLane>> launched;
  launched.reserve(passed.launched.size());
  for (const Passed::Launched& some : passed.launched) {
    const auto entries = PackAll(builder, some.entries);
    launched.push_back(wire::CreateLaunchedOfLane(builder, some.first, some.until, entries));
  }
  const auto launched_vector = builder.CreateVector(launched);
  return wire::CreatePassedOfLane(builder, &below, beyond, launched_vector);
}

Offset<wire::ThreadView> BuildThreadView(FlatBufferBuilder& builder, const ThreadView& view) {
  const auto waits_for = PackAll(builder, view.waits_for);
  return wire::CreateThreadView(builder, static_cast<uint8_t>(view.state), waits_for,
                                view.device_wide);
}

Offset<wire::Line> BuildLine(FlatBufferBuilder& builder, const Explanation::Line& line) {
  const wire::Op op = Pack(line.op);
  const wire::Signature signature = Pack(line.signature.value_or(Signature{}));
  const wire::Op waits_for = Pack(line.waits_for.value_or(OpName{}));
  const auto call_site = Text(builder, line.call_site);
  wire::LineBuilder table(builder);
  table.add_rank(line.rank);
  table.add_why(static_cast<uint8_t>(line.why));
  table.add_op(&op);
  if (line.signature.has_value()) table.add_signature(&signature);
  if (line.stream.has_value()) table.add_stream(*line.stream);
  table.add_call_site(call_site);
  if (line.waits_for.has_value()) table.add_waits_for(&waits_for);
  table.add_behind(line.behind);
  return table.Finish();
}

Offset<wire::Explanation> BuildExplanation(FlatBufferBuilder& builder,
                                           const Explanation& explanation) {
  std::vector<Offset<wire::Line>> lines;
  lines.reserve(explanation.lines.size());
  for (const Explanation::Line& line : explanation.lines) {
    lines.push_back(BuildLine(builder, line));
  }
  Offset<wire::Difference> difference;
  if (explanation.difference.has_value()) {
    const auto field = Text(builder, explanation.difference->field);
    const auto left = Text(builder, explanation.difference->left);
    const auto right = Text(builder, explanation.difference->right);
    difference = wire::CreateDifference(builder, field, left, right);
  }
  const auto line_vector = builder.CreateVector(lines);
  const auto aborted = PackAll(builder, explanation.aborted);
  return wire::CreateExplanation(builder, static_cast<uint8_t>(explanation.kind), line_vector,
                                 difference, aborted);
}

// One overload a message: builds its table.
struct Encoder {
  FlatBufferBuilder& builder;

  auto operator()(const Present& present) {
    const wire::Op op = Pack(present.op);
    const wire::Signature signature = Pack(present.signature);
    return wire::CreatePresent(builder, &op, &signature, present.launched, present.rank);
  }
  auto operator()(const Done& done) {
    const wire::Op op = Pack(done.op);
    return wire::CreateDone(builder, &op);
  }
  auto operator()(const Diverged& diverged) {
    const wire::Op op = Pack(diverged.op);
    return wire::CreateDiverged(builder, &op);
  }
  auto operator()(const Clear& /*clear*/) { return wire::CreateClear(builder); }
  auto operator()(const Held& held) {
    return wire::CreateHeld(builder, PackAll(builder, held.tickets));
  }
  auto operator()(const LocalTickets& tickets) {
    std::vector<wire::LocalTicket> packed;
    packed.reserve(tickets.entries.size());
    for (size_t i = 0; i < tickets.entries.size(); ++i) {
      packed.emplace_back(Pack(tickets.entries[i]), tickets.sequences[i]);
    }
    return wire::CreateLocalTickets(builder, builder.CreateVectorOfStructs(packed));
  }
  auto operator()(const Disagreement& disagreement) {
    const wire::Op op = Pack(disagreement.op);
    const wire::Party left = Pack(disagreement.left);
    const wire::Party right = Pack(disagreement.right);
    return wire::CreateDisagreement(builder, &op, &left, &right);
  }
  auto operator()(const Stalled& stalled) { return wire::CreateStalled(builder, stalled.rank); }
  auto operator()(const SnapshotPart& part) {
    const RankSnapshot& snapshot = part.snapshot;
    std::vector<Offset<wire::OpView>> ops;
    ops.reserve(snapshot.ops.size());
    for (const OpView& view : snapshot.ops) ops.push_back(BuildOpView(builder, view));
    std::vector<Offset<wire::ThreadView>> threads;
    for (const ThreadView& view : snapshot.threads) {
      threads.push_back(BuildThreadView(builder, view));
    }
    const auto op_vector = builder.CreateVector(ops);
    const auto thread_vector = builder.CreateVector(threads);
    const auto issued = PackAll(builder, snapshot.issued);
    return wire::CreateSnapshotPart(builder, part.round, snapshot.rank, snapshot.progress,
                                    op_vector, thread_vector, snapshot.device_held, issued,
                                    snapshot.tickets);
  }
  auto operator()(const Ticket& ticket) {
    const wire::Ticket packed = Pack(ticket);
    return wire::CreateIssued(builder, &packed);
  }
  auto operator()(const Certify& certify) {
    const auto entries = PackAll(builder, certify.schedule->entries);
    const auto bases = PackAll(builder, certify.schedule->bases);
    return wire::CreateCertify(builder, entries, bases);
  }
  auto operator()(const Fence& /*fence*/) { return wire::CreateFence(builder); }
  auto operator()(const Question& /*question*/) { return wire::CreateQuestion(builder); }
  auto operator()(const Resume& resume) {
    return wire::CreateResume(builder, PackAll(builder, resume.tickets));
  }
  auto operator()(const AskSnapshot& ask) { return wire::CreateAskSnapshot(builder, ask.round); }
  auto operator()(const Verdict& verdict) {
    return wire::CreateVerdict(builder, BuildExplanation(builder, *verdict.explanation));
  }
  auto operator()(const Refused& refused) {
    return wire::CreateRefused(builder, BuildExplanation(builder, *refused.explanation));
  }
  auto operator()(const Passed& passed) {
    std::vector<Offset<wire::PassedOfLane>> lanes;
    lanes.reserve(passed.lanes.size());
    for (const Passed::OfLane& lane : passed.lanes) lanes.push_back(BuildPassed(builder, lane));
    return wire::CreatePassed(builder, passed.rank, builder.CreateVector(lanes));
  }
  auto operator()(const NewCommunicator& communicator) {
    const auto members = builder.CreateVector(communicator.members);
    return wire::CreateNewCommunicator(builder, communicator.id.value, members);
  }
};

template <typename Table>
std::string Finish(FlatBufferBuilder& builder, const Term& term, Offset<Table> table) {
  builder.Finish(wire::CreateEnvelope(builder, term.epoch, term.generation,
                                      wire::BodyTraits<Table>::enum_value, table.Union()),
                 wire::EnvelopeIdentifier());
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

template <typename Body>
std::string EncodeIn(const Term& term, const Body& body) {
  FlatBufferBuilder builder;
  return Finish(builder, term, Encoder{builder}(body));
}

}  // namespace

std::string Encode(const Uplink& message) {
  if (const auto* report = std::get_if<Report>(&message)) {
    return std::visit([&](const auto& body) { return EncodeIn(report->term, body); }, report->body);
  }
  return EncodeIn(Term{}, std::get<NewCommunicator>(message));
}

std::string Encode(const Downlink& message) {
  return std::visit([&](const auto& body) { return EncodeIn(message.term, body); }, message.body);
}

}  // namespace phalanx::ordering
