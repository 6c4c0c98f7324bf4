#include "world.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "world_parts.h"

namespace phalanx::membership::simulation {
namespace {

constexpr int64_t kNoisyNs = 9'000 * kMs;
constexpr int64_t kTryAgainNs = 300 * kMs;  // to connect

}  // namespace

World::World(const Options& options)
    : options_(options), random_(options.seed), judge_(options.nodes) {
  Record genesis;
  for (int node = 0; node < options_.nodes; ++node) {
    nodes_.push_back(std::make_shared<Node>());
    At(node).disk.id = VoterId{static_cast<uint64_t>(node) + 1};
    if (node >= options_.voters) continue;
    genesis.voters.current.insert(At(node).disk.id);
    formed_.standbys.push_back(static_cast<uint64_t>(node));
  }
  genesis.value = "0 0";
  formed_.voters = genesis.voters;
  genesis_ = std::make_shared<const Record>(std::move(genesis));
}

World::~World() = default;

std::string World::Run(Tally* tally) {
  tally_ = tally;
  ++tally_->runs;
  for (int node = 0; node < options_.nodes; ++node) {
    At(Random(0, 50 * kMs), [=, this] { Boot(node); });
  }
  for (int fault = 0; fault < options_.faults; ++fault) {
    At(Random(0, kNoisyNs), [this] { Fault(); });
  }
  RunUntil(kNoisyNs, [] { return false; });
  if (violation_.empty()) Quiet();
  if (violation_.empty()) CheckTheEnd();
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

void World::RunUntil(int64_t end_ns, const std::function<bool()>& is_over) {
  while (violation_.empty() && !events_.empty() && events_.top().at_ns <= end_ns && !is_over()) {
    if (events_made_ > 3'000'000) return Violate("it never comes to rest");
    const Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    event.what();
  }
}

void World::Violate(const std::string& what) {
  if (what.empty() || !violation_.empty()) return;
  violation_ = what;
  Trace([&] { return "WRONG: " + what; });
}

void World::Trace(const std::function<std::string()>& line) {
  if (!options_.trace) return;
  options_.trace(absl::StrFormat("%10.3f ms  %s", static_cast<double>(now_ns_) / kMs, line()));
}

// --- links and processes

void World::Travel(int from, int to, const std::function<void()>& deliver) {
  const bool over_a_link = from != to;
  if (over_a_link && (cut_.contains({from, to}) || (!quiet_ && Chance(options_.lost)))) return;
  const int copies = over_a_link && !quiet_ && Chance(options_.repeated) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const bool late = over_a_link && !quiet_ && Chance(options_.late);
    At(Random(kMs / 20, late ? 2'000 * kMs : 2 * kMs), deliver);
  }
}

World::Leader* World::Find(int node, ProposerId life) {
  Leader* leader = At(node).leader.get();
  return leader != nullptr && leader->life == life ? leader : nullptr;
}

void World::InAgent(int node, uint64_t boot, const std::function<void()>& what) {
  Node& host = At(node);
  if (host.voter == nullptr || (boot != 0 && host.boot != boot)) return;
  if (host.frozen) {
    host.held.push_back([=, this] { InAgent(node, boot, what); });
  } else {
    what();
  }
}

void World::InLeader(int node, ProposerId life, const std::function<void()>& what) {
  Leader* leader = Find(node, life);
  if (leader == nullptr) return;
  if (leader->frozen) {
    leader->held.push_back([=, this] { InLeader(node, life, what); });
  } else {
    what();
  }
}

// --- an agent: whom it follows

void World::Boot(int node) {
  Node& host = At(node);
  if (host.voter != nullptr || gone_.contains(node)) return;
  host.machine_up = true;
  host.boot = ++boots_;
  host.disk_free_ns = now_ns_;
  host.wake_ns = -1;
  host.voter = std::make_unique<Voter>(host.disk);
  SuccessionSettings settings;
  settings.node = static_cast<uint64_t>(node);
  settings.formed = formed_;
  settings.seed = random_();
  settings.timing = timing_;
  host.succession = std::make_unique<Succession>(std::move(settings));
  Trace([&] { return absl::StrCat("node ", node, " starts"); });
  Feed(node, membership::Wake{});
}

void World::Feed(int node, const SuccessionInput& input) {
  Node& host = At(node);
  const uint64_t boot = host.boot;
  for (const SuccessionOutput& output : host.succession->Step(input, Now())) Perform(node, output);
  if (!host.succession->paused()) {
    Violate(judge_.Reached(absl::StrCat("workers of node ", node, " run"), boot, genesis_->voters,
                           now_ns_ - Ns(timing_.lease)));
  }
  if (now_ns_ - host.heard_ns >= kTryAgainNs) Connect(node);
  const int64_t wake_ns = Ns(host.succession->WakeAt().time_since_epoch());
  if (wake_ns == host.wake_ns) return;
  host.wake_ns = wake_ns;
  At(std::max<int64_t>(0, wake_ns - now_ns_), [=, this] {
    InAgent(node, boot, [=, this] {
      if (At(node).wake_ns == wake_ns) Feed(node, membership::Wake{});
    });
  });
}

void World::Perform(int node, const SuccessionOutput& output) {
  Node& host = At(node);
  const uint64_t boot = host.boot;
  const auto says = [&](const auto&... what) {
    Trace([&] { return absl::StrCat("node ", node, " ", what...); });
  };
  if (const auto* ask = std::get_if<AskVoters>(&output)) {
    Ask({node, boot, {}}, ask->voters, ask->question);
  } else if (const auto* follow = std::get_if<membership::Follow>(&output)) {
    says("follows ", follow->lead.coordinator.life.value, " on node ",
         follow->lead.coordinator.node, " under ballot ", Describe(follow->lead.ballot));
    Violate(judge_.Follows(node, Followed(node)));
    Connect(node);
  } else if (const auto* start = std::get_if<StartCoordinator>(&output)) {
    says("starts coordinator ", start->life.value, " to replace ", start->replaces.value);
    ++tally_->started;
    Violate(judge_.Reached(absl::StrCat("node ", node, " starts a coordinator"), boot,
                           genesis_->voters, now_ns_ - Ns(timing_.turn)));
    judge_.Started(start->life, start->replaces);
    At(Random(5 * kMs, 100 * kMs), [=, this, start = *start] {
      if (At(node).voter != nullptr && At(node).boot == boot) StartLeader(node, start);
    });
  } else if (const auto* stop = std::get_if<StopCoordinator>(&output)) {
    ++tally_->superseded;
    EndLeader(node, stop->life, "is stopped");
  } else if (std::holds_alternative<PauseWorkers>(output)) {
    says("pauses its workers");
    ++tally_->pauses;
  } else {
    says("resumes its workers");
  }
}

void World::Connect(int node) {
  Node& host = At(node);
  host.heard_ns = now_ns_;
  const Coordinator& followed = host.succession->lead().coordinator;
  const ProposerId life = followed.life;
  const int home = static_cast<int>(followed.node);
  const uint64_t boot = host.boot;
  if (life.value == 0) return;
  Travel(node, home, [=, this] {
    if (!At(home).machine_up) return;
    if (Find(home, life) == nullptr) {
      Travel(home, node,
             [=, this] { InAgent(node, boot, [=, this] { Feed(node, CoordinatorGone{life}); }); });
      return;
    }
    InLeader(home, life, [=, this] { Find(home, life)->followers.insert(node); });
  });
}

void World::FromLeader(int node, ProposerId life, bool order) {
  Node& host = At(node);
  const bool takes = host.succession->TakesOrdersFrom(life);
  if (takes) host.heard_ns = now_ns_;
  if (order) {
    ++(takes ? tally_->orders : tally_->refused);
    if (takes) Violate(judge_.TakesOrder(node, life, Followed(node)));
  }
  Feed(node, CoordinatorHeard{life});
}

// --- an agent: its voter

Lead World::LeadOf(const Ballot& ballot, const Record& record) const {
  Lead lead = formed_;
  lead.ballot = ballot;
  lead.voters = record.voters;
  std::istringstream value(record.value);
  value >> lead.coordinator.life.value >> lead.coordinator.node;
  return lead;
}

// With the ballot as it is.
Lead World::Followed(int node) {
  Lead lead = At(node).succession->lead();
  if (options_.broken == Broken::kComparesProposers) {
    std::swap(lead.ballot.round, lead.ballot.proposer.value);
  }
  return lead;
}

void World::Ask(const Asker& asker, const std::set<VoterId>& voters, uint64_t question) {
  for (const VoterId voter : voters) {
    const int node = static_cast<int>(voter.value) - 1;
    Travel(asker.node, node, [=, this] {
      InAgent(node, 0, [=, this] {
        judge_.Answered(asker.life.value != 0 ? asker.life.value : asker.boot, voter, now_ns_);
        LeadTold answer{voter, question, {}};
        const VoterState& disk = At(node).disk;
        if (disk.record != nullptr) answer.lead = LeadOf(disk.accepted, *disk.record);
        Travel(node, asker.node, [=, this] { Told(asker, answer); });
      });
    });
  }
}

void World::Told(const Asker& asker, LeadTold answer) {
  if (options_.broken == Broken::kComparesProposers) {
    std::swap(answer.lead.ballot.round, answer.lead.ballot.proposer.value);
  }
  const auto give = [=, this](const LeadTold& told) {
    if (asker.life.value == 0) {
      InAgent(asker.node, asker.boot, [=, this] { Feed(asker.node, told); });
      return;
    }
    InLeader(asker.node, asker.life,
             [=, this] { Find(asker.node, asker.life)->answers.Hear(told); });
  };
  if (options_.broken == Broken::kAnswersAreNews) {
    // As if it answered the newest question: it is far ahead of the real one.
    for (uint64_t next = answer.question + 1; next < answer.question + 10; ++next) {
      give({answer.from, next, answer.lead});
    }
  }
  give(answer);
  if (options_.broken != Broken::kOneVoterIsEnough) return;
  for (const VoterId voter : genesis_->voters.current) {
    give({voter, answer.question, answer.lead});
  }
}

void World::FeedVoter(int node, const VoterInput& input) {
  for (const VoterOutput& output : At(node).voter->Step(input)) {
    if (const auto* persist = std::get_if<Persist>(&output)) {
      Write(node, *persist);
      continue;
    }
    const auto& answer = std::get<Answer>(output);
    const ProposerId life{answer.link};
    const int home = homes_.at(life);
    Travel(node, home, [=, this, message = answer.message] {
      InLeader(home, life, [=, this] { FeedProposer(Find(home, life), FromVoter{message}); });
    });
  }
}

void World::Write(int node, const Persist& persist) {
  Node& host = At(node);
  host.disk_free_ns = std::max(host.disk_free_ns, now_ns_) + Random(kMs / 10, 3 * kMs);
  const uint64_t boot = host.boot;
  At(host.disk_free_ns - now_ns_, [=, this] {
    Node& later = At(node);
    if (later.boot != boot || later.voter == nullptr) return;
    later.disk = persist.state;
    if (later.disk.record != nullptr) {
      const Lead lead = LeadOf(later.disk.accepted, *later.disk.record);
      Violate(judge_.OnDisk(later.disk, lead.coordinator.life));
    }
    InAgent(node, boot, [=, this] { FeedVoter(node, Persisted{persist.number}); });
  });
}

}  // namespace phalanx::membership::simulation
