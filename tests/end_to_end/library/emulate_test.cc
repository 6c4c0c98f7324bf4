// A cluster on one machine: `phalanx run --emulate 2x1@200mbit`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "nlohmann/json.hpp"
#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using testing::HasSubstr;

std::vector<std::string> Emulate(const std::string& cluster,
                                 const std::vector<std::string>& program) {
  std::vector<std::string> command = {PHALANX_COMMAND, "run", "--emulate", cluster, "--"};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }

// Why it can't be done here, and nothing is wrong; empty: it can.
std::string WhyNot() {
  Subprocess run(Emulate("1x1@1gbit", {"true"}));
  const int exit_code = run.AwaitExitCode();
  const bool lacks = run.error().find("needs network namespaces") != std::string::npos ||
                     run.error().find("needs the program") != std::string::npos;
  if (exit_code != 0 && lacks) return run.error();
  EXPECT_EQ(exit_code, 0) << run.error();
  return "";
}

// Each a network namespace, as the programs say it: "net:[4026532301]".
std::vector<std::string> NetworksIn(const std::string& output) {
  std::vector<std::string> networks;
  for (size_t at = output.find("net:["); at != std::string::npos;
       at = output.find("net:[", at + 1)) {
    networks.push_back(output.substr(at, output.find(']', at) + 1 - at));
  }
  return networks;
}

// Who is in them or has one of them open.
std::vector<pid_t> UsersOf(const std::vector<std::string>& networks) {
  std::vector<pid_t> users;
  std::error_code error;
  for (std::filesystem::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    std::vector<std::filesystem::path> links = {process->path() / "ns/net"};
    std::error_code gone;
    for (std::filesystem::directory_iterator fd(process->path() / "fd", gone), last;
         !gone && fd != last; fd.increment(gone)) {
      links.push_back(fd->path());
    }
    for (const std::filesystem::path& link : links) {
      const std::string text = std::filesystem::read_symlink(link, gone).string();
      if (std::count(networks.begin(), networks.end(), text) == 0) continue;
      users.push_back(std::atoi(process->path().filename().c_str()));
      break;
    }
  }
  return users;
}

class Emulated : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string why_not = WhyNot();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    std::string pattern = testing::TempDir() + "/emulate_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // The one row of `phalanx bench all_reduce` in place, of `bytes`, on this cluster.
  nlohmann::json AllReduce(const std::string& cluster, const std::string& bytes, int iterations) {
    const std::string file = folder_ + "/" + cluster + ".json";
    Subprocess run(Emulate(
        cluster, {PHALANX_COMMAND, "bench", "all_reduce", "--min", bytes, "--max", bytes, "--iters",
                  std::to_string(iterations), "--warmup", "1", "--check", "--json", file}));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    sent_ = NumbersAfter(run.error(), "over its link went ");
    return nlohmann::json::parse(std::ifstream(file)).at("results").at(1);
  }

  std::string folder_;
  std::vector<pid_t> sent_;  // by each node in the whole job, bytes
};

TEST_F(Emulated, EachNodeHasANetworkOfItsOwn) {
  Subprocess run(Emulate(
      "1,2@1gbit", Shell("echo $(readlink /proc/self/ns/net) of $LOCAL_RANK/"
                         "$LOCAL_WORLD_SIZE; grep -c eth0 /proc/net/dev; ls /sys/class/net")));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  for (const char* line : {"of 0/1\n", "of 0/2\n", "of 1/2\n"}) {
    EXPECT_EQ(Count(run.output(), line), 1) << run.output();
  }
  // One line for each rank, whatever interfaces this machine has.
  for (const char* line : {"] 1\n", "] eth0\n", "] lo\n"}) {
    EXPECT_EQ(Count(run.output(), line), 3) << run.output();
  }
  const std::vector<std::string> networks = NetworksIn(run.output());
  ASSERT_EQ(networks.size(), 3u) << run.output();
  EXPECT_EQ(std::set<std::string>(networks.begin(), networks.end()).size(), 2u) << run.output();
  EXPECT_THAT(run.error(), HasSubstr("emulating 2 nodes (1,2 ranks), each with a link of 1gbit"));
}

TEST_F(Emulated, ExitCodesAreThoseOfThePrograms) {
  Subprocess run(Emulate("2x1@1gbit", Shell("[ $RANK = 0 ] || exit 7; sleep 100")));
  EXPECT_EQ(run.AwaitExitCode(), 7) << run.error();
}

// An all-reduce of two nodes takes at least as many bytes over each link as it has.
TEST_F(Emulated, CountsBytesAndKeepsToTheRate) {
  constexpr double kBytes = 4 << 20;
  const nlohmann::json row = AllReduce("2x1@200mbit", "4M", 5);
  EXPECT_EQ(row.at("wrong"), 0);
  const double wire_bytes = row.at("wire_bytes");
  EXPECT_GE(wire_bytes, kBytes);
  EXPECT_LE(wire_bytes, kBytes * 1.046 * 1.05) << "headers, acknowledgements, a barrier";
  // 128 KiB of five times 4 MiB may go out at once.
  const double fraction = row.at("fraction_of_bound");
  EXPECT_LE(fraction, 1.02) << "the links were faster than they should be";
  EXPECT_GE(fraction, 0.2) << "the links were far slower than they should be";
  // As the launcher has read it: check, warm-up and loop, in and out of place.
  ASSERT_EQ(sent_.size(), 2u);
  for (const pid_t bytes : sent_) EXPECT_GE(bytes, 14 * kBytes);
}

// What ranks of one node say to each other doesn't go over its link.
TEST_F(Emulated, RanksOfANodeShareMemory) {
  const nlohmann::json row = AllReduce("1x2@1mbit", "4M", 5);
  EXPECT_EQ(row.at("wrong"), 0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_LE(sent_[0], 200'000) << "bytes, of the control plane alone";
}

TEST_F(Emulated, NothingIsLeftAfterSigkill) {
  Subprocess run(
      Emulate("3x1@1gbit", Shell("echo $(readlink /proc/self/ns/net) pid $$ end; exec sleep 100")));
  ASSERT_TRUE(run.AwaitText(" end\n", 3));
  const std::vector<std::string> networks = NetworksIn(run.output());
  EXPECT_EQ(networks.size(), 3u) << run.output();
  // The launcher, three agents with all that they have started, and three ranks at least.
  const std::vector<pid_t> users = UsersOf(networks);
  EXPECT_GE(users.size(), 7u);
  for (const pid_t pid : NumbersAfter(run.output(), "pid ")) {
    EXPECT_EQ(std::count(users.begin(), users.end(), pid), 1) << pid;
  }
  run.Signal(SIGKILL);
  run.AwaitEnd();
  for (const pid_t pid : users) EXPECT_TRUE(AwaitGone(pid)) << pid;
  EXPECT_THAT(UsersOf(networks), testing::IsEmpty());
}

// In a user namespace whose root allows no more networks.
TEST_F(Emulated, SaysWhyItIsNotPermitted) {
  std::vector<std::string> command = {
      "unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\"",
      "sh"};
  for (const std::string& word : Emulate("2x1@1gbit", {"true"})) command.push_back(word);
  Subprocess run(command);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("error: emulating a cluster needs network namespaces, which "
                                     "this kernel or container doesn't let us make"));
}

TEST(EmulateOption, SaysWhatIsWrong) {
  Subprocess run(Emulate("4x2", {"true"}));
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(), HasSubstr("--emulate: '4x2' is no cluster; write it as 4x2@1gbit"));
}

}  // namespace
}  // namespace phalanx::testing_support
