// What the processes, agents and the coordinator of a World suffer.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "world.h"

namespace phalanx::control::simulation {

void World::Occur(Moment moment) {
  const int number = ++moments_[static_cast<size_t>(moment)];
  for (const Fault& fault : options_.faults) {
    if (fault.moment != moment || fault.number != number) continue;
    time_.After(fault.delay, [this, fault] { Perform(fault); });
  }
}

std::vector<std::pair<Agent*, uint64_t>> World::Processes(bool spares) const {
  std::vector<std::pair<Agent*, uint64_t>> found;
  for (const auto& agent : agents_) {
    if (!agent->alive()) continue;
    for (const auto& [incarnation, process] : agent->processes()) {
      // One that hasn't joined is watched by its launcher, which isn't here, unless it is a spare.
      const bool watched = process.spare || Agent::IsAwaited(process);
      const bool is_spare = process.spare && process.state != Agent::State::kMember &&
                            process.state != Agent::State::kReturning;
      if (process.alive && watched && is_spare == spares)
        found.emplace_back(agent.get(), incarnation);
    }
  }
  return found;
}

// Whether a loss now may end the job, whatever spares there are.
void World::LoseBeforeRun() {
  disturbed_ = std::max(disturbed_, time_.now());
  if (!disk_.has_value()) lost_before_view_ = true;
  if (!disk_.has_value() || disk_->view.epoch != Epoch{1}) return;
  for (const message::Member& member : disk_->view.members) {
    if (in_run_.count(member.incarnation.value) == 0) outside_of_run_ = true;
  }
}

Agent* World::AnyAgent(bool frozen_too) {
  std::vector<Agent*> living;
  for (const auto& agent : agents_) {
    const bool is_frozen = times_[static_cast<size_t>(agent->node())]->frozen();
    if (agent->alive() && agent->phase() != Agent::Phase::kOver && (frozen_too || !is_frozen)) {
      living.push_back(agent.get());
    }
  }
  if (living.empty()) return nullptr;
  return living[static_cast<size_t>(time_.Between(0, static_cast<int64_t>(living.size()) - 1))];
}

void World::Perform(const Fault& fault) {
  if (over_.has_value() || IsOver()) return;
  if (fault.kind == FaultKind::kCrash) return Crash();
  if (fault.kind == FaultKind::kKillAgent || fault.kind == FaultKind::kCut ||
      fault.kind == FaultKind::kFreeze) {
    Agent* const agent = AnyAgent(fault.kind != FaultKind::kFreeze);
    if (agent == nullptr) return;
    if (fault.kind == FaultKind::kFreeze) return Freeze(*agent);
    return fault.kind == FaultKind::kCut ? Cut(*agent) : KillAgent(*agent);
  }
  const bool spare =
      fault.kind == FaultKind::kKillSpare || (fault.kind == FaultKind::kStop && time_.OneIn(4));
  const auto choices = Processes(spare);
  if (choices.empty()) return;
  const auto [agent, incarnation] =
      choices[static_cast<size_t>(time_.Between(0, static_cast<int64_t>(choices.size()) - 1))];
  LoseBeforeRun();
  if (fault.kind == FaultKind::kStop) {
    const Clock::duration duration = time_.Up(2'500'000);
    ++tally_->stopped;
    disturbed_ = std::max(disturbed_, time_.now() + duration);
    agent->Stop(incarnation, duration);
  } else {
    ++tally_->killed;
    agent->Kill(incarnation);
  }
}

// What it has sent arrives in part; what is sent to it doesn't arrive.
void World::Crash() {
  if (core_ == nullptr || failing_) return;
  Trace("FAULT the coordinator crashes");
  ++tally_->crashes;
  LoseBeforeRun();
  for (const auto& agent : agents_) {
    forgot_end_ = forgot_end_ || (agent->alive() && agent->phase() == Agent::Phase::kOver);
  }
  core_.reset();
  for (const auto& [id, connection] : connections_) {
    if (connection.boot == boot_) CloseAtAgent(id, time_.now() + time_.Up(10'000));
  }
  time_.After(time_.Up(time_.OneIn(2) ? 20'000 : 500'000), [this] {
    Trace("another coordinator comes");
    BootCoordinator();
  });
}

void World::KillAgent(Agent& agent) {
  Trace(absl::StrCat("FAULT the agent of node ", agent.node(), " is killed"));
  ++tally_->agents_killed;
  LoseBeforeRun();
  agents_lost_ = true;
  const uint64_t id = agent.connection();
  agent.Die();
  if (id != 0) CloseAtCoordinator(id, time_.now() + time_.Up(10'000));
}

// All of its processes stop, and go on later as if nothing had been.
void World::Freeze(const Agent& agent) {
  const Clock::duration duration = time_.Up(time_.OneIn(2) ? 1'500'000 : 10'000'000);
  Trace(absl::StrCat("FAULT node ", agent.node(), " is frozen for ", duration / Microseconds(1),
                     " us"));
  ++tally_->frozen;
  disturbed_ = std::max(disturbed_, time_.now() + duration);
  times_[static_cast<size_t>(agent.node())]->Freeze(duration);
}

// A connection breaks between two that live: the coordinator gives the node up.
void World::Cut(Agent& agent) {
  const uint64_t id = agent.connection();
  if (core_ == nullptr || id == 0 || connections_.at(id).boot != boot_) return;
  Trace(absl::StrCat("FAULT the connection of node ", agent.node(), " breaks"));
  ++tally_->cuts;
  LoseBeforeRun();
  agents_lost_ = true;
  cut_[static_cast<size_t>(agent.node())] = true;
  CloseAtCoordinator(id, time_.now() + time_.Up(10'000));
  CloseAtAgent(id, time_.now() + time_.Up(10'000));
}

}  // namespace phalanx::control::simulation
