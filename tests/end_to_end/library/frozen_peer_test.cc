// Every blocking call of the library's returns by its deadline when a peer is frozen: another rank,
// the agent, or the coordinator. Scenarios 13 and 14 of what recovery must get right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

constexpr int kRanks = 3;
// The worker's timeouts are 0.1, 1 and 2 s. What a loaded machine adds is far less than what a call
// that hangs takes.
constexpr int kMostMs = 12'000;

struct Returned {
  std::string code;
  int after_ms = 0;
};

struct Case {
  std::string who;  // is frozen: "rank", "agent" or "coordinator"
  std::string where;
  std::string transport;
};

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.where + "_" + info.param.who + "_" + info.param.transport;
}

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.where << " with a frozen " << value.who << " over " << value.transport;
}

class FrozenPeer : public ::testing::TestWithParam<Case> {
 protected:
  FrozenPeer() {
    std::string pattern = ::testing::TempDir() + "/frozen_peer_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    file_ = folder_ + "/lines";
  }
  ~FrozenPeer() override {
    std::remove(file_.c_str());
    rmdir(folder_.c_str());
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  void AwaitLines(const std::function<bool(const std::vector<std::string>& lines)>& done) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done(Lines())) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << ::testing::PrintToString(Lines());
      usleep(10'000);
    }
  }

  std::string folder_;
  std::string file_;
};

std::map<int, pid_t> ReadyRanks(const std::vector<std::string>& lines) {
  std::map<int, pid_t> pids;
  for (const std::string& line : lines) {
    int rank = 0;
    pid_t pid = 0;
    if (std::sscanf(line.c_str(), "ready %d %d", &rank, &pid) == 2) pids[rank] = pid;
  }
  return pids;
}

std::map<std::string, Returned> CallsIn(const std::vector<std::string>& lines) {
  std::map<std::string, Returned> calls;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string name;
    Returned returned;
    if (words >> name && name != "ready" && words >> returned.code >> returned.after_ms) {
      calls[name] = returned;
    }
  }
  return calls;
}

// The calls that can't succeed.
std::vector<std::string> LateCalls(const Case& value) {
  if (value.where == "join") return {"Join"};
  if (value.where == "operations") {
    return {"AllReduce",
            "ReduceScatter",
            "AllGather",
            "Broadcast",
            "Reduce",
            "Gather",
            "Scatter",
            "AllToAll",
            "Send",
            "Receive",
            "Barrier",
            "Wait",
            "Group",
            "Split",
            "StartSplit",
            "Stream::Synchronize",
            "Session::Synchronize"};
  }
  if (value.where == "restore") return {"Restore", "Run"};
  // A rank that is frozen keeps nobody else from saving.
  if (value.where == "checkpoint" && value.who != "rank") return {"Checkpoint", "Run"};
  return {"Run"};
}

TEST_P(FrozenPeer, EveryBlockingCallReturnsByItsDeadline) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", std::to_string(kRanks), "--", FROZEN_PEER_WORKER,
                  GetParam().where, file_},
                 {{{"PHALANX_TRANSPORT", GetParam().transport}}, ""});
  AwaitLines([](const auto& lines) { return ReadyRanks(lines).size() == kRanks; });
  std::map<int, pid_t> ranks = ReadyRanks(Lines());
  ASSERT_EQ(ranks.size(), kRanks);
  pid_t frozen = run.pid();
  if (GetParam().who == "rank") frozen = ranks[kRanks - 1];
  if (GetParam().who == "coordinator") {
    const std::vector<pid_t> coordinators = ChildrenOf(run.pid(), "coordinator");
    ASSERT_EQ(coordinators.size(), 1u);
    frozen = coordinators[0];
  }
  kill(frozen, SIGSTOP);
  kill(ranks[0], SIGUSR1);
  AwaitLines([](const auto& lines) { return !lines.empty() && lines.back() == "end"; });

  const std::map<std::string, Returned> calls = CallsIn(Lines());
  for (const auto& [name, returned] : calls) {
    std::printf("%-22s %-18s %5d ms\n", name.c_str(), returned.code.c_str(), returned.after_ms);
    EXPECT_LT(returned.after_ms, kMostMs) << name;
  }
  for (const std::string& name : LateCalls(GetParam())) {
    ASSERT_EQ(calls.count(name), 1u) << name;
    EXPECT_EQ(calls.at(name).code, "DEADLINE_EXCEEDED") << name;
  }
  kill(frozen, SIGCONT);
  run.Signal(SIGTERM);
  run.AwaitEnd();
  for (const auto& [rank, pid] : ranks) EXPECT_TRUE(AwaitGone(pid)) << "rank " << rank;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* who : {"rank", "agent", "coordinator"}) {
    for (const char* where : {"join", "operations", "run", "restore", "checkpoint"}) {
      cases.push_back({who, where, "shm"});
    }
  }
  cases.push_back({"rank", "operations", "ucx"});
  cases.push_back({"rank", "operations", "ofi"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, FrozenPeer, ::testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace phalanx::testing_support
