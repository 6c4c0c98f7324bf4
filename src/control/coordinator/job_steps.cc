#include "control_coordinator/job_steps.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "checkpoint_wire/codec.h"

namespace phalanx::control {
namespace {

// Of one coordinator.
constexpr int kVoteBits = 20;

std::vector<int> AllOf(int ranks) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  return all;
}

}  // namespace

JobSteps::Outputs JobSteps::Ask(Epoch next, int ranks, const std::set<int>& survivors,
                                Clock::time_point now) {
  now_ = now;
  term_.epoch = next.value;
  ranks_ = AllOf(ranks);
  reachable_ = survivors;
  in_view_ = false;
  live_ = true;
  Outputs outputs;
  BeginVote(&outputs);
  // Whoever takes the place of a lost one has nothing that counts, and can't be asked yet.
  for (const int rank : ranks_) {
    if (survivors.count(rank) > 0) continue;
    checkpoint::StepReport report;
    report.term = term_;
    report.rank = rank;
    Step(report, &outputs);
  }
  return outputs;
}

void JobSteps::BeginVote(Outputs* outputs) {
  term_.claim = (coordinator_ << kVoteBits) + ++votes_;
  rolls_back_ = false;
  resumes_at_.reset();
  most_voted_ = -1;
  copying_.clear();
  copied_.clear();
  vote_ = std::make_unique<checkpoint::StepVote>(term_, ranks_);
  Step(checkpoint::StepVoteBegins{}, outputs);
}

JobSteps::Outputs JobSteps::BeginView(Epoch epoch, int ranks, Clock::time_point now) {
  now_ = now;
  Outputs outputs;
  if (!asked()) {
    term_ = {epoch.value, (coordinator_ << kVoteBits) + ++votes_};
    ranks_ = AllOf(ranks);
    reachable_.clear();
    rolls_back_ = true;
    live_ = false;
  }
  in_view_ = true;
  std::set<int> joiners;
  for (const int rank : ranks_) {
    if (reachable_.insert(rank).second) joiners.insert(rank);
  }
  if (rolls_back_) {
    TellOfRollBack(joiners, &outputs);
    return outputs;
  }
  // What they answer is known; it makes them listen.
  for (const int rank : joiners) {
    outputs.messages.push_back({rank, checkpoint::Encode(checkpoint::AskStanding{term_})});
  }
  Step(checkpoint::StepVoteAgain{}, &outputs);
  outputs.committed = false;  // repeated
  if (resumes_at_.has_value()) outputs.resumed = Resumed{*resumes_at_ + 1, live_, 0, {}};
  if (outputs.resumed.has_value()) {
    outputs.resumed->recomputed = std::max<int64_t>(most_voted_ - *resumes_at_, 0);
  }
  return outputs;
}

JobSteps::Outputs JobSteps::Restored(int64_t /*step*/, Clock::time_point now) {
  now_ = now;
  Outputs outputs;
  BeginVote(&outputs);
  return outputs;
}

absl::Status JobSteps::FromRank(int rank, absl::string_view payload, Clock::time_point now,
                                Outputs* outputs) {
  now_ = now;
  PHX_ASSIGN_OR_RETURN(checkpoint::Message message, checkpoint::Decode(payload));
  if (auto* report = std::get_if<checkpoint::StepReport>(&message)) {
    report->rank = rank;
    OnReport(*report, outputs);
  } else if (auto* stands = std::get_if<checkpoint::StepStands>(&message)) {
    stands->rank = rank;
    OnStands(*stands, outputs);
  } else if (auto* vote = std::get_if<checkpoint::Vote>(&message)) {
    vote->rank = rank;
    if (vote_ != nullptr) Step(*vote, outputs);
  } else {
    return absl::InvalidArgumentError("it sent what only others say about steps");
  }
  return absl::OkStatus();
}

void JobSteps::OnReport(const checkpoint::StepReport& report, Outputs* outputs) {
  if (vote_ == nullptr || report.term != term_) return;
  if (report.whole && report.ballot.has_value()) {
    most_voted_ = std::max(most_voted_, report.ballot->step);
  }
  Step(report, outputs);
}

void JobSteps::OnStands(const checkpoint::StepStands& stands, Outputs* outputs) {
  if (vote_ == nullptr || stands.term != term_) return;
  if (const auto copying = copying_.find(stands.rank); copying != copying_.end()) {
    copied_.push_back(
        {stands.rank, copying->second.from, stands.copied_bytes, now_ - copying->second.since});
    copying_.erase(copying);
  }
  Step(stands, outputs);
}

void JobSteps::Step(const checkpoint::StepVoteInput& input, Outputs* outputs) {
  for (const checkpoint::StepVoteOutput& output : vote_->Step(input)) {
    if (const auto* tell = std::get_if<checkpoint::TellRank>(&output)) {
      Tell(*tell, outputs);
    } else if (const auto* resume = std::get_if<checkpoint::StepsResume>(&output)) {
      resumes_at_ = resume->committed;
      if (!in_view_) continue;
      outputs->resumed = Resumed{resume->committed + 1, live_,
                                 std::max<int64_t>(most_voted_ - resume->committed, 0), copied_};
    } else if (std::holds_alternative<checkpoint::RollBack>(output)) {
      rolls_back_ = true;
      live_ = false;
      outputs->rolls_back = true;
      TellOfRollBack(reachable_, outputs);
    }
  }
  if (rolls_back_) vote_.reset();
}

void JobSteps::Tell(const checkpoint::TellRank& tell, Outputs* outputs) {
  if (reachable_.count(tell.rank) == 0) return;
  // Said when the view begins. A joiner that outlives a loss can be reached before, and would be
  // told twice.
  const bool is_of_view = std::holds_alternative<checkpoint::ResumeSteps>(tell.what) ||
                          std::holds_alternative<checkpoint::CopyRegions>(tell.what) ||
                          std::holds_alternative<checkpoint::ServeRegions>(tell.what);
  if (is_of_view && !in_view_) return;
  if (const auto* copy = std::get_if<checkpoint::CopyRegions>(&tell.what)) {
    copying_[tell.rank] = {copy->from, now_};
    outputs->copies = true;
  } else if (const auto* serve = std::get_if<checkpoint::ServeRegions>(&tell.what)) {
    if (reachable_.count(serve->to) == 0) return;
  } else if (std::holds_alternative<checkpoint::ApplyStep>(tell.what)) {
    outputs->committed = true;
  }
  outputs->messages.push_back(
      {tell.rank,
       std::visit([](const auto& what) { return checkpoint::Encode(what); }, tell.what)});
}

void JobSteps::TellOfRollBack(const std::set<int>& ranks, Outputs* outputs) const {
  for (const int rank : ranks) {
    outputs->messages.push_back({rank, checkpoint::Encode(checkpoint::RollBackSteps{term_})});
  }
}

}  // namespace phalanx::control
