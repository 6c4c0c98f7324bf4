// The control plane as real processes: who dies, what the others hear, and that nothing is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "control_bootstrap/bootstrap.h"
#include "control_process/coordinator_process.h"
#include "control_process/listen.h"
#include "job_fixture.h"

namespace phalanx::control {
namespace {

// One started worker and what it says.
class WorkerProcess {
 public:
  WorkerProcess(const std::vector<std::string>& where, int rank, int world,
                const std::string& then) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out_ = Fd(ends[0]);
    const Fd writer(ends[1]);
    std::vector<std::string> arguments = {"worker",
                                          "--rank",
                                          std::to_string(rank),
                                          "--world",
                                          std::to_string(world),
                                          "--then",
                                          then,
                                          "--out-fd",
                                          std::to_string(writer.get())};
    arguments.insert(arguments.end(), where.begin(), where.end());
    const absl::StatusOr<pid_t> pid = Spawn(TEST_PROGRAM, arguments, {writer.get()});
    EXPECT_TRUE(pid.ok()) << pid.status();
    pid_ = pid.value_or(-1);
  }

  // The next line; "(nothing)" when the process ends or too much time passes first.
  std::string Line() {
    const Deadline deadline = Deadline::After(kPatience);
    while (buffer_.find('\n') == std::string::npos) {
      pollfd waited{out_.get(), POLLIN, 0};
      char bytes[256];
      if (::poll(&waited, 1, deadline.LeftMs(Clock::now(), 100000)) <= 0) return "(nothing)";
      const ssize_t got = ::read(out_.get(), bytes, sizeof(bytes));
      if (got <= 0) return "(nothing)";
      buffer_.append(bytes, static_cast<size_t>(got));
    }
    const size_t end = buffer_.find('\n');
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }

  pid_t pid() const { return pid_; }
  int WaitStatus() {
    const absl::StatusOr<int> status = WaitForExit(pid_, Deadline::After(kPatience));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(-1);
  }

 private:
  Fd out_;
  std::string buffer_;
  pid_t pid_ = -1;
};

class ProcessTest : public JobFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(::setenv("PHALANX_BIN", TEST_PROGRAM, 1), 0);
    // Detached processes become ours, so that the test sees them end.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }

  void TearDown() override {
    JobFixture::TearDown();
    EXPECT_TRUE(AllChildrenEnd());
  }

  // Waits until no child is left, whoever started it. Kills what is left over.
  static bool AllChildrenEnd() {
    bool in_time = true;
    while (true) {
      siginfo_t child{};
      // Looks without reaping, so that the wait below can have a deadline.
      if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) return in_time;
      if (child.si_pid == 0) {
        in_time = AwaitSomeChild() && in_time;
        continue;
      }
      ::waitpid(child.si_pid, nullptr, 0);
    }
  }

  // False when no child ends in time; then one is killed.
  static bool AwaitSomeChild() {
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    pid_t pid = 0;
    children >> pid;
    return pid == 0 || WaitForExit(pid, Deadline::After(kPatience)).ok();
  }

  CoordinatorProcess StartAttached() {
    CoordinatorProcessOptions options;
    options.program = TEST_PROGRAM;
    options.job = job_;
    options.secret = "a secret of at least sixteen bytes";
    absl::StatusOr<CoordinatorProcess> coordinator = StartCoordinatorProcess(options);
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    endpoint_ = coordinator->endpoint;
    return *std::move(coordinator);
  }

  static std::vector<std::string> At(const Agent& agent) {
    return {"--agent", agent.socket_name()};
  }
};

TEST_F(ProcessTest, AKilledWorkerIsReportedWithItsSignal) {
  const CoordinatorProcess coordinator = StartAttached();
  StartAgent(MakeAgentOptions(true));
  WorkerProcess waiting(At(*agents_[0]), 0, 2, "wait");
  WorkerProcess dying(At(*agents_[0]), 1, 2, "pause");
  ASSERT_EQ(waiting.Line(), "joined");
  ASSERT_EQ(dying.Line(), "joined");
  ::kill(dying.pid(), SIGKILL);
  agents_[0]->WorkerExited(dying.pid(), dying.WaitStatus());
  const std::string expected = "rank 1 (pid " + std::to_string(dying.pid()) +
                               " on node 0 'host0') was killed by signal 9 (SIGKILL)";
  EXPECT_EQ(waiting.Line(), expected);
  EXPECT_EQ(agent_events_[0]->over.Wait(), absl::UnavailableError(expected));
  EXPECT_EQ(waiting.WaitStatus(), 0);
}

