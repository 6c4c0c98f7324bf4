#include "checkpoint/step_vote.h"

#include <algorithm>
#include <utility>

namespace phalanx::checkpoint {

std::optional<int64_t> DecideTarget(const std::vector<StepReport>& reports) {
  std::optional<int64_t> largest;
  std::optional<StepBallot> common;
  bool all_voted_alike = true;
  for (const StepReport& report : reports) {
    if (!report.whole) continue;
    if (!largest.has_value()) common = report.ballot;
    if (!report.ballot.has_value() || report.ballot != common) all_voted_alike = false;
    largest = std::max(largest.value_or(report.committed), report.committed);
  }
  if (!largest.has_value()) return std::nullopt;
  bool all_stand_there = true;
  for (const StepReport& report : reports) {
    if (!report.whole || report.committed == *largest) continue;
    all_stand_there = false;
    // It was applied somewhere, so this one has voted for it and still has its inputs.
    const bool can_apply = report.committed == *largest - 1 && report.ballot.has_value() &&
                           report.ballot->step == *largest;
    if (!can_apply) return std::nullopt;
  }
  const bool next_is_committed = all_stand_there && all_voted_alike && common->step == *largest + 1;
  return next_is_committed ? *largest + 1 : *largest;
}

StepVote::StepVote(const Term& term, std::vector<int> members)
    : term_(term), members_(std::move(members)) {}

std::vector<StepVoteOutput> StepVote::Step(const StepVoteInput& input) {
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void StepVote::Handle(const StepVoteBegins& /*begins*/) { TellAll(AskStanding{term_}); }

void StepVote::Handle(const StepReport& report) {
  if (phase_ != Phase::kAsking || report.term != term_ || !IsMember(report.rank)) return;
  reports_.try_emplace(report.rank, report);
  if (reports_.size() == members_.size()) Conclude();
}

void StepVote::Conclude() {
  std::vector<StepReport> reports;
  for (const auto& [rank, report] : reports_) reports.push_back(report);
  const std::optional<int64_t> target = DecideTarget(reports);
  if (!target.has_value()) {
    phase_ = Phase::kOver;
    outputs_.push_back(RollBack{});
    return;
  }
  phase_ = Phase::kResolving;
  committed_ = *target;
  for (const auto& [rank, report] : reports_) {
    if (report.whole) outputs_.push_back(TellRank{rank, Resolve{term_, committed_}});
  }
}

void StepVote::Handle(const StepStands& stands) {
  if (phase_ != Phase::kResolving || stands.term != term_ || !IsMember(stands.rank)) return;
  if (stands.committed != committed_) return;
  standing_.insert(stands.rank);
  if (!source_.has_value()) {
    source_ = stands.rank;
    TellJoiners();
  }
  if (standing_.size() < members_.size()) return;
  phase_ = Phase::kVoting;
  outputs_.push_back(StepsResume{committed_});
  TellAll(ResumeSteps{term_});
}

void StepVote::TellJoiners() {
  if (!source_.has_value()) return;
  for (const auto& [rank, report] : reports_) {
    if (report.whole || standing_.count(rank) > 0) continue;
    outputs_.push_back(TellRank{rank, CopyRegions{term_, committed_, *source_}});
    outputs_.push_back(TellRank{*source_, ServeRegions{term_, committed_, rank}});
  }
}

void StepVote::Handle(const Vote& vote) {
  if (phase_ != Phase::kVoting || vote.term != term_ || !IsMember(vote.rank)) return;
  if (vote.step != committed_ + 1) return;  // repeated after it was committed
  votes_.insert(vote.rank);
  if (votes_.size() < members_.size()) return;
  votes_.clear();
  ++committed_;
  TellAll(ApplyStep{term_, committed_});
}

void StepVote::Handle(const StepVoteAgain& /*again*/) {
  switch (phase_) {
    case Phase::kAsking:
      for (const int rank : members_) {
        if (reports_.count(rank) == 0) outputs_.push_back(TellRank{rank, AskStanding{term_}});
      }
      break;
    case Phase::kResolving:
      for (const auto& [rank, report] : reports_) {
        if (!report.whole || standing_.count(rank) > 0) continue;
        outputs_.push_back(TellRank{rank, Resolve{term_, committed_}});
      }
      TellJoiners();
      break;
    case Phase::kVoting:
      TellAll(ResumeSteps{term_});
      TellAll(ApplyStep{term_, committed_});
      break;
    case Phase::kOver:
      break;
  }
}

bool StepVote::IsMember(int rank) const {
  return std::find(members_.begin(), members_.end(), rank) != members_.end();
}

void StepVote::TellAll(const StepOrder& what) {
  for (const int rank : members_) outputs_.push_back(TellRank{rank, what});
}

}  // namespace phalanx::checkpoint
