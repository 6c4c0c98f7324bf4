#include "commit_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace phalanx::checkpoint::simulation {
namespace {

constexpr int kStormySteps = 3'000;
constexpr int kCalmSteps = 40'000;

}  // namespace

Digest TruthOf(int rank, int64_t version) {
  const auto number = static_cast<uint64_t>(version + 2) * 1000 + static_cast<uint64_t>(rank);
  return {number, number * 0x9e3779b97f4a7c15U};
}

CommitWorld::CommitWorld(uint64_t seed, Trace trace) : chance_(seed), trace_(std::move(trace)) {
  settings_.in_flight = chance_.OneIn(3) ? 2 : 1;
  settings_.kept = chance_.OneIn(4) ? 2 : 1;
  if (chance_.OneIn(3)) settings_.when_full = CommitSettings::WhenFull::kWait;
  replicas_ = static_cast<int>(chance_.Between(1, 3));
  const int64_t agents = chance_.Between(1, 6);
  for (int64_t i = 0; i < agents; ++i) AddAgent();
  const int64_t ranks = chance_.Between(1, 6);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    ranks_.push_back({chance_.Between(0, agents - 1), false, 0, kInitialVersion, {}, {}});
  }
}

std::string CommitWorld::Run(CommitTally* tally) {
  if (!BeginView()) return "there is no first view";
  for (int i = 0; i < kStormySteps && wrong_.empty() && !over_; ++i) Act(true);
  if (view_due_ && !over_) BeginView();
  const VersionName before = Newest(record_);
  for (int i = 0; i < kCalmSteps && wrong_.empty() && !over_ && Newest(record_) == before; ++i) {
    Act(false);
  }
  if (!over_ && wrong_.empty() && Newest(record_) == before) {
    Violate("nothing is committed though nothing fails any more");
  }
  for (auto field :
       {&CommitTally::commits, &CommitTally::abandoned, &CommitTally::skips, &CommitTally::views,
        &CommitTally::coordinators, &CommitTally::adopted, &CommitTally::restores,
        &CommitTally::initial, &CommitTally::corrupt, &CommitTally::repaired, &CommitTally::lost,
        &CommitTally::older, &CommitTally::ended, &CommitTally::unknown}) {
    tally->*field += tally_.*field;
  }
  return wrong_;
}

void CommitWorld::AddAgent() {
  const AgentId id = next_agent_++;
  const int64_t machine = chance_.OneIn(3) ? id / 2 : 100 + id;  // some share one
  const AgentPlace place{id, machine, machine % 3};
  const auto rooms = static_cast<size_t>(settings_.in_flight + settings_.kept);
  agents_[id] = std::make_shared<Agent>(place, rooms);
}

std::shared_ptr<CommitWorld::Agent> CommitWorld::Find(AgentId id) const {
  const auto found = agents_.find(id);
  return found == agents_.end() || !found->second->alive ? nullptr : found->second;
}

void CommitWorld::Act(bool faults) {
  if (bag_.full() && !chance_.OneIn(8)) {
    bag_.DeliverOne(chance_, faults);
    return;
  }
  const int64_t dice = chance_.Between(0, 99);
  if (view_due_ && dice < 6) {
    BeginView();
  } else if (faults && dice < 9) {
    if (chance_.OneIn(14)) Fault();
  } else if (dice < 14) {
    FeedCommit(CommitAgain{});
  } else if (dice < 22) {
    auto agent = agents_.begin();
    std::advance(agent, chance_.Between(0, static_cast<int64_t>(agents_.size()) - 1));
    if (agent->second->alive) Resend(agent->second.get());
  } else if (dice < 23 && !zombies_.empty()) {
    Resend(chance_.Of(zombies_).get());
  } else if (dice < 40) {
    RunRank(static_cast<size_t>(chance_.Between(0, static_cast<int64_t>(ranks_.size()) - 1)));
  } else if (!bag_.empty()) {
    bag_.DeliverOne(chance_, faults);
  }
}

void CommitWorld::Fault() {
  switch (chance_.Between(0, 7)) {
    case 0:
      KillAgent();
      break;
    case 1:  // two at once
      KillAgent();
      KillAgent();
      break;
    case 2:
    case 3:
    case 4:
      Say("the coordinator dies");
      ++tally_.coordinators;
      BeginCoordinator();
      break;
    case 5:
    case 6:
      CorruptCopy();
      break;
    default:
      ++revision_;  // something else of the record
  }
}

void CommitWorld::KillAgent() {
  auto chosen = agents_.begin();
  std::advance(chosen, chance_.Between(0, static_cast<int64_t>(agents_.size()) - 1));
  Agent& agent = *chosen->second;
  if (!agent.alive) return;
  Say(absl::StrCat("agent ", agent.place.agent, " is lost"));
  for (const auto& [key, bytes] : agent.store) {
    if (IsWholeAt(agent, key)) ++losses_[key];
  }
  view_due_ = true;
  agent.alive = false;
  for (Rank& rank : ranks_) {
    if (rank.agent == agent.place.agent) rank.running = false;
  }
  if (!chance_.OneIn(2)) return;
  zombies_.push_back(std::make_shared<Agent>(agent));  // frozen or cut off, and comes back
  zombies_.back()->alive = true;
}

