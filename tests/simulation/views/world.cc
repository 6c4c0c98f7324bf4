#include "world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::control::simulation {
namespace {

constexpr Clock::duration kJoinTimeout = std::chrono::seconds(20);
constexpr Clock::duration kTick = std::chrono::milliseconds(100);
constexpr Clock::duration kRetry = std::chrono::milliseconds(50);

}  // namespace

World::World(Options options) : options_(std::move(options)), time_(options_.seed, options_.trace) {
  for (AgentPlan plan : options_.nodes) {
    plan.evicts_early = options_.broken == Broken::kEvictedNotAwaited;
    times_.push_back(std::make_unique<NodeTime>(&time_));
    agents_.push_back(
        std::make_unique<Agent>(times_.back().get(), static_cast<Wires*>(this), std::move(plan)));
  }
  welcomed_.assign(agents_.size(), false);
  cut_.assign(agents_.size(), false);
}

std::string World::Run(Tally* tally) {
  tally_ = tally;
  ++tally->runs;
  BootCoordinator();
  for (const auto& agent : agents_) agent->Start();
  for (const Fault& fault : options_.faults) {
    if (fault.moment == Moment::kTime) time_.After(fault.delay, [this, fault] { Perform(fault); });
  }
  while (violation_.empty() && !IsOver() && time_.Step()) {
    if (time_.now() < disturbed_ + Patience()) continue;
    Violate("the job hasn't ended long after the last fault");
  }
  if (violation_.empty() && over_.has_value() && over_->ok()) ++tally->ended_well;
  return violation_;
}

// Everybody has heard of it, or nobody is there.
bool World::IsOver() const {
  const auto is_done = [](const auto& agent) {
    return !agent->alive() || agent->phase() == Agent::Phase::kOver;
  };
  const bool all_done = std::all_of(agents_.begin(), agents_.end(), is_done);
  const bool none = std::none_of(agents_.begin(), agents_.end(),
                                 [](const auto& agent) { return agent->alive(); });
  return all_done && (over_.has_value() || none);
}

// No wait for the time-out of joining is among what a job with a view may need.
Clock::duration World::Patience() const {
  Clock::duration patience = std::chrono::seconds(8);
  if (agents_lost_ || forgot_end_) patience += std::chrono::seconds(11);
  if (lost_before_view_) patience += kJoinTimeout;
  return patience;
}

void World::Violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = what;
  Trace("VIOLATION " + what);
}

// --- connections

void World::Connect(int node) {
  times_[static_cast<size_t>(node)]->After(time_.Up(2'000), [this, node] {
    Agent& agent = *agents_[static_cast<size_t>(node)];
    if (!agent.alive()) return;
    if (over_.has_value()) return agent.NoSuccessor();
    if (core_ == nullptr) {
      times_[static_cast<size_t>(node)]->After(kRetry, [this, node] { Connect(node); });
      return;
    }
    const uint64_t id = ++last_connection_;
    connections_[id] = {.node = node, .boot = boot_};
    agent.Opened(id);
  });
}