TEST_F(ProcessTest, AnExitWithoutLeavingIsALoss) {
  const CoordinatorProcess coordinator = StartAttached();
  StartAgent(MakeAgentOptions(true));
  WorkerProcess first(At(*agents_[0]), 0, 2, "wait");
  WorkerProcess second(At(*agents_[0]), 1, 2, "pause");
  ASSERT_EQ(first.Line(), "joined");
  ::kill(second.pid(), SIGTERM);
  // The owner says nothing: what the socket tells has to do.
  EXPECT_EQ(first.Line(), "rank 1 (pid " + std::to_string(second.pid()) +
                              " on node 0 'host0') closed its connection without leaving the job");
}

TEST_F(ProcessTest, AKilledCoordinatorIsReportedToAll) {
  const CoordinatorProcess coordinator = StartAttached();
  StartAgent(MakeAgentOptions(true));
  StartAgent(MakeAgentOptions(true));
  WorkerProcess first(At(*agents_[0]), 0, 2, "wait");
  WorkerProcess second(At(*agents_[1]), 1, 2, "wait");
  ASSERT_EQ(first.Line(), "joined");
  ASSERT_EQ(second.Line(), "joined");
  ::kill(coordinator.pid, SIGKILL);
  const std::string expected =
      "the coordinator at " + ToString(coordinator.endpoint) + " is gone: ";
  EXPECT_EQ(first.Line().substr(0, expected.size()), expected);
  EXPECT_EQ(second.Line().substr(0, expected.size()), expected);
}

TEST_F(ProcessTest, WithoutALauncher) {
  absl::StatusOr<CreatedJob> created = CreateUniqueId({});
  ASSERT_TRUE(created.ok()) << created.status();
  const std::vector<std::string> where = {"--id", *created->id.ToString()};
  constexpr int kWorld = 4;
  std::vector<WorkerProcess> workers;
  for (int rank = 0; rank < kWorld; ++rank) workers.emplace_back(where, rank, kWorld, "leave");
  for (WorkerProcess& worker : workers) {
    EXPECT_EQ(worker.Line(), "joined");
    EXPECT_EQ(worker.Line(), "left");
    EXPECT_EQ(worker.WaitStatus(), 0);
  }
}

TEST_F(ProcessTest, WithoutALauncherAKilledWorkerEndsTheJob) {
  absl::StatusOr<CreatedJob> created = CreateUniqueId({});
  ASSERT_TRUE(created.ok()) << created.status();
  const std::vector<std::string> where = {"--id", *created->id.ToString()};
  WorkerProcess first(where, 0, 2, "wait");
  WorkerProcess second(where, 1, 2, "pause");
  ASSERT_EQ(first.Line(), "joined");
  ::kill(second.pid(), SIGKILL);
  const std::string line = first.Line();
  EXPECT_NE(line.find("rank 1 (pid " + std::to_string(second.pid()) + " on node 0 '"),
            std::string::npos)
      << line;
  EXPECT_NE(line.find("ended without leaving the job"), std::string::npos) << line;
}

TEST_F(ProcessTest, WithoutALauncherTheAgentMayDie) {
  absl::StatusOr<CreatedJob> created = CreateUniqueId({});
  ASSERT_TRUE(created.ok()) << created.status();
  const absl::StatusOr<std::string> name = Bootstrap(created->id, Soon());
  ASSERT_TRUE(name.ok()) << name.status();
  const std::vector<std::string> where = {"--agent", *name};
  WorkerProcess first(where, 0, 2, "wait");
  WorkerProcess second(where, 1, 2, "wait");
  ASSERT_EQ(first.Line(), "joined");
  ASSERT_EQ(second.Line(), "joined");
  // Who listens there is known to the kernel.
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name->data(), name->size());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name->size())),
            0);
  ucred agent{};
  socklen_t length = sizeof(agent);
  ASSERT_EQ(::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &agent, &length), 0);
  ASSERT_NE(agent.pid, ::getpid());
  ::kill(agent.pid, SIGKILL);
  for (WorkerProcess* worker : {&first, &second}) {
    EXPECT_EQ(worker->Line(), "the agent of node 0 is gone (it closed its connection)");
  }
}

TEST_F(ProcessTest, ACreatorThatGoesEndsAnUnusedCoordinator) {
  absl::StatusOr<CreatedJob> created = CreateUniqueId({});
  ASSERT_TRUE(created.ok()) << created.status();
  created->lifeline.Reset(-1);
  EXPECT_TRUE(AllChildrenEnd());
}

