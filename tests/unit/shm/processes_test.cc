// The group transport between real processes, one of which is killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "shm/shm.h"

namespace phalanx::shm {
namespace {

constexpr int kMost = 4;

// Where processes of one test meet.
struct Board {
  std::atomic<int> opened{0};
  std::atomic<int> prepared{0};
  std::atomic<int> step{0};
  int fds[kMost];
  int pids[kMost];
  char parts[kMost][64];
  size_t part_bytes[kMost];
  std::byte* buffer;  // rank 1's
};

bool Await(const std::atomic<int>& count, int wanted) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (count.load() < wanted) {
    if (deadline.Passed(Clock::now())) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Member {
  std::unique_ptr<ShmTransport> transport;
  std::unique_ptr<spi::GroupTransport> group;
};

// Descriptors are opened through /proc here; in a job the agent passes them on.
bool Join(Board* board, int rank, int size, bool cross_memory_attach, Member* member) {
  ShmOptions options;
  options.incarnation = Incarnation{100 + static_cast<uint64_t>(rank)};
  options.heap_limit_bytes = 16 << 20;
  options.cross_memory_attach = cross_memory_attach;
  auto transport = OpenShm(options);
  if (!transport.ok()) return false;
  member->transport = *std::move(transport);
  spi::GroupDomain& domain = member->transport->domain();
  board->fds[rank] = domain.segment_fd();
  board->pids[rank] = getpid();
  board->opened.fetch_add(1);
  if (!Await(board->opened, size)) return false;
  std::vector<spi::NodePeer> peers;
  std::vector<int> ranks;
  for (int peer = 0; peer < size; ++peer) {
    const std::string path =
        "/proc/" + std::to_string(board->pids[peer]) + "/fd/" + std::to_string(board->fds[peer]);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    peers.push_back({peer, Incarnation{100 + static_cast<uint64_t>(peer)}, board->pids[peer], fd});
    ranks.push_back(peer);
  }
  if (!domain.Attach(rank, peers).ok()) return false;
  for (const spi::NodePeer& peer : peers) close(peer.segment_fd);
  auto part = domain.PrepareGroup(size);
  if (!part.ok()) return false;
  std::memcpy(board->parts[rank], part->data(), part->size());
  board->part_bytes[rank] = part->size();
  board->prepared.fetch_add(1);
  if (!Await(board->prepared, size)) return false;
  std::vector<std::string> parts;
  for (int peer = 0; peer < size; ++peer) {
    parts.emplace_back(board->parts[peer], board->part_bytes[peer]);
  }
  auto group = domain.OpenGroup(CommunicatorId{0}, ranks, parts, size > 2);
  if (!group.ok()) return false;
  member->group = *std::move(group);
  return true;
}

class ShmProcesses : public testing::Test {
 protected:
  void SetUp() override {
    void* const memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board_ = new (memory) Board;
  }
  void TearDown() override {
    for (int pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    munmap(board_, sizeof(Board));
  }
  int Fork(const std::function<bool()>& body) {
    const int pid = fork();
    if (pid == 0) _exit(body() ? 0 : 1);
    children_.push_back(pid);
    return pid;
  }
  int ExitCode(size_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(children_[child], &status, 0), children_[child]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  Board* board_ = nullptr;
  std::vector<int> children_;
};

// Sums of every member's rank and operation, staged or from private memory.
bool ReduceOften(spi::GroupTransport& group, int operations, spi::Publication publication) {
  const int size = group.size();
  std::vector<int64_t> input(1500);
  std::vector<int64_t> tile(input.size());
  const size_t bytes = input.size() * sizeof(int64_t);
  for (int i = 0; i < operations; ++i) {
    for (size_t j = 0; j < input.size(); ++j) {
      input[j] = i * 1000 + group.rank() + static_cast<int64_t>(j);
    }
    spi::GroupOperation operation;
    operation.sequence = static_cast<uint64_t>(i);
    operation.input = reinterpret_cast<const std::byte*>(input.data());
    operation.input_bytes = bytes;
    if (!group.Begin(operation).ok()) return false;
    spi::Publish publish;
    publish.publication = publication;
    publish.bytes = bytes;
    publish.signal = 0;
    publish.acknowledged = 1;
    while (!group.TryPublish(publish)) group.WaitToPublish(publish, std::chrono::milliseconds(1));
    std::vector<int64_t> sum = input;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == group.rank()) continue;
      while (!group.Reached(peer, 0, 0)) group.Wait(peer, 0, 0, std::chrono::milliseconds(1));
      auto read =
          group.Read(peer, Region::kInput, 0, bytes, 0, reinterpret_cast<std::byte*>(tile.data()));
      if (!read.ok()) return false;
      const auto* const values = reinterpret_cast<const int64_t*>(*read);
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += values[j];
    }
    group.Raise(1, 0);
    for (int peer = 0; peer < size && publication == spi::Publication::kInPlace; ++peer) {
      if (peer == group.rank()) continue;
      while (!group.Reached(peer, 1, 0)) group.Wait(peer, 1, 0, std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(group.End().ok());
    for (size_t j = 0; j < sum.size(); ++j) {
      const int64_t wanted = (i * 1000 + static_cast<int64_t>(j)) * size + size * (size - 1) / 2;
      if (sum[j] != wanted) return false;
    }
  }
  return true;
}

TEST_F(ShmProcesses, ReduceTogether) {
  int test = 0;
  for (bool cross_memory_attach : {true, false}) {
    for (spi::Publication publication : {spi::Publication::kStaged, spi::Publication::kInPlace}) {
      board_->opened = board_->prepared = 0;
      const size_t first = children_.size();
      for (int rank = 0; rank < kMost; ++rank) {
        Fork([=, this] {
          Member member;
          return Join(board_, rank, kMost, cross_memory_attach, &member) &&
                 ReduceOften(*member.group, 300, publication);
        });
      }
      for (int rank = 0; rank < kMost; ++rank) {
        EXPECT_EQ(ExitCode(first + static_cast<size_t>(rank)), 0)
            << "rank " << rank << ", variant " << test;
      }
      children_.clear();
      ++test;
    }
  }
}

TEST_F(ShmProcesses, PrivateMemoryOfAKilledPeerIsUnavailable) {
  Fork([this] {
    Member member;
    if (!Join(board_, 1, 2, true, &member)) return false;
    std::vector<std::byte> input(100'000, std::byte{7});
    spi::GroupOperation operation;
    operation.input = input.data();
    operation.input_bytes = input.size();
    if (!member.group->Begin(operation).ok()) return false;
    spi::Publish publish;
    publish.bytes = input.size();
    while (!member.group->TryPublish(publish)) std::this_thread::yield();
    Await(board_->step, 1);  // killed here
    return false;
  });
  Member member;
  ASSERT_TRUE(Join(board_, 0, 2, true, &member));
  spi::GroupTransport& group = *member.group;
  ASSERT_TRUE(group.Begin(spi::GroupOperation()).ok());
  while (!group.Reached(1, 0, 0)) group.Wait(1, 0, 0, std::chrono::milliseconds(1));
  std::vector<std::byte> tile(100'000);
  const auto alive = group.Read(1, Region::kInput, 0, tile.size(), 0, tile.data());
  ASSERT_TRUE(alive.ok()) << alive.status();
  EXPECT_EQ((*alive)[99'999], std::byte{7});
  ASSERT_EQ(kill(children_[0], SIGKILL), 0);
  ASSERT_EQ(waitpid(children_[0], nullptr, 0), children_[0]);
  children_.clear();
  const absl::Status dead = group.ReadInto(1, Region::kInput, 0, tile.size(), 0, tile.data());
  EXPECT_EQ(dead.code(), absl::StatusCode::kUnavailable) << dead;
  EXPECT_NE(dead.message().find("rank 1"), absl::string_view::npos) << dead;
  group.Wait(1, 5, 0, std::chrono::milliseconds(1));  // bounded though nobody will signal
  EXPECT_TRUE(group.End().ok());
}

}  // namespace
}  // namespace phalanx::shm