void CommitWorld::CorruptCopy() {
  std::vector<std::pair<Agent*, ShardKey>> copies;
  for (const auto& [id, agent] : agents_) {
    for (const auto& [key, bytes] : agent->store) {
      if (agent->alive && IsWholeAt(*agent, key)) copies.emplace_back(agent.get(), key);
    }
  }
  if (copies.empty()) return;
  auto& [agent, key] = chance_.Of(copies);
  Say(absl::StrCat("rank ", key.second, "'s shard of ", Describe(key.first), " at agent ",
                   agent->place.agent, " is corrupted"));
  agent->store[key].low ^= 1;
  corrupted_.insert({agent->place.agent, key});
  ++losses_[key];
}

// False if nobody is left.
bool CommitWorld::BeginView() {
  view_due_ = false;
  ++tally_.views;
  for (auto agent = agents_.begin(); agent != agents_.end();) {
    agent = agent->second->alive ? std::next(agent) : agents_.erase(agent);
  }
  if (record_.term.epoch > 0 && chance_.OneIn(3)) AddAgent();
  if (agents_.empty()) {
    ++tally_.ended;
    over_ = true;
    return false;
  }
  ClusterView view;
  std::vector<AgentId> live;
  for (const auto& [id, agent] : agents_) {
    view.agents.push_back(agent->place);
    live.push_back(id);
  }
  for (Rank& rank : ranks_) {
    rank.running = false;
    if (agents_.count(rank.agent) == 0) rank.agent = chance_.Of(live);
    view.owners.push_back(rank.agent);
  }
  placement_ = Place(view, replicas_);
  ++record_.term.epoch;
  restored_ = false;
  Say(absl::StrCat("epoch ", record_.term.epoch, ": ", live.size(), " agents, ", ranks_.size(),
                   " ranks, ", placement_.effective, " of ", replicas_, " holders"));
  BeginCoordinator();
  return true;
}

void CommitWorld::BeginCoordinator() {
  ++record_.term.claim;
  known_revision_ = ++revision_;
  restore_.reset();
  inventories_.clear();
  std::vector<AgentId> live;
  for (const auto& [id, agent] : agents_) live.push_back(id);
  commit_ = std::make_unique<Commit>(settings_, record_, placement_, live);
  FeedCommit(CommitBegins{});
}

// A rank goes from one checkpoint to the next; none is more than one ahead of another.
void CommitWorld::RunRank(size_t number) {
  Rank& rank = ranks_[number];
  const std::shared_ptr<Agent> agent = Find(rank.agent);
  if (!rank.running || agent == nullptr) return;
  for (const Rank& other : ranks_) {
    if (other.at < rank.at) return;
  }
  const VersionName name{rank.at, record_.term.epoch};
  switch (agent->core.VerdictOn(name)) {
    case Holder::Verdict::kUndecided:
      bag_.Add(false, [this, wants = Wants{static_cast<int>(number), name}] { FeedCommit(wants); });
      return;
    case Holder::Verdict::kTake:
      Save(number, name);
      break;
    case Holder::Verdict::kSkip:
      skipped_.insert(name);
      ++tally_.skips;
      break;
  }
  ++rank.at;
}

void CommitWorld::Save(size_t number, const VersionName& name) {
  const std::shared_ptr<Agent> agent = Find(ranks_[number].agent);
  const int rank = static_cast<int>(number);
  first_claim_.try_emplace(name, record_.term.claim);
  Feed(agent.get(), ShardBegins{name, rank, 1, {}});
  agent->store[{name, rank}] = TruthOf(rank, name.version);
  Feed(agent.get(), ChunkArrived{name, rank, 0, true});
}

// What an agent does from time to time: repeats what it has said, and sends its ranks' shards to
// their other holders.
void CommitWorld::Resend(Agent* agent) {
  Feed(agent, HolderAgain{});
  const std::map<ShardKey, Digest> store = agent->store;
  for (const auto& [key, bytes] : store) {
    const auto& [name, rank] = key;
    if (placement_.holders[static_cast<size_t>(rank)].front() != agent->place.agent) continue;
    if (!agent->core.Has(name, rank)) continue;
    for (const AgentId holder : placement_.holders[static_cast<size_t>(rank)]) {
      const std::shared_ptr<Agent> to = Find(holder);
      if (to == nullptr || to.get() == agent || to->core.Has(name, rank)) continue;
      if (bytes != TruthOf(rank, name.version)) {
        DropCorrupt(agent, key);
        break;
      }
      Send(to, {name, rank, TruthOf(rank, name.version)}, bytes);
    }
  }
}

// `shard.digest` is what the receiver expects, `bytes` what it gets.
void CommitWorld::Send(const std::shared_ptr<Agent>& to, const ShardItem& shard,
                       const Digest& bytes) {
  const bool damaged = chance_.OneIn(20);
  bag_.Add(false, [this, to, shard, bytes, damaged] {
    if (!to->alive || to->core.Has(shard.name, shard.rank)) return;
    Digest arrived = bytes;
    if (damaged) arrived.high ^= 1;  // the chunks' checksums miss it
    Feed(to.get(), ShardBegins{shard.name, shard.rank, 2, shard.digest});
    to->store[{shard.name, shard.rank}] = arrived;
    Feed(to.get(), ChunkArrived{shard.name, shard.rank, 1, true});
    Feed(to.get(), ChunkArrived{shard.name, shard.rank, 0, !chance_.OneIn(10)});
  });
}

}  // namespace phalanx::checkpoint::simulation
