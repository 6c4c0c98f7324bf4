// What goes wrong in a World, and what must be so once nothing does any more.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "world_parts.h"

namespace phalanx::membership::simulation {

void World::Fault() {
  if (quiet_) return;
  const int node = static_cast<int>(Random(0, options_.nodes - 1));
  const int64_t choice = Random(0, 99);
  if (choice < 15) {
    CrashNode(node, true);
  } else if (choice < 25) {
    CrashNode(node, false);
  } else if (choice < 50) {
    // Whoever has one.
    for (int i = 0; i < options_.nodes; ++i) {
      const int of = (node + i) % options_.nodes;
      if (At(of).leader == nullptr) continue;
      ++tally_->coordinator_crashes;
      return EndLeader(of, At(of).leader->life, "dies");
    }
  } else if (choice < 75) {
    const int64_t which = Random(0, 2);
    Freeze(node, which != 0, which != 1);
  } else {
    Cut();
  }
}

// The whole machine, of which nobody hears; or the agent with what it has started.
void World::CrashNode(int node, bool whole) {
  Node& host = At(node);
  if (host.voter == nullptr) return;
  ++tally_->crashes;
  Trace([&] { return absl::StrCat("node ", node, whole ? " crashes" : "'s agent dies"); });
  host.machine_up = !whole;
  if (whole) {
    host.leader = nullptr;
  } else if (host.leader != nullptr) {
    EndLeader(node, host.leader->life, "dies with its agent");
  }
  host.voter.reset();
  host.succession.reset();
  host.held.clear();
  host.frozen = false;
  At(Random(kMs, 4'000 * kMs), [=, this] { Boot(node); });
}

void World::Freeze(int node, bool agent, bool leader) {
  const std::shared_ptr<Node>& host = nodes_[static_cast<size_t>(node)];
  std::vector<std::shared_ptr<Process>> processes;
  if (agent && host->voter != nullptr) processes.push_back(host);
  if (leader && host->leader != nullptr) processes.push_back(host->leader);
  const int64_t for_ns = Random(kMs, 6'000 * kMs);
  for (const std::shared_ptr<Process>& process : processes) {
    if (process->frozen) continue;
    ++tally_->freezes;
    process->frozen = true;
    const uint64_t freeze = ++process->freezes;
    Trace([&] {
      return absl::StrCat(process == host ? "the agent" : "the coordinator", " of node ", node,
                          " freezes for ", for_ns / kMs, " ms");
    });
    At(for_ns, [=, this] {
      if (process->freezes == freeze) Thaw(process);
    });
  }
}

void World::Thaw(const std::shared_ptr<Process>& process) {
  if (!process->frozen) return;
  process->frozen = false;
  for (const auto& what : std::exchange(process->held, {})) what();
}

// A partition, all links of one node in one direction, or one link in one direction.
void World::Cut() {
  ++tally_->cuts;
  const int64_t choice = Random(0, 2);
  const uint64_t side = random_();
  const int from = static_cast<int>(Random(0, options_.nodes - 1));
  const int to = static_cast<int>(Random(0, options_.nodes - 1));
  std::set<std::pair<int, int>> cut;
  for (int a = 0; a < options_.nodes; ++a) {
    for (int b = 0; b < options_.nodes; ++b) {
      const bool apart = ((side >> a) & 1) != ((side >> b) & 1);
      const bool is_cut = choice == 0 ? apart : choice == 1 ? a == from : a == from && b == to;
      if (is_cut) cut.insert({a, b});
    }
  }
  Trace([&] {
    std::string text = "cut:";
    for (const auto& [a, b] : cut) absl::StrAppend(&text, " ", a, ">", b);
    return text;
  });
  cut_.insert(cut.begin(), cut.end());
  At(Random(10 * kMs, 6'000 * kMs), [=, this] {
    if (quiet_) return;
    for (const auto& link : cut) cut_.erase(cut_.find(link));
    Trace([] { return std::string("a cut heals"); });
  });
}

// As many of the voters' nodes as can be missed, and one other.
std::set<int> World::ChooseTheMissed() {
  std::set<int> missed;
  if (options_.end == Options::End::kAllAreWell) return missed;
  const int most = (options_.voters - 1) / 2;
  while (static_cast<int>(missed.size()) < most) {
    missed.insert(static_cast<int>(Random(0, options_.voters - 1)));
  }
  if (options_.nodes > options_.voters) missed.insert(options_.nodes - 1);
  return missed;
}

void World::Quiet() {
  Trace([] { return std::string("--- the last fault"); });
  quiet_ = true;
  cut_.clear();
  missed_ = ChooseTheMissed();
  if (options_.end == Options::End::kSomeAreGone) gone_ = missed_;
  for (const int node : gone_) CrashNode(node, true);
  for (int node = 0; node < options_.nodes; ++node) {
    for (int other = 0; other < options_.nodes; ++other) {
      if (missed_.contains(node) != missed_.contains(other)) cut_.insert({node, other});
    }
    Boot(node);
    Thaw(nodes_[static_cast<size_t>(node)]);
    if (const std::shared_ptr<Leader> leader = At(node).leader) Thaw(leader);
  }
}

// A standby's turn comes at the latest after the longest silence and all turns. That twice, since
// what it then finds may be the claim of somebody who didn't live to see it through; and a second
// for each to start, claim and be heard of.
int64_t World::BoundNs() const {
  return 2 * (Ns(timing_.silent_after) + options_.voters * Ns(timing_.turn) + 1'000 * kMs);
}

// All nodes that aren't missed: one coordinator, which is there and leads, and whose word they have
// just heard; and their workers run.
bool World::AllFollowOne() {
  std::set<ProposerId> followed;
  for (int node = 0; node < options_.nodes; ++node) {
    if (missed_.contains(node)) continue;
    const Node& host = At(node);
    const Coordinator& coordinator = host.succession->lead().coordinator;
    const Leader* leader = Find(static_cast<int>(coordinator.node), coordinator.life);
    if (host.succession->paused() || leader == nullptr || !leader->leads ||
        !leader->followers.contains(node) || missed_.contains(leader->node)) {
      return false;
    }
    followed.insert(coordinator.life);
  }
  return followed.size() == 1;
}

void World::CheckTheEnd() {
  const int64_t begin_ns = now_ns_;
  RunUntil(begin_ns + BoundNs(), [this] { return AllFollowOne(); });
  if (!violation_.empty()) return;
  if (!AllFollowOne()) return Violate("a majority is there and quiet, and has no coordinator");
  const auto took_ms = static_cast<uint64_t>((now_ns_ - begin_ns) / kMs);
  tally_->took_ms += took_ms;
  tally_->longest_ms = std::max(tally_->longest_ms, took_ms);
  // And so it stays; the others are paused by now.
  const uint64_t orders = tally_->orders;
  Trace([] { return std::string("--- all follow one"); });
  const int64_t stays_ns = now_ns_ + Ns(timing_.silent_after) + Ns(timing_.lease);
  RunUntil(stays_ns, [] { return false; });
  if (!violation_.empty()) return;
  if (!AllFollowOne()) return Violate("they don't stay with their coordinator");
  if (tally_->orders == orders) return Violate("their coordinator gives no orders");
  for (const int node : missed_) {
    if (At(node).succession != nullptr && !At(node).succession->paused()) {
      return Violate(absl::StrCat("workers of node ", node, " run, which is cut off"));
    }
  }
}

Options RandomOptions(uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x73756363657373);
  const auto one_of = [&](auto... values) {
    const double all[] = {static_cast<double>(values)...};
    return all[random() % std::size(all)];
  };
  Options options;
  options.seed = seed;
  options.voters = static_cast<int>(one_of(1, 3, 3, 3, 5, 5));
  options.nodes = options.voters + static_cast<int>(one_of(0, 1, 2));
  options.lost = one_of(0, 0.01, 0.1, 0.3);
  options.repeated = one_of(0, 0.05, 0.3);
  options.late = one_of(0, 0.02, 0.2);
  options.faults = static_cast<int>(one_of(0, 2, 5, 10, 20));
  options.writes = one_of(0, 1) != 0;
  options.end = static_cast<Options::End>(static_cast<int>(one_of(0, 1, 2)));
  return options;
}

std::string Describe(const Options& options) {
  static const char* const ends[] = {"all are well", "some are gone", "some are cut off"};
  return absl::StrCat(options.nodes, " nodes, ", options.voters, " with voters; of messages ",
                      options.lost, " lost, ", options.repeated, " repeated, ", options.late,
                      " late; ", options.faults, " faults; coordinators write",
                      options.writes ? "" : " nothing", "; in the end ",
                      ends[static_cast<size_t>(options.end)]);
}

std::string Describe(const Tally& tally) {
  return absl::StrCat(
      tally.runs, " runs: ", tally.started, " coordinators started, ", tally.claimed, " claimed, ",
      tally.superseded, " superseded; ", tally.orders, " orders taken, ", tally.refused,
      " refused, ", tally.held, " held back; ", tally.pauses, " pauses; ", tally.crashes,
      " crashes, ", tally.coordinator_crashes, " of coordinators, ", tally.freezes, " freezes, ",
      tally.cuts, " cuts; all follow one after ", tally.took_ms / std::max<uint64_t>(1, tally.runs),
      " ms, at most ", tally.longest_ms);
}

std::string JudgeSeed(uint64_t seed, Tally* tally) {
  const std::string wrong = World(RandomOptions(seed)).Run(tally);
  if (wrong.empty()) return "";
  return absl::StrCat("seed ", seed, ": ", wrong, " (replay: ./dev sim --succession ", seed, ")");
}

}  // namespace phalanx::membership::simulation
