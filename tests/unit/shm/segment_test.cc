// What peers can't do to a segment, what can't be attached, and when memory runs out.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "group_block.h"
#include "memory_limits.h"
#include "shm/shm.h"

namespace phalanx::shm {
namespace {

std::unique_ptr<ShmTransport> Open(uint64_t incarnation, size_t limit = 8 << 20) {
  ShmOptions options;
  options.incarnation = Incarnation{incarnation};
  options.heap_limit_bytes = limit;
  auto transport = OpenShm(options);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

spi::NodePeer PeerOf(int rank, uint64_t incarnation, int fd) {
  return {rank, Incarnation{incarnation}, static_cast<int>(getpid()), fd};
}

TEST(ShmSegment, PeersCannotWriteShrinkOrUnseal) {
  auto transport = Open(1);
  const int fd = transport->domain().segment_fd();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  void* const readable = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_NE(mprotect(readable, 4096, PROT_READ | PROT_WRITE), 0);
  munmap(readable, 4096);
  EXPECT_NE(ftruncate(fd, 4096), 0);
  EXPECT_NE(ftruncate(fd, off_t{1} << 40), 0);
  EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
  EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  // Through /proc as well, where a descriptor is opened anew.
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int again = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(again, 0) << std::strerror(errno);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
  close(again);
}

TEST(ShmSegment, OnlyTheRightMemoryIsAttached) {
  auto own = Open(1);
  auto peer = Open(2);
  const int fd = peer->domain().segment_fd();
  const auto refused = [&](const spi::NodePeer& named) {
    const absl::Status status = own->domain().Attach(0, {named});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(status.message().find("rank 1"), absl::string_view::npos) << status;
  };
  refused(PeerOf(1, 3, fd));  // another incarnation
  spi::NodePeer other_process = PeerOf(1, 2, fd);
  other_process.pid = 1;
  refused(other_process);
  refused(PeerOf(1, 2, -1));
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 1 << 20), 0);
  refused(PeerOf(1, 2, unsealed));
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
  ASSERT_EQ(fcntl(unsealed, F_ADD_SEALS, seals), 0);
  refused(PeerOf(1, 2, unsealed));  // no header
  close(unsealed);
  const int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(fcntl(empty, F_ADD_SEALS, seals), 0);
  refused(PeerOf(1, 2, empty));
  close(empty);

  const auto part = own->domain().PrepareGroup(1);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(own->domain().OpenGroup(CommunicatorId{1}, {0}, {*part}, false).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(own->domain().Attach(0, {PeerOf(1, 2, fd)}).ok());
  EXPECT_EQ(own->domain().Attach(0, {PeerOf(1, 2, fd)}).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ShmSegment, TheLimitHoldsAndFreedMemoryServesAgain) {
  auto transport = Open(1, 4 << 20);
  spi::GroupDomain& domain = transport->domain();
  std::vector<void*> taken;
  while (true) {
    auto memory = domain.Allocate(100'000);
    if (!memory.ok()) {
      EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
      break;
    }
    taken.push_back(*memory);
  }
  EXPECT_GT(taken.size(), 30u);
  EXPECT_LT(taken.size(), 42u);
  for (void* memory : taken) domain.Free(memory);
  for (int i = 0; i < 100; ++i) {
    auto memory = domain.Allocate(3 << 20);
    ASSERT_TRUE(memory.ok()) << memory.status();
    std::memset(*memory, 1, 3 << 20);
    domain.Free(*memory);
  }
}

TEST(ShmSegment, MoreThanTheMachineHasIsRefusedBeforeUse) {
  const size_t too_much = 2 * PhysicalMemory();
  auto transport = Open(1, too_much + (1 << 30));
  const auto memory = transport->domain().Allocate(too_much);
  ASSERT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(memory.status().message().find("the machine"), absl::string_view::npos)
      << memory.status();
  auto small = transport->domain().Allocate(1 << 20);
  EXPECT_TRUE(small.ok()) << small.status();
}

// Control blocks are freed when the group has ended with all members, in any order.
TEST(ShmSegment, GroupsLeaveNoMemoryBehind) {
  std::vector<std::unique_ptr<ShmTransport>> all;
  std::vector<spi::NodePeer> peers;
  for (int rank = 0; rank < 2; ++rank) {
    const uint64_t incarnation = 10 + static_cast<uint64_t>(rank);
    all.push_back(Open(incarnation, 3 << 20));
    peers.push_back(PeerOf(rank, incarnation, all.back()->domain().segment_fd()));
  }
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(all[static_cast<size_t>(rank)]->domain().Attach(rank, peers).ok());
  }
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> parts;
    for (auto& transport : all) {
      auto part = transport->domain().PrepareGroup(2);
      ASSERT_TRUE(part.ok()) << part.status() << " after " << i << " groups";
      parts.push_back(*part);
    }
    auto first = all[0]->domain().OpenGroup(CommunicatorId{1}, {0, 1}, parts, false);
    auto second = all[1]->domain().OpenGroup(CommunicatorId{1}, {0, 1}, parts, false);
    ASSERT_TRUE(first.ok() && second.ok());
    (i % 2 == 0 ? first : second)->reset();
  }
}

TEST(PackedRanges, PositionsAreFoundByArithmetic) {
  const PackedRanges one{100, 0, 50, 1};
  EXPECT_EQ(PositionIn(one, 100, 50), 0u);
  EXPECT_EQ(PositionIn(one, 120, 30), 20u);
  EXPECT_EQ(PositionIn(one, 120, 31), std::nullopt);
  EXPECT_EQ(PositionIn(one, 99, 1), std::nullopt);
  EXPECT_EQ(PositionIn(one, 150, 0), 50u);
  EXPECT_EQ(PositionIn(one, 151, 0), std::nullopt);
  const PackedRanges three{100, 1000, 50, 3};
  EXPECT_EQ(PositionIn(three, 1100, 50), 50u);
  EXPECT_EQ(PositionIn(three, 2149, 1), 149u);
  EXPECT_EQ(PositionIn(three, 1090, 10), std::nullopt);
  EXPECT_EQ(PositionIn(three, 1140, 20), std::nullopt);
  EXPECT_EQ(PositionIn(three, 3100, 1), std::nullopt);
  EXPECT_EQ(PositionIn(three, UINT64_MAX, UINT64_MAX), std::nullopt);
  EXPECT_EQ(PositionIn({0, 10, 10, 0}, 0, 1), std::nullopt);
}

TEST(Counters, CompareAcrossTheWrap) {
  EXPECT_TRUE(HasReached(5, 5));
  EXPECT_FALSE(HasReached(4, 5));
  EXPECT_TRUE(HasReached(1, 0xfffffff0));
  EXPECT_FALSE(HasReached(0xfffffff0, 1));
}

}  // namespace
}  // namespace phalanx::shm