TEST_F(ProcessTest, AddressAndKeyFile) {
  const std::string key_file = ::testing::TempDir() + "phalanx_key_" + job_;
  {
    std::ofstream file(key_file);
    file << RandomBytes(32);
  }
  ASSERT_EQ(::chmod(key_file.c_str(), 0600), 0);
  // A port that was free a moment ago.
  absl::StatusOr<Listener> probe = Listen({"127.0.0.1", 0});
  ASSERT_TRUE(probe.ok());
  const std::string address = ToString(probe->endpoint);

  const absl::StatusOr<AddressAndKey> where = ReadAddressAndKey(address.c_str(), key_file.c_str());
  ASSERT_TRUE(where.ok()) << where.status();
  const absl::Status taken = StartCoordinatorAt(*where, kPatience).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(taken.message().find("the address is in use"), absl::string_view::npos) << taken;
  probe->fd.Reset(-1);

  const std::vector<std::string> words = {"--address", address, "--key-file", key_file};
  // Rank 1 comes first and waits for the coordinator.
  WorkerProcess second(words, 1, 2, "leave");
  WorkerProcess first(words, 0, 2, "leave");
  for (WorkerProcess* worker : {&first, &second}) {
    EXPECT_EQ(worker->Line(), "joined");
    EXPECT_EQ(worker->Line(), "left");
    EXPECT_EQ(worker->WaitStatus(), 0);
  }
  ::unlink(key_file.c_str());
}

TEST_F(ProcessTest, WhatIsMissingIsNamed) {
  const auto message = [](const char* address, const char* key_file) {
    return std::string(ReadAddressAndKey(address, key_file).status().message());
  };
  EXPECT_NE(message(nullptr, nullptr).find("PHALANX_ADDRESS"), std::string::npos);
  EXPECT_NE(message(nullptr, nullptr).find("PHALANX_KEY_FILE"), std::string::npos);
  EXPECT_EQ(message("127.0.0.1:1", "").find("PHALANX_ADDRESS"), std::string::npos);
  EXPECT_NE(message("127.0.0.1:1", "").find("PHALANX_KEY_FILE"), std::string::npos);
  EXPECT_NE(message("127.0.0.1:1", "/nowhere/key").find("/nowhere/key"), std::string::npos);
  EXPECT_NE(message("127.0.0.1", "/nowhere/key").find("PHALANX_ADDRESS"), std::string::npos);
}

TEST_F(ProcessTest, AnAddressThatNobodyReachesIsRefused) {
  for (const char* address : {"0.0.0.0", "::", "192.0.2.1"}) {
    CreateOptions options;
    options.bind = address;
    EXPECT_EQ(CreateUniqueId(options).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST_F(ProcessTest, TheProgramIsNamedWhenItIsMissing) {
  ASSERT_EQ(::setenv("PHALANX_BIN", "/nowhere/phalanx", 1), 0);
  const absl::Status status = CreateUniqueId({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nowhere/phalanx"), absl::string_view::npos) << status;
}

TEST(UniqueIdTest, SurvivesTheWay) {
  UniqueId id{RandomJobId(), {std::string(40, 'h'), 65535}, RandomBytes(UniqueId::kSecretBytes)};
  const absl::StatusOr<std::string> bytes = id.ToBytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_LE(bytes->size(), UniqueId::kMostBytes);
  EXPECT_LE(id.ToString()->size(), UniqueId::kMostBytes);
  std::string padded = *bytes;
  padded.resize(UniqueId::kMostBytes, '\0');
  for (const absl::StatusOr<UniqueId>& back :
       {UniqueId::FromBytes(*bytes), UniqueId::FromBytes(padded),
        UniqueId::FromString(*id.ToString())}) {
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->job, id.job);
    EXPECT_EQ(back->coordinator.host, id.coordinator.host);
    EXPECT_EQ(back->coordinator.port, id.coordinator.port);
    EXPECT_EQ(back->secret, id.secret);
  }
  for (size_t i = 0; i < bytes->size(); ++i) {
    EXPECT_FALSE(UniqueId::FromBytes(absl::string_view(*bytes).substr(0, i)).ok()) << i;
    std::string changed = *bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(UniqueId::FromBytes(changed).ok()) << i;
  }
  EXPECT_FALSE(UniqueId::FromString("no id").ok());
  id.coordinator.host += 'h';
  EXPECT_FALSE(id.ToBytes().ok());
}

}  // namespace
}  // namespace phalanx::control
