// Jobs without a launcher: by a unique id, and by address and key.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

// A socket that listens on a free port of loopback, or holds it for nobody.
class Port {
 public:
  Port() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { Free(); }
  void Free() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int fd_;
  int number_ = 0;
};

class Launcherless : public ::testing::Test {
 protected:
  Launcherless() {
    char name[] = "/tmp/phalanx_launcherless.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Launcherless() override { std::filesystem::remove_all(folder_); }

  std::string KeyFile(const std::string& name, const std::string& secret) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << secret;
    chmod(path.c_str(), 0600);
    return path;
  }

  std::unique_ptr<Subprocess> Start(int rank, int size, Environment environment,
                                    const std::string& mode = "join") {
    Subprocess::Options options;
    options.environment = std::move(environment);
    options.environment["PHALANX_BIN"] = PHALANX_COMMAND;
    options.environment["PHALANX_RANK"] = std::to_string(rank);
    options.environment["PHALANX_WORLD_SIZE"] = std::to_string(size);
    return std::make_unique<Subprocess>(std::vector<std::string>{SUM_WORKER, mode}, options);
  }

  std::string folder_;
};

void ExpectSums(const std::vector<std::unique_ptr<Subprocess>>& ranks, int sum) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(ranks[rank]->AwaitExitCode(), 0) << ranks[rank]->error();
    EXPECT_THAT(ranks[rank]->output(),
                HasSubstr("rank " + std::to_string(rank) + " sum " + std::to_string(sum)));
  }
}

TEST_F(Launcherless, ByAUniqueId) {
  std::vector<std::unique_ptr<Subprocess>> ranks;
  ranks.push_back(Start(0, 3, {}, "create"));
  ASSERT_TRUE(ranks[0]->AwaitOutput([&] {
    return ranks[0]->output().find('\n') != std::string::npos;
  })) << ranks[0]->error();
  const std::string& output = ranks[0]->output();
  const std::string id = output.substr(3, output.find('\n') - 3);
  EXPECT_LE(id.size(), 128u);
  for (int rank = 1; rank < 3; ++rank) {
    ranks.push_back(Start(rank, 3, {{"PHALANX_UNIQUE_ID", id}}));
  }
  ExpectSums(ranks, 6);
}

TEST_F(Launcherless, ByAddressAndKey) {
  Port port;
  port.Free();
  const Environment environment = {{"PHALANX_ADDRESS", port.address()},
                                   {"PHALANX_KEY_FILE", KeyFile("key", "sixteen secret bytes")}};
  std::vector<std::unique_ptr<Subprocess>> ranks;
  for (int rank = 0; rank < 3; ++rank) ranks.push_back(Start(rank, 3, environment));
  ExpectSums(ranks, 6);
}

TEST_F(Launcherless, TheLastRankMayComeFirst) {
  Port port;
  port.Free();
  const Environment environment = {{"PHALANX_ADDRESS", port.address()},
                                   {"PHALANX_KEY_FILE", KeyFile("key", "sixteen secret bytes")},
                                   {"PHALANX_JOIN_TIMEOUT", "30"}};
  std::vector<std::unique_ptr<Subprocess>> ranks(2);
  ranks[1] = Start(1, 2, environment);
  ranks[0] = Start(0, 2, environment);
  ExpectSums(ranks, 3);
}

TEST_F(Launcherless, AddressInUse) {
  Port taken;
  auto rank = Start(0, 2,
                    {{"PHALANX_ADDRESS", taken.address()},
                     {"PHALANX_KEY_FILE", KeyFile("key", "sixteen secret bytes")}});
  EXPECT_EQ(rank->AwaitExitCode(), 1);
  EXPECT_THAT(rank->error(), HasSubstr("in use"));
  EXPECT_THAT(rank->error(), HasSubstr(taken.address()));
}

TEST_F(Launcherless, WhatIsMissingIsNamed) {
  auto without_key = Start(0, 2, {{"PHALANX_ADDRESS", "127.0.0.1:1"}});
  EXPECT_EQ(without_key->AwaitExitCode(), 1);
  EXPECT_THAT(without_key->error(), HasSubstr("PHALANX_KEY_FILE"));
  auto without_file =
      Start(0, 2, {{"PHALANX_ADDRESS", "127.0.0.1:1"}, {"PHALANX_KEY_FILE", folder_ + "/nothing"}});
  EXPECT_EQ(without_file->AwaitExitCode(), 1);
  EXPECT_THAT(without_file->error(), HasSubstr("nothing"));
}

TEST_F(Launcherless, AMissingRankIsNamedAtTheDeadline) {
  Port port;
  port.Free();
  auto rank = Start(0, 2,
                    {{"PHALANX_ADDRESS", port.address()},
                     {"PHALANX_KEY_FILE", KeyFile("key", "sixteen secret bytes")},
                     {"PHALANX_JOIN_TIMEOUT", "2"}});
  EXPECT_EQ(rank->AwaitExitCode(), 1);
  EXPECT_THAT(rank->error(), HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_THAT(rank->error(), HasSubstr("rank 1"));
}

}  // namespace
}  // namespace phalanx::testing_support
