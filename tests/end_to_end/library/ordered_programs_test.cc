// Programs whose ranks disagree about the order, as real processes on a device with few slots:
// what deadlocks without the ordering service completes with it, and what can't is explained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <tuple>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Result {
  int exit_code = 0;
  std::string output;
  std::string error;
  int completed = 0;  // ranks
};

Result RunScenario(const std::string& name, int ranks, const std::string& ordering, int slots,
                   const std::string& timeout_s = "60", bool device_wait_holds = false) {
  Subprocess::Options options;
  options.environment = {{"PHALANX_DEVICE_WAIT_HOLDS", device_wait_holds ? "1" : "0"},
                         {"PHALANX_ORDERING", ordering},
                         {"PHALANX_DEVICE_SLOTS", std::to_string(slots)},
                         {"PHALANX_OPERATION_TIMEOUT", timeout_s},
                         {"PHALANX_LOG", "info"}};
  Subprocess run({PHALANX_COMMAND, "run", "-n", std::to_string(ranks), "--", ORDERING_WORKER, name},
                 options);
  Result result;
  result.exit_code = run.AwaitExitCode();
  result.output = run.output();
  result.error = run.error();
  result.completed = Count(result.output, " completed");
  return result;
}

struct Scenario {
  const char* name;
  int ranks;
};

class Completes : public ::testing::TestWithParam<std::tuple<Scenario, const char*, int>> {};

TEST_P(Completes, WithRightResults) {
  const auto& [scenario, ordering, slots] = GetParam();
  const Result result = RunScenario(scenario.name, scenario.ranks, ordering, slots);
  EXPECT_EQ(result.exit_code, 0) << result.output << result.error;
  EXPECT_EQ(result.completed, scenario.ranks) << result.output << result.error;
}

std::string NameOf(const ::testing::TestParamInfo<Completes::ParamType>& chosen) {
  const auto& [scenario, ordering, slots] = chosen.param;
  return std::string(scenario.name) + "_" + ordering + "_" + std::to_string(slots);
}

INSTANTIATE_TEST_SUITE_P(
    Order, Completes,
    ::testing::Combine(
        ::testing::Values(Scenario{"opposite_orders", 2}, Scenario{"groups_in_opposite_order", 2},
                          Scenario{"latin_square", 8}, Scenario{"same_order_three_streams", 4},
                          Scenario{"beside_messages", 2}, Scenario{"exchange", 2},
                          Scenario{"exchange_in_a_group", 2}, Scenario{"exchange_on_a_stream", 2},
                          Scenario{"after_a_mismatch", 2}, Scenario{"two_threads", 2},
                          Scenario{"threads_make_communicators", 2},
                          Scenario{"made_in_opposite_orders", 2}, Scenario{"graphs", 2},
                          Scenario{"far_ahead", 2}, Scenario{"device_wait_before_launch", 2},
                          Scenario{"destroyed_in_opposite_orders", 2},
                          Scenario{"learned_then_turned", 2}, Scenario{"messages_in_a_loop", 2},
                          Scenario{"messages_learned_then_turned", 2}, Scenario{"keyed_kinds", 2},
                          Scenario{"learned_then_smaller", 2}, Scenario{"keyed_host_waits", 2},
                          Scenario{"keyed_opposite_orders", 2}, Scenario{"keyed_group", 2}),
        ::testing::Values("strict", "adaptive"), ::testing::Values(1, 2)),
    NameOf);

// With room for two streams to be launched by schedule.
INSTANTIATE_TEST_SUITE_P(ThreeSlots, Completes,
                         ::testing::Combine(::testing::Values(Scenario{"learned_then_turned", 2},
                                                              Scenario{"two_threads", 2}),
                                            ::testing::Values("adaptive"), ::testing::Values(3)),
                         NameOf);

// Those whose log says that they have launched operations by schedule.
int CertifiedRanks(const std::string& log) {
  int ranks = 0;
  static const std::regex line("ordering: ([0-9]+) of [0-9]+ operations launched by schedule");
  for (auto at = std::sregex_iterator(log.begin(), log.end(), line); at != std::sregex_iterator();
       ++at) {
    if ((*at)[1] != "0") ++ranks;
  }
  return ranks;
}

