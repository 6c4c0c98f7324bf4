// Links that break: `phalanx run --emulate … --fault 'cut link=0-1 …'`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kEpochs = 5;

std::vector<std::string> Train(const std::string& cluster, const std::vector<std::string>& faults,
                               const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = {PHALANX_COMMAND, "run", "--emulate", cluster};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& fault : faults) command.insert(command.end(), {"--fault", fault});
  command.insert(command.end(), {"--", "train", "--epochs", std::to_string(kEpochs)});
  return command;
}

// Why it can't be done here, and nothing is wrong; empty: it can.
std::string WhyNot() {
  Subprocess run({PHALANX_COMMAND, "run", "--emulate", "2x1@1gbit", "--fault",
                  "cut link=0-1 at=time:1m", "--", "true"});
  const int exit_code = run.AwaitExitCode();
  const bool lacks = run.error().find("needs network namespaces") != std::string::npos ||
                     run.error().find("needs the program") != std::string::npos;
  if (exit_code != 0 && lacks) return run.error();
  EXPECT_EQ(exit_code, 0) << run.error();
  return "";
}

class LinkFaults : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string why_not = WhyNot();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }

  // Of three nodes with a rank each.
  static const std::vector<std::string>& UndisturbedWeights() {
    static auto* const known = new std::vector<std::string>;
    if (!known->empty()) return *known;
    Subprocess run(Train("3x1@100mbit", {}));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    *known = Digests(run.output());
    EXPECT_EQ(known->size(), 3u) << run.output();
    return *known;
  }

  // That the job has come to its end with these faults, and nobody was given up.
  static void ExpectHeldUpOnly(const Subprocess& run) {
    EXPECT_EQ(Digests(run.output()), UndisturbedWeights()) << run.output();
    EXPECT_THAT(run.error(), Not(HasSubstr("evicted"))) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("was lost"))) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("epoch 2"))) << run.error();
  }
  static int LostPackets(const Subprocess& run) {
    const std::vector<pid_t> lost = NumbersAfter(run.error(), "faults of the network took ");
    EXPECT_EQ(lost.size(), 1u) << run.error();
    return lost.empty() ? -1 : lost[0];
  }
};

TEST_F(LinkFaults, ACutIsWaitedFor) {
  Subprocess run(Train("3x1@100mbit", {"cut link=0-1 at=step:40 for=1500ms"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectHeldUpOnly(run);
  EXPECT_EQ(Count(run.error(), "a fault: cut link=0-1 at=step:40 for=1.5s\n"), 1) << run.error();
  EXPECT_EQ(Count(run.error(), "the fault is over: cut link=0-1 at=step:40 for=1.5s\n"), 1)
      << run.error();
  EXPECT_GT(LostPackets(run), 0);
}

// Frames that don't come, and acknowledgements that don't.
TEST_F(LinkFaults, ACutInOneDirectionIsWaitedForToo) {
  Subprocess run(Train("3x1@100mbit", {"cut link=0>1 at=step:40 for=1s"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectHeldUpOnly(run);
  EXPECT_EQ(Count(run.error(), "the fault is over: cut link=0>1 at=step:40 for=1s\n"), 1)
      << run.error();
  EXPECT_GT(LostPackets(run), 0);
}

// The control plane goes over the same wires, to another port.
TEST_F(LinkFaults, ANodeIsCutOffForAMoment) {
  Subprocess run(Train("3x1@100mbit", {"cut node=1 at=step:40 for=1s"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectHeldUpOnly(run);
  EXPECT_EQ(Count(run.error(), "the fault is over: cut node=1 at=step:40 for=1s\n"), 1)
      << run.error();
  EXPECT_GT(LostPackets(run), 0);
}

// Whoever is cut off for good is evicted, and a spare of another node takes its rank.
TEST_F(LinkFaults, ANodeIsCutOffForGood) {
  Subprocess::Options options;
  options.environment["PHALANX_WITNESS_WAIT_MS"] = "1000";
  Subprocess run(Train("3x1@100mbit", {"cut node=2 at=step:40"}, {"--spares", "2"}), options);
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()), UndisturbedWeights()) << run.output();
  EXPECT_EQ(Count(run.error(), "is evicted: it has said nothing for "), 1) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("node 2 'emulated2' is evicted")) << run.error();
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  for (const pid_t pid : NumbersAfter(run.error(), "(pid ")) EXPECT_TRUE(AwaitGone(pid)) << pid;
}

TEST(LinkFaultOption, IsRefusedWhereNothingSuffersIt) {
  Subprocess run(
      {PHALANX_COMMAND, "run", "-n", "2", "--fault", "cut link=0-1 at=step:40", "--", "true"});
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(),
              HasSubstr("the fault 'cut link=0-1 at=step:40': only an emulated network "
                        "suffers it; start with --emulate"));
}

TEST(LinkFaultOption, ItsNodesAreThere) {
  for (const char* fault : {"cut link=1-3 at=step:40", "cut link=3>1 at=time:1s"}) {
    Subprocess run(Train("3x1@100mbit", {fault}));
    EXPECT_EQ(run.AwaitExitCode(), 2) << fault;
    EXPECT_THAT(run.error(), HasSubstr("there are only 3 nodes, 0 being the first")) << fault;
  }
  Subprocess run(Train("3x1@100mbit", {"cut node=3 at=time:1s"}));
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(), HasSubstr("the fault 'cut node=3 at=time:1s': there are only 3 nodes"));
}

}  // namespace
}  // namespace phalanx::testing_support
