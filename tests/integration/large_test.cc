// Vectors beyond 4 GiB, on real memory: labelled long, since it wants 10 GiB of it.
#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

constexpr size_t kCount = (size_t{4} << 30) + (size_t{256} << 20) + 12'345;  // of one byte each

// Differs between places that are 2^32 apart.
uint8_t Value(int rank, size_t i) {
  return static_cast<uint8_t>(i + (i >> 11) * 3 + (i >> 32) * 5 + static_cast<size_t>(rank) * 7);
}

class LargeTest : public Ranks, public ::testing::WithParamInterface<const char*> {};

TEST_P(LargeTest, AllReduceOfMoreThanFourGibibytes) {
  transport_ = GetParam();
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[kCount]);
    for (size_t i = 0; i < kCount; ++i) bytes[i] = Value(world.rank(), i);
    Work work = world.AllReduce(bytes.get(), bytes.get(), kCount, DataType::kUint8, ReduceOp::kSum);
    const absl::Status ended = work.Wait(std::chrono::minutes(5));
    ASSERT_TRUE(ended.ok()) << ended;
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      wrong += bytes[i] != static_cast<uint8_t>(Value(0, i) + Value(1, i)) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, LargeTest, ::testing::Values("shm", "ucx", "ofi"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace phalanx
