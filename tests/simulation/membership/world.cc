#include "world.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "world_parts.h"

namespace phalanx::membership::simulation {

World::World(const Options& options) : options_(options), random_(options.seed) {
  Record genesis;
  genesis.value = "formed";
  for (int node = 0; node < options_.voters + options_.spares; ++node) {
    nodes_.push_back(std::make_unique<Node>());
    Boot(node);
    if (node < options_.voters) genesis.voters.current.insert(nodes_.back()->disk->id);
  }
  genesis_ = std::make_shared<const Record>(std::move(genesis));
  history_ = std::make_unique<History>(genesis_, options_.broken == Broken::kNothing);
  for (int client = 0; client < options_.proposers; ++client) {
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->left = options_.requests;
    StartLife(client, genesis_);
  }
}

World::~World() = default;

std::string World::Run(Tally* tally) {
  tally_ = tally;
  ++tally_->runs;
  const int64_t noisy_ns = 1'500 * kMs;
  for (int client = 0; client < options_.proposers; ++client) NextCall(client);
  for (int fault = 0; fault < options_.faults; ++fault) {
    At(Random(0, noisy_ns), [this] { Fault(); });
  }
  RunUntil([&] { return now_ns_ >= noisy_ns; });
  if (violation_.empty()) Quiet();
  // All requests end by their deadlines.
  RunUntil([this] {
    return std::none_of(clients_.begin(), clients_.end(),
                        [](const auto& client) { return client->call.has_value(); });
  });
  if (violation_.empty()) CheckGoesOn();
  return violation_;
}

void World::At(int64_t delay_ns, std::function<void()> what) {
  events_.push({now_ns_ + delay_ns, events_made_++, std::move(what)});
}

int64_t World::Random(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

bool World::Chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

void World::RunUntil(const std::function<bool()>& is_over) {
  while (violation_.empty() && !events_.empty() && !is_over()) {
    if (events_made_ > 1'000'000) return Violate("it never comes to rest");
    const Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    event.what();
  }
}

void World::Violate(const std::string& what) {
  Trace([&] { return "WRONG: " + what; });
  if (violation_.empty()) violation_ = what;
}

void World::Trace(const std::function<std::string()>& line) {
  if (!options_.trace) return;
  options_.trace(absl::StrFormat("%10.3f ms  %s", static_cast<double>(now_ns_) / kMs, line()));
}

// --- links

void World::Travel(int from, int to, const std::function<void()>& deliver) {
  if (cut_.contains({from, to}) || (!quiet_ && Chance(options_.lost))) return;
  const int copies = !quiet_ && Chance(options_.repeated) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const bool late = !quiet_ && Chance(options_.late);
    At(Random(kMs / 20, late ? 500 * kMs : 2 * kMs), deliver);
  }
}

void World::SendToVoter(int client, const ToVoter& message) {
  const VoterId to = std::visit([](const auto& body) { return body.to; }, message);
  const auto home = homes_.find(to);
  if (home == homes_.end()) return;
  const int node = home->second;
  Travel(options_.voters + options_.spares + client, node, [=, this] {
    FeedVoter(node, Asked{static_cast<uint64_t>(client), message});
  });
}

void World::SendToProposer(int node, int client, const ToProposer& message) {
  if (std::holds_alternative<NotAVoter>(message)) ++tally_->strangers;
  Travel(node, options_.voters + options_.spares + client,
         [=, this] { FeedProposer(client, FromVoter{message}); });
  if (options_.broken != Broken::kSmallQuorum) return;
  const auto& voters = genesis_->voters.current;
  ToProposer forged = message;
  std::visit(
      [&](auto& body) {
        auto next = voters.upper_bound(body.from);
        body.from = next == voters.end() ? *voters.begin() : *next;
      },
      forged);
  Travel(node, options_.voters + options_.spares + client,
         [=, this] { FeedProposer(client, FromVoter{forged}); });
}

// --- voters

void World::Boot(int node) {
  Node& host = *nodes_[static_cast<size_t>(node)];
  ++host.boot;
  host.disk_free_ns = now_ns_;
  if (!host.disk.has_value()) {
    host.disk = VoterState{VoterId{next_voter_++}, {}, {}, nullptr};
    homes_[host.disk->id] = node;
  }
  host.voter = std::make_unique<Voter>(*host.disk);
  Trace([&] { return absl::StrCat("node ", node, " starts as voter ", host.disk->id.value); });
}

void World::FeedVoter(int node, const VoterInput& input) {
  Node& host = *nodes_[static_cast<size_t>(node)];
  if (host.voter == nullptr) return;
  if (host.frozen) {
    host.held.push_back([=, this] { FeedVoter(node, input); });
    return;
  }
  if (const auto* asked = std::get_if<Asked>(&input)) {
    Trace([&] {
      return absl::StrCat("node ", node, " gets: ", membership::Describe(asked->message));
    });
  }
  for (const VoterOutput& output : host.voter->Step(input)) {
    if (const auto* persist = std::get_if<Persist>(&output)) {
      Write(node, *persist);
    } else {
      const auto& answer = std::get<Answer>(output);
      SendToProposer(node, static_cast<int>(answer.link), answer.message);
    }
  }
}

void World::Write(int node, const Persist& persist) {
  Node& host = *nodes_[static_cast<size_t>(node)];
  host.writing.push_back(persist);
  host.disk_free_ns = std::max(host.disk_free_ns, now_ns_) + Random(kMs / 10, 3 * kMs);
  const uint64_t boot = host.boot;
  if (!quiet_ && Chance(options_.dies_writing)) {
    At(Random(0, host.disk_free_ns - now_ns_), [=, this] {
      if (!quiet_ && nodes_[static_cast<size_t>(node)]->boot == boot) CrashNode(node, false);
    });
  }
  At(host.disk_free_ns - now_ns_, [=, this] {
    Node& later = *nodes_[static_cast<size_t>(node)];
    if (later.boot != boot || later.voter == nullptr) return;
    Written(node, persist);
    later.writing.pop_front();
    if (options_.broken == Broken::kAnswerBeforeDisk) return;
    if (later.frozen) {
      later.held.push_back([=, this] {
        if (nodes_[static_cast<size_t>(node)]->boot == boot) {
          FeedVoter(node, Persisted{persist.number});
        }
      });
    } else {
      FeedVoter(node, Persisted{persist.number});
    }
  });
  if (options_.broken == Broken::kAnswerBeforeDisk) FeedVoter(node, Persisted{persist.number});
}

void World::Written(int node, const Persist& persist) {
  nodes_[static_cast<size_t>(node)]->disk = persist.state;
  const std::string wrong = history_->OnDisk(persist.state);
  if (!wrong.empty()) Violate(wrong);
}

// --- proposers

void World::StartLife(int client, RecordPtr known) {
  Client& host = *clients_[static_cast<size_t>(client)];
  host.id = ProposerId{next_proposer_++};
  host.changes = 0;
  host.wake_ns = -1;
  ProposerSettings settings;
  settings.id = host.id;
  settings.known = std::move(known);
  settings.seed = random_();
  host.proposer = std::make_unique<Proposer>(std::move(settings));
}

void World::FeedProposer(int client, const ProposerInput& input) {
  Client& host = *clients_[static_cast<size_t>(client)];
  if (host.frozen) {
    host.held.push_back([=, this] { FeedProposer(client, input); });
    return;
  }
  if (const auto* from = std::get_if<FromVoter>(&input)) {
    Trace([&] {
      return absl::StrCat("proposer ", host.id.value,
                          " gets: ", membership::Describe(from->message));
    });
  }
  for (const ProposerOutput& output : host.proposer->Step(input, now_ns_)) {
    if (const auto* send = std::get_if<Send>(&output)) {
      SendToVoter(client, send->message);
    } else {
      Ended(client, std::get<Finished>(output).outcome);
    }
  }
  const std::optional<int64_t> wake_ns = host.proposer->WakeAt();
  if (!wake_ns.has_value() || *wake_ns == host.wake_ns) return;
  host.wake_ns = *wake_ns;
  At(std::max<int64_t>(0, *wake_ns - now_ns_), [=, this] {
    Client& later = *clients_[static_cast<size_t>(client)];
    if (later.wake_ns == *wake_ns) FeedProposer(client, Tick{});
  });
}

void World::Call(int client, const Request& request, int64_t deadline_ns) {
  Client& host = *clients_[static_cast<size_t>(client)];
  ChangeId change;
  if (!std::holds_alternative<Read>(request)) change = ChangeId{host.id, ++host.changes};
  host.call = history_->Began(request, change);
  host.deadline_ns = deadline_ns;
  Trace([&] {
    static const char* const names[] = {"read", "compare and set", "begin replacement",
                                        "finish replacement"};
    return absl::StrCat("proposer ", host.id.value, " begins: ", names[request.index()], " #",
                        change.number, ", knows ", membership::Describe(*host.proposer->known()));
  });
  FeedProposer(client, Begin{request, deadline_ns});
}

void World::Ended(int client, const Outcome& outcome) {
  Client& host = *clients_[static_cast<size_t>(client)];
  Trace([&] {
    static const char* const names[] = {"committed", "conflict", "unknown", "refused"};
    return absl::StrCat(
        "proposer ", host.id.value, " ends: ", names[static_cast<size_t>(outcome.kind)],
        outcome.record == nullptr ? std::string() : ", " + membership::Describe(*outcome.record));
  });
  if (!host.call.has_value()) return Violate("a request ended twice");
  if (now_ns_ > std::max(host.deadline_ns, host.thawed_ns))
    Violate("a request missed its deadline");
  const std::string wrong = history_->Ended(*host.call, outcome);
  if (!wrong.empty()) Violate(wrong);
  const bool committed = outcome.kind == Outcome::Kind::kCommitted;
  const bool reads = std::holds_alternative<Read>(host.call->request);
  tally_->reads += committed && reads ? 1 : 0;
  tally_->changes += committed && !reads ? 1 : 0;
  tally_->replaced +=
      committed && std::holds_alternative<FinishReplacement>(host.call->request) ? 1 : 0;
  tally_->conflicts += outcome.kind == Outcome::Kind::kConflict ? 1 : 0;
  tally_->unknown += outcome.kind == Outcome::Kind::kUnknown ? 1 : 0;
  host.call.reset();
  host.last = outcome;
  NextCall(client);
}

void World::NextCall(int client) {
  Client& host = *clients_[static_cast<size_t>(client)];
  if (quiet_ || host.left == 0) return;
  --host.left;
  const ProposerId id = host.id;
  At(Random(0, 60 * kMs), [=, this] {
    Client& later = *clients_[static_cast<size_t>(client)];
    if (quiet_ || later.id != id || later.call.has_value()) return;
    if (Chance(0.1)) FeedProposer(client, Heard{history_->newest_told()});
    const Request request = RandomRequest(*later.proposer->known());
    Call(client, request, now_ns_ + Random(20 * kMs, 1'000 * kMs));
  });
}

Request World::RandomRequest(const Record& known) {
  const int64_t choice = Random(0, 99);
  if (choice < 30) return Read{};
  uint64_t expected = known.version;
  if (expected > 0 && Chance(0.05)) --expected;
  if (choice < 75) return CompareAndSet{expected, absl::StrCat("value ", next_value_++)};
  const bool under_way = !known.voters.incoming.empty();
  if (under_way != Chance(0.05)) return FinishReplacement{expected};
  return BeginReplacement{expected, RandomReplacement(known.voters)};
}

// Exchanges a voter, if possible one whose log is lost, for a log that exists.
std::set<VoterId> World::RandomReplacement(const VoterSets& voters) {
  std::set<VoterId> incoming = voters.current;
  std::vector<VoterId> out(incoming.begin(), incoming.end());
  std::vector<VoterId> in;
  for (const auto& node : nodes_) {
    if (node->disk.has_value() && !incoming.contains(node->disk->id)) in.push_back(node->disk->id);
  }
  if (in.empty()) return incoming;
  const auto lost = std::find_if(out.begin(), out.end(), [&](const VoterId& voter) {
    const auto& disk = nodes_[static_cast<size_t>(homes_.at(voter))]->disk;
    return !disk.has_value() || disk->id != voter;
  });
  incoming.erase(lost != out.end() && Chance(0.8)
                     ? *lost
                     : out[static_cast<size_t>(Random(0, static_cast<int64_t>(out.size()) - 1))]);
  incoming.insert(in[static_cast<size_t>(Random(0, static_cast<int64_t>(in.size()) - 1))]);
  return incoming;
}

}  // namespace phalanx::membership::simulation