TEST(Certified, OrderIsLearnedWhereMembersCompleteApart) {
  for (const char* scenario : {"messages_in_a_loop", "messages_learned_then_turned"}) {
    const Result result = RunScenario(scenario, 2, "adaptive", 2);
    EXPECT_EQ(result.completed, 2) << result.output << result.error;
    EXPECT_EQ(CertifiedRanks(result.error), 2) << scenario << "\n" << result.error;
  }
}

TEST(Fusion, SendsManySmallOperationsTogether) {
  for (const char* ordering : {"off", "adaptive", "strict"}) {
    Subprocess::Options options;
    options.environment = {{"PHALANX_ORDERING", ordering},
                           {"PHALANX_LOG", "info"},
                           {"PHALANX_FUSION_THRESHOLD", "1M"}};
    Subprocess run({PHALANX_COMMAND, "run", "-n", "3", "--", ORDERING_WORKER, "keyed_gradients"},
                   options);
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.output() << run.error();
    EXPECT_EQ(Count(run.output(), " completed"), 3) << run.output();
    // Of 200 operations on each of the 3 ranks.
    const std::string said = run.error();
    EXPECT_THAT(said, ContainsRegex("fusion on communicator [0-9]+: 200 operations in [0-9]?[0-9] "
                                    "reductions"))
        << ordering;
  }
}

// The same programs without the ordering service, where they need it.
class Deadlocks : public ::testing::TestWithParam<Scenario> {};

TEST_P(Deadlocks, WithoutOrdering) {
  Result result = RunScenario(GetParam().name, GetParam().ranks, "off", 1, "2");
  // A send that gets the slot first is buffered, and by such luck all may end well.
  for (int again = 0; again < 5 && result.completed == GetParam().ranks; ++again) {
    result = RunScenario(GetParam().name, GetParam().ranks, "off", 1, "2");
  }
  EXPECT_NE(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.completed, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("DEADLINE_EXCEEDED")) << result.error;
}

INSTANTIATE_TEST_SUITE_P(Order, Deadlocks,
                         ::testing::Values(Scenario{"opposite_orders", 2},
                                           Scenario{"latin_square", 8},
                                           Scenario{"same_order_three_streams", 4},
                                           Scenario{"beside_messages", 2},
                                           Scenario{"keyed_opposite_orders", 2}),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

class Explains : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  // All ranks fail with this status, and say what.
  void Fails(const std::string& scenario, const std::string& status, const std::string& what,
             int ranks = 2, bool device_wait_holds = false) {
    const auto& [ordering, slots] = GetParam();
    const Result result = RunScenario(scenario, ranks, ordering, slots, "10", device_wait_holds);
    EXPECT_NE(result.exit_code, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(result.output, HasSubstr("rank " + std::to_string(rank) + " failed: " + status))
          << result.error;
    }
    EXPECT_THAT(result.output, ContainsRegex(what));
  }
  // `field` is `left` on rank 0 and `right` on rank 1, in whichever order they came.
  void Differs(const std::string& scenario, const std::string& field, const std::string& left,
               const std::string& right) {
    Fails(scenario, "INVALID_ARGUMENT",
          field + " (" + left + " on rank 0, " + right + " on rank 1|" + right + " on rank 1, " +
              left + " on rank 0)");
  }
};

TEST_P(Explains, ACount) { Differs("count_differs", "count", "409600", "409598"); }
TEST_P(Explains, ACountOfALearnedOrder) {
  Fails("learned_then_differs", "INVALID_ARGUMENT",
        "count (1024|512) on rank [01]|belongs to another operation|another length");
}
TEST_P(Explains, AKeyed) { Differs("keyed_count_differs", "count", "409600", "409598"); }
TEST_P(Explains, AReduceOperation) { Differs("op_differs", "reduce operation", "sum", "max"); }
TEST_P(Explains, AType) { Differs("type_differs", "type", "float", "int32"); }
TEST_P(Explains, ARoot) { Differs("root_differs", "root", "0", "1"); }
TEST_P(Explains, AKind) { Differs("different_kinds", "kind", "all_to_all", "all_reduce"); }
TEST_P(Explains, PartsOfAGroup) { Differs("groups_that_differ", "count", "3", "2"); }
TEST_P(Explains, ARankInAnotherLayer) {
  Fails("one_layer_ahead", "INVALID_ARGUMENT", "count (1024|2048) on rank [0-3], (1024|2048)", 4);
}
TEST_P(Explains, ACycleThroughTheHosts) {
  Fails("host_waits_between", "FAILED_PRECONDITION", "cycle: operations wait for each other");
}

