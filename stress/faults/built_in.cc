// The scenarios that need no list: of the `train` example with its 480 steps.
#include "fault_stress/scenario.h"

namespace phalanx::stress {
namespace {

const JobOptions kNoSpare = {{"-n", "4"}};
const JobOptions kOneSpare = {{"-n", "4"}, {"--spares", "1"}};
const JobOptions kTwoSpares = {{"-n", "4"}, {"--spares", "2"}};
const JobOptions kNodes = {{"--nodes", "localhost:1,localhost:2,localhost:1"}, {"--spares", "3"}};
const JobOptions kSparesElsewhere = {{"--nodes", "localhost:1,localhost:2,localhost:1"},
                                     {"--spares", "6"}};
const JobOptions kTwoNodes = {{"--nodes", "localhost:2,localhost:2"}, {"--spares", "2"}};

Scenario KillCoordinatorAt(const std::string& point) {
  return {"kill-coordinator-" + point,
          "the coordinator and a rank, it at that point of the protocol",
          kOneSpare,
          {"kill coordinator at=point:" + point, "kill rank={0..3} at=step:{20..450}"}};
}

std::vector<Scenario> TenKills() {
  Scenario scenario{"ten-kills", "ten ranks, one after the other", {{"-n", "4"}}, {}};
  scenario.options["--spares"] = "10";
  for (int i = 0; i < 10; ++i) {
    const std::string from = std::to_string(20 + i * 40);
    const std::string to = std::to_string(50 + i * 40);
    scenario.faults.push_back("kill rank={0..3} at=step:{" + from + ".." + to + "}");
  }
  return {scenario};
}

std::vector<Scenario> Make() {
  std::vector<Scenario> all = {
      {"kill-rank", "one rank, at some step", kOneSpare, {"kill rank={0..3} at=step:{1..470}"}},
      {"kill-two",
       "two ranks at the same step",
       kTwoSpares,
       {"kill rank={0..1} at=step:150", "kill rank={2..3} at=step:150"}},
      {"segfault", "a rank crashes", kOneSpare, {"segfault rank={0..3} at=step:{1..470}"}},
      {"exit", "a rank exits", kOneSpare, {"exit rank={0..3} at=step:{1..470} code=9"}},
      {"stop-rank",
       "a rank is stopped and evicted",
       kOneSpare,
       {"stop rank={0..3} at=step:{1..470}"}},
      {"wake-rank",
       "a rank is stopped and goes on at about the moment of its eviction",
       kOneSpare,
       {"stop rank={0..3} at=step:{1..470} for={650..900}ms"}},
      {"before-first-checkpoint",
       "a rank, when nothing is committed yet",
       kOneSpare,
       {"kill rank={0..3} at=step:0"}},
      {"last-step", "a rank, when others are done", kOneSpare, {"kill rank={0..3} at=step:479"}},
      {"kill-spare",
       "a waiting spare, and then a rank",
       kTwoSpares,
       {"kill spare={0..1} at=point:committed", "kill rank={0..3} at=step:{50..470}"}},
      {"kill-promoted",
       "a rank, and the spare that takes its place",
       kTwoSpares,
       {"kill rank=2 at=step:{50..470}", "kill rank=2 at=point:restoring"}},
      {"kill-stored",
       "a rank, when a version is saved and not committed",
       kOneSpare,
       {"kill rank={0..3} at=point:stored"}},
      {"kill-committed",
       "a rank, when a version is committed and nobody knows it",
       kOneSpare,
       {"kill rank={0..3} at=point:committed"}},
      {"kill-node",
       "a node: its agent and all its ranks",
       kNodes,
       {"kill node=1 at=time:{50..150}ms"}},
      {"stop-node",
       "a node is stopped, evicted, and maybe goes on when the others are done or not",
       kSparesElsewhere,
       {"stop node=1 at=time:{50..150}ms for={3000..6000}ms"}},
      {"kill-agent",
       "an agent, with which its ranks die",
       kNodes,
       {"kill agent=1 at=time:{50..150}ms"}},
      {"flip",
       "a bit of a saved copy, and a rank is lost",
       kTwoNodes,
       {"kill rank={0..3} at=step:{50..470}", "flip rank={0..3} at=point:revoked copy={0..1}"}},
      {"kill-coordinator",
       "the coordinator, at some time",
       kNoSpare,
       {"kill coordinator at=time:{1..250}ms"}},
  };
  for (const char* point :
       {"stored", "committed", "revoked", "proposed", "restoring", "restored"}) {
    all.push_back(KillCoordinatorAt(point));
  }
  for (Scenario& scenario : TenKills()) all.push_back(std::move(scenario));
  return all;
}

}  // namespace

const std::vector<Scenario>& BuiltInScenarios() {
  static const auto* const scenarios = new std::vector<Scenario>(Make());
  return *scenarios;
}

}  // namespace phalanx::stress
