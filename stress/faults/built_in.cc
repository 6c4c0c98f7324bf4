// The scenarios that need no list: of the `train` example with its 480 steps.
#include "fault_stress/scenario.h"

namespace phalanx::stress {
namespace {

const JobOptions kNoSpare = {{"-n", "4"}};
const JobOptions kOneSpare = {{"-n", "4"}, {"--spares", "1"}};
const JobOptions kTwoSpares = {{"-n", "4"}, {"--spares", "2"}};

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
