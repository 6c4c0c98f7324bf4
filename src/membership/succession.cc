#include "membership/succession.h"

#include <algorithm>
#include <utility>

namespace phalanx::membership {

Succession::Succession(SuccessionSettings settings)
    : settings_(std::move(settings)),
      random_(settings_.seed),
      answers_(settings_.timing.lease),
      lead_(settings_.formed) {}

std::vector<SuccessionOutput> Succession::Step(const SuccessionInput& input, TimePoint now) {
  ForgiveOwnDelay(now);
  std::visit([&](const auto& what) { Handle(what, now); }, input);
  AskIfDue(now);
  PauseOrResume(now);
  StartIfDue(now);
  return std::exchange(outputs_, {});
}

Succession::TimePoint Succession::WakeAt() const {
  if (!last_step_.has_value()) return TimePoint();
  TimePoint at = *asked_at_ + settings_.timing.ask_interval;
  if (!paused_) at = std::min(at, *answers_.ReachedAt(lead_.voters) + settings_.timing.lease);
  // One that is past waits for voters, who are asked at the interval.
  const std::optional<TimePoint> start = StartDue();
  if (start.has_value() && *start > *last_step_) at = std::min(at, *start);
  return at;
}

bool Succession::TakesOrdersFrom(ProposerId life) const {
  return life.value != 0 && life == lead_.coordinator.life;
}

void Succession::ForgiveOwnDelay(TimePoint now) {
  if (!last_step_.has_value()) {
    heard_at_ = now;
  } else if (now - *last_step_ > settings_.timing.ask_interval + settings_.timing.late) {
    heard_at_ = now;
    if (gone_at_.has_value()) gone_at_ = now;
  }
  last_step_ = now;
}

void Succession::Handle(const LeadTold& answer, TimePoint now) {
  answers_.Hear(answer);
  const Lead* committed = answers_.Committed();
  if (committed != nullptr && lead_.ballot < committed->ballot) Adopt(*committed, now);
}

void Succession::Handle(const CoordinatorHeard& heard, TimePoint now) {
  if (!TakesOrdersFrom(heard.life)) return;
  heard_at_ = now;
  gone_at_.reset();
}

void Succession::Handle(const CoordinatorGone& gone, TimePoint now) {
  // That it is still gone doesn't begin the turns again.
  if (TakesOrdersFrom(gone.life) && !gone_at_.has_value()) gone_at_ = now;
}

void Succession::Handle(const CoordinatorEnded& ended, TimePoint /*now*/) {
  if (own_.has_value() && own_->life == ended.life) own_.reset();
}

void Succession::Handle(const Wake& /*wake*/, TimePoint /*now*/) {}

void Succession::Adopt(const Lead& lead, TimePoint now) {
  const bool is_another = lead.coordinator != lead_.coordinator;
  lead_ = lead;
  if (!is_another) return;  // the record has changed, or somebody has settled it
  heard_at_ = now;
  gone_at_.reset();
  outputs_.push_back(Follow{lead_});
  StopIfSuperseded();
}

// Until its claim is committed, the record names the one that it replaces.
void Succession::StopIfSuperseded() {
  if (!own_.has_value() || own_->stopping) return;
  const ProposerId leading = lead_.coordinator.life;
  if (leading == own_->life || leading == own_->replaces) return;
  own_->stopping = true;
  outputs_.push_back(StopCoordinator{own_->life});
}

void Succession::AskIfDue(TimePoint now) {
  if (asked_at_.has_value() && now - *asked_at_ < settings_.timing.ask_interval) return;
  asked_at_ = now;
  std::set<VoterId> voters = answers_.VotersTold();
  voters.merge(lead_.voters.All());
  outputs_.push_back(AskVoters{std::move(voters), answers_.Ask(now)});
}

void Succession::PauseOrResume(TimePoint now) {
  const std::optional<TimePoint> reached_at = answers_.ReachedAt(lead_.voters);
  const bool pause = !reached_at.has_value() || now - *reached_at >= settings_.timing.lease;
  if (pause == paused_) return;
  paused_ = pause;
  if (pause) {
    outputs_.push_back(PauseWorkers{});
  } else {
    outputs_.push_back(ResumeWorkers{});
  }
}

void Succession::StartIfDue(TimePoint now) {
  const std::optional<TimePoint> due = StartDue();
  if (!due.has_value() || now < *due) return;
  // On the side that can't change the record it would be in vain; and what a majority says now
  // tells whether somebody else was faster.
  const std::optional<TimePoint> reached_at = answers_.ReachedAt(lead_.voters);
  if (!reached_at.has_value() || now - *reached_at > settings_.timing.turn) return;
  started_at_ = now;
  own_ = Own{ProposerId{random_()}, lead_.coordinator.life};
  outputs_.push_back(StartCoordinator{own_->life, own_->replaces});
}

std::optional<int64_t> Succession::Turn() const {
  const std::vector<uint64_t>& standbys = lead_.standbys;
  const auto own = std::find(standbys.begin(), standbys.end(), settings_.node);
  if (own == standbys.end()) return std::nullopt;
  const auto size = static_cast<int64_t>(standbys.size());
  const auto last = std::find(standbys.begin(), standbys.end(), lead_.coordinator.node);
  const bool is_after_it = lead_.coordinator.life.value != 0 && last != standbys.end();
  const int64_t first = is_after_it ? last - standbys.begin() + 1 : 0;
  return (own - standbys.begin() - first + size) % size;
}

std::optional<Succession::TimePoint> Succession::StartDue() const {
  if (own_.has_value()) return std::nullopt;
  const bool nobody_yet = lead_.coordinator.life.value == 0;
  TimePoint due;
  if (!nobody_yet && lead_.coordinator.node == settings_.node) {
    due = heard_at_;  // it was a child of this node's agent, and is no more
  } else {
    const std::optional<int64_t> turn = Turn();
    if (!turn.has_value()) return std::nullopt;
    const Clock::duration turns = *turn * settings_.timing.turn;
    due = heard_at_ + (nobody_yet ? turns : settings_.timing.silent_after + turns);
    if (gone_at_.has_value()) due = std::min(due, *gone_at_ + turns + settings_.timing.turn);
  }
  return started_at_.has_value() ? std::max(due, *started_at_ + settings_.timing.turn) : due;
}

}  // namespace phalanx::membership
