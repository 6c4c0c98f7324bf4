// Ranks that issue different operations, where nobody orders them: the transport finds it, on all
// ranks, and no byte of another operation is used.
#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr size_t kCount = 409'600;
constexpr float kUntouched = -7.0f;

struct Difference {
  const char* name;
  // Over links nobody receives what the other sends, so that only the deadline tells.
  bool silent_on_links;
  // Issues this rank's operation; the buffers have room for kCount floats.
  Work (*issue)(Communicator& world, const float* send, float* receive, const OpOptions& options);
};

const Difference kDifferences[] = {
    {"count", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.AllReduce(send, receive, world.rank() == 0 ? kCount : kCount - 2,
                              DataType::kFloat32, ReduceOp::kSum, options);
     }},
    {"small_count", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.AllReduce(send, receive, world.rank() == 0 ? 4 : 2, DataType::kFloat32,
                              ReduceOp::kSum, options);
     }},
    {"type", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.AllReduce(send, receive, world.rank() == 0 ? 8 : 16,
                              world.rank() == 0 ? DataType::kFloat32 : DataType::kBfloat16,
                              ReduceOp::kSum, options);
     }},
    {"reduce_operation", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.AllReduce(send, receive, 8, DataType::kFloat32,
                              world.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax, options);
     }},
    {"root", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.Broadcast(send, receive, 8, DataType::kFloat32, world.rank(), options);
     }},
    {"root_of_the_other", true,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.Broadcast(send, receive, 8, DataType::kFloat32, 1 - world.rank(), options);
     }},
    {"large_root", true,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       return world.Broadcast(send, receive, kCount, DataType::kFloat32, world.rank(), options);
     }},
    {"kind", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       if (world.rank() == 0) {
         return world.AllToAll(send, receive, 4, DataType::kFloat32, options);
       }
       return world.AllReduce(send, receive, 8, DataType::kFloat32, ReduceOp::kSum, options);
     }},
    {"barrier", false,
     [](Communicator& world, const float* send, float* receive, const OpOptions& options) {
       if (world.rank() == 0) return world.Barrier(options);
       return world.AllReduce(send, receive, 8, DataType::kFloat32, ReduceOp::kSum, options);
     }},
};

class MismatchTest
    : public Ranks,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*, Difference>> {
 protected:
  void SetUp() override {
    transport_ = std::get<0>(GetParam());
    expect_orderly_ = false;
  }
  static bool silent() {
    const auto& [transport, key, difference] = GetParam();
    const bool links = std::string(transport) != "shm" || *key != '\0';
    return links && difference.silent_on_links;
  }
};

TEST_P(MismatchTest, IsFoundByBothRanks) {
  std::array<absl::Status, 2> found;
  Run(2, [&](Session& session) {
    Communicator& world = session.view().world();
    const auto rank = static_cast<size_t>(world.rank());
    OpOptions options;
    options.key = std::get<1>(GetParam());
    if (silent()) options.timeout = std::chrono::milliseconds(500);
    float one = 1.0f;
    ASSERT_TRUE(
        world.AllReduce(&one, &one, 1, DataType::kFloat32, ReduceOp::kSum, options).Wait().ok());
    const float own = static_cast<float>(world.rank() + 1);
    const std::vector<float> send(kCount, own);
    std::vector<float> receive(kCount, kUntouched);
    found[rank] = std::get<2>(GetParam()).issue(world, send.data(), receive.data(), options).Wait();
    // Who never looks at the other, as a root, finds it at the next operation.
    if (found[rank].ok()) {
      found[rank] =
          world.AllReduce(&one, &one, 1, DataType::kFloat32, ReduceOp::kSum, options).Wait();
    }
    for (const float value : receive) ASSERT_THAT(value, AnyOf(kUntouched, own));
  });
  if (silent()) {
    for (const absl::Status& status : found) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    }
    return;
  }
  for (const absl::Status& status : found) {
    // The other's end may reach a rank before its own look does.
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnavailable(status)) << status;
  }
  const absl::Status& told = absl::IsInvalidArgument(found[0]) ? found[0] : found[1];
  EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AnyOf(HasSubstr("belongs to another operation"), HasSubstr("refused a message")));
}

INSTANTIATE_TEST_SUITE_P(Transports, MismatchTest,
                         ::testing::Combine(::testing::Values("shm", "ucx", "ofi"),
                                            ::testing::Values("", "loss"),
                                            ::testing::ValuesIn(kDifferences)),
                         [](const auto& chosen) {
                           const bool keyed = *std::get<1>(chosen.param) != '\0';
                           return std::string(std::get<0>(chosen.param)) +
                                  (keyed ? "_keyed_" : "_") + std::get<2>(chosen.param).name;
                         });

using ChangeTest = Ranks;

// A last, smaller batch.
TEST_F(ChangeTest, OfAllRanksTogetherIsNone) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    for (const size_t count : {64, 64, 64, 17}) {
      std::vector<float> values(count, 1.0f);
      ASSERT_TRUE(
          world.AllReduce(values.data(), values.data(), count, DataType::kFloat32, ReduceOp::kSum)
              .Wait()
              .ok());
      for (const float value : values) ASSERT_EQ(value, 2.0f);
    }
  });
}

TEST_F(ChangeTest, OfAMessagesTypeIsRefused) {
  expect_orderly_ = false;
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<float> values(4, kUntouched);
    if (world.rank() == 0) {
      const std::vector<int32_t> sent(4, 1);
      EXPECT_TRUE(world.Send(sent.data(), 4, DataType::kInt32, 1).Wait().ok());
      return;
    }
    const absl::Status status = world.Receive(values.data(), 4, DataType::kFloat32, 0).Wait();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("receive #0 (4 float) on communicator 0: "));
    EXPECT_THAT(values, ::testing::Each(kUntouched));
  });
}

}  // namespace
}  // namespace phalanx
