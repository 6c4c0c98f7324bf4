// The coordinators of a World.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "world_parts.h"

namespace phalanx::membership::simulation {
namespace {

constexpr int64_t kBeatNs = 100 * kMs;
constexpr uint64_t kBeatsOfAQuestion = 2;
constexpr uint64_t kBeatsOfAWrite = 7;
constexpr int64_t kRequestNs = 2'000 * kMs;

}  // namespace

void World::StartLeader(int node, const StartCoordinator& start) {
  ProposerSettings settings;
  settings.id = start.life;
  settings.known = genesis_;
  settings.seed = random_();
  homes_[start.life] = node;
  At(node).leader = std::make_shared<Leader>(node, start, std::move(settings), timing_.lease);
  Begin(At(node).leader.get(), Read{});
  Beat(At(node).leader.get());
}

void World::Begin(Leader* leader, const Request& request) {
  FeedProposer(leader, membership::Begin{request, now_ns_ + kRequestNs});
}

void World::FeedProposer(Leader* leader, const ProposerInput& input) {
  const std::shared_ptr<Leader> held = At(leader->node).leader;  // it may end meanwhile
  const int node = leader->node;
  const ProposerId life = leader->life;
  for (const ProposerOutput& output : leader->proposer.Step(input, now_ns_)) {
    if (const auto* finished = std::get_if<Finished>(&output)) {
      Ended(leader, finished->outcome);
      continue;
    }
    const ToVoter message = std::get<Send>(output).message;
    const VoterId voter = std::visit([](const auto& body) { return body.to; }, message);
    const int to = static_cast<int>(voter.value) - 1;
    Travel(node, to, [=, this] {
      InAgent(to, 0, [=, this] { FeedVoter(to, Asked{life.value, message}); });
    });
  }
  const std::optional<int64_t> wake_ns = leader->proposer.WakeAt();
  if (!wake_ns.has_value() || *wake_ns == leader->wake_ns) return;
  leader->wake_ns = *wake_ns;
  At(std::max<int64_t>(0, *wake_ns - now_ns_), [=, this] {
    InLeader(node, life, [=, this] {
      Leader* later = Find(node, life);
      if (later->wake_ns == *wake_ns) FeedProposer(later, Tick{});
    });
  });
}

// Claims the record if it names the one that is to be replaced; is over if it names another.
void World::Ended(Leader* leader, const Outcome& outcome) {
  if (outcome.record == nullptr) {
    if (!leader->leads) Begin(leader, Read{});
    return;
  }
  const ProposerId named = LeadOf({}, *outcome.record).coordinator.life;
  const bool claims_in_any_case = options_.broken == Broken::kClaimsInAnyCase && !leader->leads;
  if (named == leader->life) {
    if (!leader->leads) {
      ++tally_->claimed;
      Trace([&] { return absl::StrCat("coordinator ", leader->life.value, " has claimed"); });
    }
    leader->leads = true;
  } else if (named == leader->replaces || claims_in_any_case) {
    Begin(leader, CompareAndSet{outcome.record->version,
                                absl::StrCat(leader->life.value, " ", leader->node)});
  } else {
    EndLeader(leader->node, leader->life, absl::StrCat("finds the record of ", named.value));
  }
}

// Each tenth of a second: a word to all nodes, an order if it may give one.
void World::Beat(Leader* leader) {
  const int node = leader->node;
  const ProposerId life = leader->life;
  At(kBeatNs, [=, this] { InLeader(node, life, [=, this] { Beat(Find(node, life)); }); });
  const std::optional<Clock::time_point> reached_at = leader->answers.ReachedAt(genesis_->voters);
  const bool confirmed = (reached_at.has_value() && Now() - *reached_at < timing_.lease) ||
                         options_.broken == Broken::kOrdersWithoutALease;
  const bool order = leader->leads && confirmed;
  if (leader->leads && !confirmed) ++tally_->held;
  if (order) {
    Violate(judge_.Reached(absl::StrCat("coordinator ", life.value, " gives orders"), life.value,
                           genesis_->voters, now_ns_ - Ns(timing_.lease)));
  }
  for (const int follower : leader->followers) {
    Travel(node, follower,
           [=, this] { InAgent(follower, 0, [=, this] { FromLeader(follower, life, order); }); });
  }
  if (++leader->beats % kBeatsOfAQuestion != 0) return;
  Ask({node, 0, life}, genesis_->voters.All(), leader->answers.Ask(Now()));
  if (leader->leads) LookAtVoters(leader);
}

// What is committed is another's: it is over. And it writes, now and then, and when those who ask
// the voters can't tell who leads.
void World::LookAtVoters(Leader* leader) {
  const Lead* committed = leader->answers.Committed();
  if (committed != nullptr && committed->coordinator.life != leader->life) {
    ++tally_->superseded;
    EndLeader(leader->node, leader->life, "sees another");
    return;
  }
  const bool hidden = leader->answers.IsHiddenSince(Now() - timing_.ask_interval * 2);
  const bool wants = options_.writes && !quiet_ && leader->beats % kBeatsOfAWrite == 0;
  if (!leader->proposer.idle() || (!hidden && !wants)) return;
  Begin(leader,
        CompareAndSet{leader->proposer.known()->version,
                      absl::StrCat(leader->life.value, " ", leader->node, " ", ++leader->written)});
}

void World::EndLeader(int node, ProposerId life, const std::string& why) {
  const std::shared_ptr<Leader> leader = At(node).leader;
  if (leader == nullptr || leader->life != life) return;
  Trace([&] { return absl::StrCat("coordinator ", life.value, " ", why); });
  At(node).leader = nullptr;
  const uint64_t boot = At(node).boot;
  At(Random(kMs, 20 * kMs),
     [=, this] { InAgent(node, boot, [=, this] { Feed(node, CoordinatorEnded{life}); }); });
  for (const int follower : leader->followers) {
    Travel(node, follower, [=, this] {
      InAgent(follower, 0, [=, this] { Feed(follower, CoordinatorGone{life}); });
    });
  }
}

}  // namespace phalanx::membership::simulation
