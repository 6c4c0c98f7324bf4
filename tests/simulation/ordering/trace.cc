// Messages as text.
#include "absl/strings/str_cat.h"
#include "world_parts.h"

namespace phalanx::ordering::simulation {
namespace {

std::string Text(const Term& term) {
  return absl::StrCat("[", term.epoch, ".", term.generation, "] ");
}

std::string Text(const TicketNumber& number) {
  return absl::StrCat(number.epoch, ".", number.global, ".", number.local);
}

std::string Text(const Ticket& ticket) {
  return absl::StrCat("ticket ", Text(ticket.number), " for ", ordering::Describe(ticket.op));
}

std::string Text(const std::vector<Ticket>& tickets) {
  std::string text;
  for (const Ticket& ticket : tickets) absl::StrAppend(&text, ", ", Text(ticket));
  return text;
}

struct ReportText {
  std::string operator()(const Present& present) const {
    return absl::StrCat("present ", ordering::Describe(present.op),
                        present.launched ? " (launched)" : "");
  }
  std::string operator()(const Done& done) const {
    return absl::StrCat("done ", ordering::Describe(done.op));
  }
  std::string operator()(const Diverged& diverged) const {
    return absl::StrCat("diverged at ", ordering::Describe(diverged.op));
  }
  std::string operator()(const Clear& /*clear*/) const { return "clear"; }
  std::string operator()(const Held& held) const { return "held" + Text(held.tickets); }
  std::string operator()(const LocalTickets& tickets) const {
    return absl::StrCat(tickets.entries.size(), " tickets of its own");
  }
  std::string operator()(const Disagreement& disagreement) const {
    return absl::StrCat("disagreement about ", ordering::Describe(disagreement.op));
  }
  std::string operator()(const Stalled& stalled) const {
    return absl::StrCat("rank ", stalled.rank, " stalls");
  }
  std::string operator()(const Refused& /*refused*/) const { return "refused by a verdict"; }
  std::string operator()(const Passed& passed) const {
    std::string text = "passed";
    for (const Passed::OfLane& lane : passed.lanes) {
      absl::StrAppend(&text, ", all before ", ordering::Describe(OpName{lane.lane, lane.below}));
      for (const uint64_t sequence : lane.beyond) absl::StrAppend(&text, " and ", sequence);
    }
    return text;
  }
  std::string operator()(const SnapshotPart& part) const {
    return absl::StrCat("snapshot of rank ", part.snapshot.rank);
  }
};

struct OrderText {
  std::string operator()(const Ticket& ticket) const { return Text(ticket); }
  std::string operator()(const Certify& certify) const {
    std::string text = "schedule:";
    for (const Schedule::Entry& entry : certify.schedule->entries) {
      absl::StrAppend(&text, " ", ordering::Describe(OpName{entry.lane, 0}));
    }
    return text;
  }
  std::string operator()(const Fence& /*fence*/) const { return "fence"; }
  std::string operator()(const Question& /*question*/) const { return "question"; }
  std::string operator()(const Resume& resume) const { return "resume" + Text(resume.tickets); }
  std::string operator()(const AskSnapshot& ask) const {
    return absl::StrCat("snapshot round ", ask.round);
  }
  std::string operator()(const Verdict& verdict) const {
    return "verdict: " + ordering::Describe(*verdict.explanation);
  }
};

}  // namespace

std::string TextOf(const Report& report) {
  return Text(report.term) + std::visit(ReportText(), report.body);
}

std::string TextOf(const Order& order) {
  return Text(order.term) + std::visit(OrderText(), order.body);
}

}  // namespace phalanx::ordering::simulation
