// The coordinator's answers to who asks how the job is.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_coordinator/core.h"
#include "status_json.h"

namespace phalanx::control {
namespace {

// Askers that wait at once; each costs every rank a message.
constexpr size_t kMostQuestions = 64;

}  // namespace

void CoordinatorCore::OnAskStatus(AgentId asker, const message::AskStatus& ask) {
  const Question question{asker, ask.question, now_ + std::chrono::milliseconds(ask.timeout_ms)};
  if (ask.version != kProtocolVersion) {
    Answer(question,
           ErrorJson(absl::StrCat("the command speaks version ", ask.version,
                                  " of the control protocol, this job version ", kProtocolVersion,
                                  "; use the release of Phalanx that the job runs with")));
    return;
  }
  if (questions_.size() >= kMostQuestions) {
    Answer(question, ErrorJson("too many ask at once; ask again"));
    return;
  }
  questions_.push_back(question);
  const bool asks_ranks =
      phase_ == Phase::kRunning && ordering_ != nullptr && job_settings_.TracksOperations();
  if (asks_ranks) {
    PassOn(ordering_->AskRanks());
  } else {
    AnswerQuestions();
  }
}

bool CoordinatorCore::AllRanksAnswered() const {
  if (phase_ != Phase::kRunning || ordering_ == nullptr || !job_settings_.TracksOperations()) {
    return true;
  }
  return std::all_of(members_.begin(), members_.end(), [this](const auto& member) {
    return member.second.left || ordering_->answers().count(member.second.member.rank) > 0;
  });
}

void CoordinatorCore::AnswerQuestions() {
  if (questions_.empty()) return;
  const bool complete = AllRanksAnswered();
  std::string json;
  for (auto question = questions_.begin(); question != questions_.end();) {
    if (!complete && now_ < question->deadline) {
      ++question;
      continue;
    }
    if (json.empty()) json = StatusJson();
    Answer(*question, json);
    question = questions_.erase(question);
  }
  if (questions_.empty() && ordering_ != nullptr) ordering_->ForgetAnswers();
}

void CoordinatorCore::AbandonQuestions(const absl::Status& status) {
  const std::string why =
      status.ok() ? "the job is over" : absl::StrCat("the job is over: ", status.message());
  for (const Question& question : std::exchange(questions_, {})) Answer(question, ErrorJson(why));
}

void CoordinatorCore::ForgetQuestionsOf(AgentId asker) {
  questions_.erase(
      std::remove_if(questions_.begin(), questions_.end(),
                     [&](const Question& question) { return question.asker == asker; }),
      questions_.end());
}

void CoordinatorCore::Answer(const Question& question, std::string json) {
  if (json.size() > kMaxStatusBytes) json = ErrorJson("the job is too large to be shown");
  Send(question.asker, message::JobStatus{question.number, std::move(json)});
  // One that came with the key for this alone.
  if (agents_.count(question.asker) == 0) outputs_.push_back(CloseAgent{question.asker});
}

std::string CoordinatorCore::StatusJson() const {
  JobFacts facts;
  facts.job = settings_.job;
  facts.phase = phase_ == Phase::kJoining      ? "joining"
                : phase_ == Phase::kRunning    ? "running"
                : phase_ == Phase::kRecovering ? "recovering"
                : phase_ == Phase::kStoring    ? "storing"
                                               : "ending";
  facts.reason = std::string(reason_.message());
  facts.world_size = world_size_;
  facts.epoch = epoch_;
  facts.settings = job_settings_;
  facts.ordering = ordering_.get();
  for (const auto& [id, record] : agents_) {
    facts.nodes.push_back({record.node, record.node_name, record.cores});
  }
  std::sort(facts.nodes.begin(), facts.nodes.end(),
            [](const NodeFacts& a, const NodeFacts& b) { return a.node < b.node; });
  facts.ranks = FactsOfRanks();
  facts.recovery = FactsOfRecovery();
  return ToJson(facts);
}

std::vector<RankFacts> CoordinatorCore::FactsOfRanks() const {
  std::vector<RankFacts> ranks(static_cast<size_t>(world_size_));
  for (int rank = 0; rank < world_size_; ++rank) {
    RankFacts& facts = ranks[static_cast<size_t>(rank)];
    facts.rank = rank;
    facts.state = phase_ == Phase::kJoining ? "awaited" : "gone";
  }
  for (const MemberRecord& lost : vacant_) {
    if (lost.member.rank >= 0) ranks[static_cast<size_t>(lost.member.rank)].state = "lost";
  }
  const bool asked =
      phase_ == Phase::kRunning && ordering_ != nullptr && job_settings_.TracksOperations();
  for (const auto& [incarnation, record] : members_) {
    RankFacts facts;
    facts.rank = record.member.rank;
    facts.state = phase_ == Phase::kJoining ? "joining"
                  : !record.ready           ? "awaited"
                  : record.left             ? "closing"
                                            : "ready";
    facts.pid = record.member.pid;
    facts.node = record.member.node;
    facts.asked = asked && !record.left;
    facts.silent = record.silent;
    for (int copy = 0;; ++copy) {
      const checkpoint::AgentId id = checkpoints_.HolderOf(facts.rank, copy);
      if (id == 0) break;
      const auto holder = agents_.find(AgentId{static_cast<uint64_t>(id)});
      if (holder != agents_.end()) facts.copies_on.push_back(holder->second.node);
    }
    if (facts.rank >= 0) {
      ranks[static_cast<size_t>(facts.rank)] = std::move(facts);
    } else {
      ranks.push_back(std::move(facts));
    }
  }
  return ranks;
}

RecoveryFacts CoordinatorCore::FactsOfRecovery() const {
  RecoveryFacts facts;
  facts.now = now_;
  for (const MemberRecord& spare : spares_) {
    facts.spares.push_back({spare.member.pid, spare.member.node, spare.silent});
  }
  for (const auto& [id, record] : agents_) {
    facts.spares_to_come += record.spares_to_come;
    facts.restarts_left += record.restarts_left;
  }
  facts.voters = settings_.keeps_record ? 1 : 0;
  // A program that has saved nothing restores nothing either.
  const bool restoring = phase_ == Phase::kRunning && epoch_.value > 1 &&
                         !checkpoints_.restored() &&
                         checkpoints_.newest() != checkpoint::kInitialVersion;
  if (phase_ == Phase::kRecovering || restoring) {
    CurrentRecovery& current = facts.current.emplace();
    current.since = revoked_at_;
    current.restoring = restoring;
    for (const auto& [incarnation, record] : members_) {
      if (!record.ready) current.awaited.push_back(record.member.rank);
    }
    for (const MemberRecord& lost : vacant_) current.without_process.push_back(lost.member.rank);
    std::sort(current.awaited.begin(), current.awaited.end());
    std::sort(current.without_process.begin(), current.without_process.end());
  }
  facts.planned_faults = settings_.faults.size();
  for (const uint32_t index : performed_faults_) {
    if (index >= settings_.faults.size()) continue;
    facts.performed_faults.push_back(faults::ToText(settings_.faults[index]));
  }
  facts.history = &history_;
  facts.checkpoints = &checkpoints_;
  return facts;
}

}  // namespace phalanx::control
