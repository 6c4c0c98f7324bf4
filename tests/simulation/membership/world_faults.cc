// What goes wrong in a World, and what must work once nothing does any more.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "world_parts.h"

namespace phalanx::membership::simulation {

void World::Fault() {
  if (quiet_) return;
  const int nodes = static_cast<int>(nodes_.size());
  const int processes = nodes + options_.proposers;
  const int64_t choice = Random(0, 99);
  if (choice < 25) {
    CrashNode(static_cast<int>(Random(0, nodes - 1)), false);
  } else if (choice < 35) {
    CrashNode(static_cast<int>(Random(0, nodes - 1)), options_.wipes);
  } else if (choice < 50) {
    CrashClient(static_cast<int>(Random(0, options_.proposers - 1)));
  } else if (choice < 75) {
    Freeze(static_cast<int>(Random(0, processes - 1)));
  } else {
    Cut();
  }
}

void World::CrashNode(int node, bool wipe) {
  Node& host = *nodes_[static_cast<size_t>(node)];
  if (host.voter == nullptr) return;
  ++tally_->crashes;
  // Of what was being written some may be on the disk, unacknowledged.
  while (!host.writing.empty() && Chance(0.5)) {
    Written(node, host.writing.front());
    host.writing.pop_front();
  }
  tally_->unwritten += host.writing.size();
  host.writing.clear();
  host.voter.reset();
  host.held.clear();
  host.frozen = false;
  if (wipe) {
    ++tally_->wipes;
    const VoterId id = host.disk->id;
    host.disk.reset();
    if (options_.broken == Broken::kEmptyVoterVotes) host.disk = VoterState{id, {}, {}, nullptr};
  }
  Trace([&] { return absl::StrCat("node ", node, wipe ? " dies and its log is lost" : " dies"); });
  At(Random(kMs, 300 * kMs), [=, this] {
    if (nodes_[static_cast<size_t>(node)]->voter == nullptr) Boot(node);
  });
}

void World::CrashClient(int client) {
  Client& host = *clients_[static_cast<size_t>(client)];
  Trace([&] { return absl::StrCat("proposer ", host.id.value, " dies"); });
  host.held.clear();
  host.frozen = false;
  host.call.reset();
  StartLife(client, Chance(0.5) ? genesis_ : history_->newest_told());
  NextCall(client);
}

void World::Freeze(int process) {
  const int nodes = static_cast<int>(nodes_.size());
  Process& host = process < nodes
                      ? static_cast<Process&>(*nodes_[static_cast<size_t>(process)])
                      : static_cast<Process&>(*clients_[static_cast<size_t>(process - nodes)]);
  if (host.frozen) return;
  ++tally_->freezes;
  host.frozen = true;
  Trace([&] { return absl::StrCat("process ", process, " freezes"); });
  At(Random(kMs, 600 * kMs), [=, this] { Thaw(process); });
}

void World::Thaw(int process) {
  const int nodes = static_cast<int>(nodes_.size());
  Process& host = process < nodes
                      ? static_cast<Process&>(*nodes_[static_cast<size_t>(process)])
                      : static_cast<Process&>(*clients_[static_cast<size_t>(process - nodes)]);
  if (!host.frozen) return;
  host.frozen = false;
  if (process >= nodes) clients_[static_cast<size_t>(process - nodes)]->thawed_ns = now_ns_;
  Trace([&] { return absl::StrCat("process ", process, " goes on"); });
  for (const auto& what : std::exchange(host.held, {})) what();
}

// A partition, or one direction of all links of one process, or of one link.
void World::Cut() {
  ++tally_->cuts;
  const int processes = static_cast<int>(nodes_.size()) + options_.proposers;
  std::set<std::pair<int, int>> cut;
  const int64_t choice = Random(0, 2);
  const uint64_t side = random_();
  const int from = static_cast<int>(Random(0, processes - 1));
  const int to = static_cast<int>(Random(0, processes - 1));
  for (int a = 0; a < processes; ++a) {
    for (int b = 0; b < processes; ++b) {
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
  At(Random(10 * kMs, 600 * kMs), [=, this] {
    for (const auto& link : cut) cut_.erase(link);
    Trace([&] { return std::string("a cut heals"); });
  });
}

void World::Quiet() {
  Trace([] { return std::string("--- all faults are over"); });
  quiet_ = true;
  cut_.clear();
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    if (nodes_[static_cast<size_t>(node)]->voter == nullptr) Boot(node);
  }
  const int processes = static_cast<int>(nodes_.size()) + options_.proposers;
  for (int process = 0; process < processes; ++process) Thaw(process);
}

// Whether each voter set that may count has a quorum of logs that aren't lost.
bool World::CanGoOn() const {
  std::set<VoterId> live;
  for (const auto& node : nodes_) live.insert(node->disk->id);
  std::vector<RecordPtr> records = {history_->newest_told(), history_->newest_committed()};
  for (const auto& node : nodes_) {
    if (node->disk->record != nullptr) records.push_back(node->disk->record);
  }
  for (const auto& client : clients_) records.push_back(client->proposer->known());
  return std::all_of(records.begin(), records.end(),
                     [&](const RecordPtr& record) { return record->voters.IsQuorum(live); });
}

void World::CheckGoesOn() {
  RunUntil([] { return false; });  // what is still on its way arrives
  if (!CanGoOn()) return;
  ++tally_->alive;
  bool leftover = false;
  for (int client = 0; client < options_.proposers; ++client) {
    while (violation_.empty() && !GoesOn(client, &leftover)) {
    }
  }
}

// Reads, then changes. False: a change that somebody left half done came first. That can happen
// once: with whatever is committed now, all older ballots are out of the race.
bool World::GoesOn(int client, bool* leftover) {
  Client& host = *clients_[static_cast<size_t>(client)];
  FeedProposer(client, Heard{history_->newest_told()});
  for (const bool reads : {true, false}) {
    const uint64_t version = host.proposer->known()->version;
    const Request request = reads ? Request(Read{}) : CompareAndSet{version, "the last"};
    Call(client, request, now_ns_ + 20'000 * kMs);
    RunUntil([&] { return !host.call.has_value(); });
    if (!violation_.empty()) return true;
    if (host.last->kind == Outcome::Kind::kCommitted) continue;
    if (!reads && host.last->kind == Outcome::Kind::kConflict && !std::exchange(*leftover, true)) {
      return false;
    }
    Violate("a majority is there and quiet, and a request doesn't commit");
  }
  return true;
}

Options RandomOptions(uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x7265676973746572);
  const auto one_of = [&](auto... values) {
    const double all[] = {static_cast<double>(values)...};
    return all[random() % std::size(all)];
  };
  Options options;
  options.seed = seed;
  options.voters = static_cast<int>(one_of(1, 3, 3, 3, 5, 5));
  options.spares = static_cast<int>(one_of(0, 1, 2));
  options.proposers = static_cast<int>(one_of(1, 2, 2, 3, 4));
  options.requests = static_cast<int>(one_of(4, 10, 25));
  options.lost = one_of(0, 0.01, 0.1, 0.3);
  options.repeated = one_of(0, 0.05, 0.3);
  options.late = one_of(0, 0.02, 0.2);
  options.faults = static_cast<int>(one_of(0, 2, 5, 10, 20));
  options.wipes = one_of(0, 1) != 0;
  options.dies_writing = one_of(0, 0, 0.01, 0.05);
  return options;
}

std::string Describe(const Options& options) {
  return absl::StrCat(options.voters, " voters, ", options.spares, " spares, ", options.proposers,
                      " proposers with ", options.requests, " requests each; of messages ",
                      options.lost, " lost, ", options.repeated, " repeated, ", options.late,
                      " late; ", options.faults, " faults", options.wipes ? " and lost logs" : "",
                      ", of writes ", options.dies_writing, " deadly");
}

std::string Describe(const Tally& tally) {
  return absl::StrCat(tally.runs, " runs: ", tally.reads, " reads, ", tally.changes, " changes, ",
                      tally.replaced, " voter sets replaced, ", tally.conflicts, " conflicts, ",
                      tally.unknown, " unknown; ", tally.crashes, " voters crashed, ",
                      tally.unwritten, " states unwritten, ", tally.wipes, " logs lost, ",
                      tally.strangers, " answers for them, ", tally.freezes, " freezes, ",
                      tally.cuts, " cuts; ", tally.alive, " went on");
}

std::string JudgeSeed(uint64_t seed, Tally* tally) {
  const std::string wrong = World(RandomOptions(seed)).Run(tally);
  if (wrong.empty()) return "";
  return absl::StrCat("seed ", seed, ": ", wrong, " (replay: ./dev sim --register ", seed, ")");
}

}  // namespace phalanx::membership::simulation