TEST_P(Explains, ACycleThroughADeviceWait) {
  Fails("device_wait_between", "FAILED_PRECONDITION", "cycle: operations wait for each other");
}
TEST_P(Explains, ADeviceWaitThatHoldsLaunches) {
  Fails("device_wait_before_launch", "FAILED_PRECONDITION",
        "device wait: .*keeps an operation from being launched", 2, /*device_wait_holds=*/true);
}

INSTANTIATE_TEST_SUITE_P(Order, Explains,
                         ::testing::Combine(::testing::Values("strict", "adaptive"),
                                            ::testing::Values(1, 2)),
                         [](const auto& chosen) {
                           return std::string(std::get<0>(chosen.param)) + "_" +
                                  std::to_string(std::get<1>(chosen.param));
                         });

TEST(RankBehind, IsNamedWhileItIsAlive) {
  for (const char* ordering : {"strict", "adaptive"}) {
    const Result result = RunScenario("stops_for_a_while", 2, ordering, 2);
    EXPECT_EQ(result.exit_code, 0) << result.output << result.error;
    EXPECT_EQ(result.completed, 2) << result.output;
    EXPECT_THAT(result.error, HasSubstr("rank behind")) << ordering;
    EXPECT_THAT(result.error, ContainsRegex("rank 1: communicator [0-9]+, operation 5 isn't issued "
                                            "yet \\(1 behind\\)"));
  }
}

TEST(AbsentRank, OfACommunicatorThatItLeavesOut) {
  for (const char* ordering : {"strict", "adaptive"}) {
    const Result result = RunScenario("leaves_one_out", 2, ordering, 2, "3");
    EXPECT_THAT(result.output, HasSubstr("rank 1 completed")) << result.error;
    EXPECT_THAT(result.output, ContainsRegex("rank 0 failed: DEADLINE_EXCEEDED.*absent rank"))
        << result.error;
    EXPECT_THAT(result.error,
                ContainsRegex("rank 1: communicator [0-9]+, operation 0 isn't issued"));
  }
}

TEST(AbsentRank, IsNamedBeforeTheDeadline) {
  for (const char* ordering : {"strict", "adaptive"}) {
    const Result result = RunScenario("one_more", 2, ordering, 2, "3");
    EXPECT_THAT(result.output, HasSubstr("rank 0 completed")) << result.error;
    EXPECT_THAT(result.output, HasSubstr("rank 1 failed: DEADLINE_EXCEEDED")) << result.error;
    EXPECT_THAT(result.error, HasSubstr("absent rank")) << result.error;
    EXPECT_THAT(result.error,
                ContainsRegex("rank 0: communicator [0-9]+, operation 4 isn't issued"));
  }
}

TEST(AbsentRank, OfAKeyIsNamed) {
  for (const char* ordering : {"strict", "adaptive"}) {
    const Result result = RunScenario("keyed_one_more", 2, ordering, 2, "3");
    EXPECT_THAT(result.output, HasSubstr("rank 0 completed")) << result.error;
    EXPECT_THAT(result.output, ContainsRegex("rank 1 failed: DEADLINE_EXCEEDED: all_reduce key "
                                             "\"layer3.weight\" #1 .*absent rank.*rank 0: "
                                             "communicator [0-9]+, key \"layer3.weight\", use 1 "
                                             "isn't issued"))
        << result.error;
  }
}

// A late rank is no deviation: the schedule is the only term that begins.
TEST(Certified, OutlivesIrregularPauses) {
  Subprocess::Options options;
  options.environment = {
      {"PHALANX_ORDERING", "adaptive"}, {"PHALANX_DEVICE_SLOTS", "2"}, {"PHALANX_LOG", "info"}};
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--", ORDERING_WORKER, "pauses"}, options);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), " completed"), 2) << run.error();
  EXPECT_EQ(Count(run.error(), "messages sent, 1 schedules and fences"), 2) << run.error();
}

}  // namespace
}  // namespace phalanx::testing_support