void World::SendToCoordinator(uint64_t id, const Message& message) {
  Connection& connection = connections_.at(id);
  connection.to_coordinator =
      std::max(connection.to_coordinator, time_.now() + time_.Up(time_.OneIn(20) ? 20'000 : 500));
  time_.At(connection.to_coordinator, [this, id, message] {
    const Connection& arrived = connections_.at(id);
    if (core_ == nullptr || arrived.boot != boot_ || !arrived.at_coordinator) return;
    const bool is_heartbeat = std::holds_alternative<message::Heartbeat>(message);
    if (is_heartbeat && options_.broken == Broken::kDeafToNode0 && arrived.node == 0) return;
    if (time_.traces() && !is_heartbeat) {
      time_.Say(absl::StrCat("node ", arrived.node, " says ", NameOf(message)));
    }
    if (const auto* recoverable = std::get_if<message::Recoverable>(&message)) {
      in_run_.insert(recoverable->incarnation.value);
    }
    Feed(AgentSaid{AgentId{id}, message});
  });
}

void World::Deliver(uint64_t id, const Message& message) {
  Connection& connection = connections_.at(id);
  connection.to_agent =
      std::max(connection.to_agent, time_.now() + time_.Up(time_.OneIn(20) ? 20'000 : 500));
  times_[static_cast<size_t>(connection.node)]->At(connection.to_agent, [this, id, message] {
    const Connection& arrived = connections_.at(id);
    Agent& agent = *agents_[static_cast<size_t>(arrived.node)];
    if (!agent.alive() || !arrived.at_agent) return;
    if (time_.traces()) {
      time_.Say(absl::StrCat("node ", arrived.node, " hears ", NameOf(message)));
    }
    agent.Receive(message);
  });
}

void World::CloseAtAgent(uint64_t id, Clock::time_point when) {
  times_[static_cast<size_t>(connections_.at(id).node)]->At(when, [this, id] {
    Connection& connection = connections_.at(id);
    Agent& agent = *agents_[static_cast<size_t>(connection.node)];
    if (!std::exchange(connection.at_agent, false) || !agent.alive()) return;
    agent.Closed();
  });
}

void World::CloseAtCoordinator(uint64_t id, Clock::time_point when) {
  time_.At(when, [this, id] {
    Connection& connection = connections_.at(id);
    if (!std::exchange(connection.at_coordinator, false)) return;
    if (core_ == nullptr || connection.boot != boot_) return;
    Trace(absl::StrCat("the agent of node ", connection.node, " is lost"));
    Feed(AgentLost{AgentId{id}, "it is gone"});
  });
}

// It answers as soon as it can, but the asker hears of it only in the end.
void World::Probe(int asker, int suspect, Clock::duration wait,
                  std::function<void(bool answered)> heard) {
  const Clock::time_point asked = time_.now();
  times_[static_cast<size_t>(asker)]->After(
      wait + time_.Up(1'000), [this, asked, suspect, heard = std::move(heard)] {
        const auto index = static_cast<size_t>(suspect);
        const bool was_there = asked >= times_[index]->thaws_at() || !times_[index]->frozen();
        const bool is_heard = options_.broken != Broken::kDeafToNode0 || suspect != 0;
        heard(agents_[index]->alive() && was_there && is_heard);
      });
}

// --- the coordinator

void World::BootCoordinator() {
  ++boot_;
  booted_ = time_.now();
  CoordinatorSettings settings;
  settings.job = "job";
  settings.job_token = 42;
  settings.join_timeout = kJoinTimeout;
  settings.record = options_.broken == Broken::kForgetsRecord ? disk_before_ : disk_;
  core_ = std::make_unique<CoordinatorCore>(std::move(settings), time_.now());
  TickCoordinator(boot_);
}

void World::TickCoordinator(uint64_t boot) {
  if (core_ == nullptr || boot != boot_ || over_.has_value()) return;
  Feed(Tick{});
  time_.After(kTick, [this, boot] { TickCoordinator(boot); });
}

void World::Feed(const CoordinatorInput& input) {
  if (over_.has_value()) return;
  const std::vector<CoordinatorOutput> outputs = core_->Step(input, time_.now());
  for (const CoordinatorOutput& output : outputs) {
    if (const auto* send = std::get_if<SendToAgent>(&output)) {
      if (std::holds_alternative<message::Heartbeat>(send->message)) continue;
      if (std::holds_alternative<message::Checkpoint>(send->message)) continue;
      if (std::holds_alternative<message::AgentWelcome>(send->message)) {
        Connection& connection = connections_.at(send->agent.value);
        connection.admitted = true;
        welcomed_[static_cast<size_t>(connection.node)] = true;
      }
      CheckSaid(send->message);
      Deliver(send->agent.value, send->message);
    } else if (const auto* close = std::get_if<CloseAgent>(&output)) {
      CloseAtAgent(close->agent.value, connections_.at(close->agent.value).to_agent);
      CloseAtCoordinator(close->agent.value, time_.now() + time_.Up(1'000));
    } else if (const auto* line = std::get_if<LogLine>(&output)) {
      Trace("log: " + line->line);
      if (line->line.find("takes the place") != std::string::npos) ++tally_->promoted;
    } else if (const auto* write = std::get_if<WriteRecord>(&output)) {
      Write(write->record);
    } else if (const auto* evicted = std::get_if<NodeEvicted>(&output)) {
      CheckEvicted(evicted->node);
    } else if (const auto* over = std::get_if<JobOver>(&output)) {
      CheckOver(over->status);
      over_ = over->status;
      // Its process ends; somebody may just have come.
      for (const auto& [id, connection] : connections_) {
        if (connection.boot == boot_) CloseAtAgent(id, std::max(connection.to_agent, time_.now()));
      }
    }
  }
}

// It is on the disk after a while, and what depends on it is done a while later.
void World::Write(const JobRecord& record) {
  const bool is_view = !disk_.has_value() || disk_->view.epoch != record.view.epoch;
  if (time_.traces()) {
    time_.Say(absl::StrCat("writes epoch ", record.view.epoch.value,
                           record.finished ? ", finished" : ""));
  }
  const uint64_t boot = boot_;
  const Clock::time_point written = time_.now() + time_.Up(3'000);
  const Clock::time_point known = written + time_.Up(3'000);
  const bool early = options_.broken == Broken::kAnnouncesEarly;
  time_.At(written, [this, boot, record] {
    if (core_ == nullptr || boot != boot_) {
      ++tally_->unwritten;
      return;
    }
    disk_before_ = std::exchange(disk_, record);
  });
  time_.At(early ? time_.now() : known, [this, boot] {
    if (core_ != nullptr && boot == boot_) Feed(RecordWritten{});
  });
  if (is_view) Occur(Moment::kProposed);
}

}  // namespace phalanx::control::simulation
