#include "membership/voter_answers.h"

#include <algorithm>
#include <utility>

namespace phalanx::membership {

uint64_t VoterAnswers::Ask(TimePoint now) {
  while (!questions_.empty() && now - questions_.front().asked_at > keep_) questions_.pop_front();
  questions_.push_back({++last_question_, now});
  return last_question_;
}

void VoterAnswers::Hear(const LeadTold& answer) {
  Voter& voter = voters_[answer.from];
  // What a voter has accepted only rises: a lower ballot is an answer that was overtaken.
  if (voter.lead.ballot < answer.lead.ballot) voter.lead = answer.lead;
  const auto question =
      std::find_if(questions_.begin(), questions_.end(),
                   [&](const Question& asked) { return asked.number == answer.question; });
  if (question == questions_.end()) return;
  voter.asked_at = std::max(voter.asked_at.value_or(question->asked_at), question->asked_at);
}

std::optional<VoterAnswers::TimePoint> VoterAnswers::ReachedAt(const VoterSets& voters) const {
  std::vector<std::pair<TimePoint, VoterId>> answered;
  for (const auto& [id, voter] : voters_) {
    if (voter.asked_at.has_value()) answered.emplace_back(*voter.asked_at, id);
  }
  std::sort(answered.begin(), answered.end(), std::greater<>());
  std::set<VoterId> reached;
  for (const auto& [asked_at, id] : answered) {
    reached.insert(id);
    if (voters.IsQuorum(reached)) return asked_at;
  }
  return std::nullopt;
}

std::map<Ballot, VoterAnswers::Acceptance> VoterAnswers::Acceptances(
    std::optional<TimePoint> since) const {
  std::map<Ballot, Acceptance> accepted;
  for (const auto& [id, voter] : voters_) {
    if (voter.lead.ballot.round == 0) continue;
    if (since.has_value() && (!voter.asked_at.has_value() || *voter.asked_at < *since)) continue;
    Acceptance& acceptance = accepted[voter.lead.ballot];
    acceptance.lead = &voter.lead;
    acceptance.by.insert(id);
  }
  return accepted;
}

const Lead* VoterAnswers::Committed() const {
  const std::map<Ballot, Acceptance> accepted = Acceptances(std::nullopt);
  const auto newest = std::find_if(accepted.rbegin(), accepted.rend(),
                                   [](const auto& of) { return of.second.IsCommitted(); });
  return newest == accepted.rend() ? nullptr : newest->second.lead;
}

bool VoterAnswers::IsHiddenSince(TimePoint since) const {
  const std::map<Ballot, Acceptance> accepted = Acceptances(since);
  if (accepted.empty()) return false;
  const Acceptance& newest = accepted.rbegin()->second;
  const std::optional<TimePoint> reached_at = ReachedAt(newest.lead->voters);
  return reached_at.has_value() && *reached_at >= since && !newest.IsCommitted();
}

std::set<VoterId> VoterAnswers::VotersTold() const {
  std::set<VoterId> told;
  for (const auto& [id, voter] : voters_) told.merge(voter.lead.voters.All());
  return told;
}

}  // namespace phalanx::membership
