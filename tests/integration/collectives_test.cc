// Every operation of the public API, values checked, in and out of place.
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

// Element i of rank r's contribution: whole numbers, so that sums are exact.
float Value(int rank, size_t i) {
  return static_cast<float>((static_cast<size_t>(rank) * 7 + i * 3) % 101);
}

std::vector<float> Values(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Value(rank, i);
  return values;
}

float Sum(int size, size_t i) {
  float sum = 0;
  for (int r = 0; r < size; ++r) sum += Value(r, i);
  return sum;
}

struct Memory {
  const char* name;
  bool allocated;
  bool cross_memory_attach;
};

class CollectivesTest : public Ranks, public ::testing::WithParamInterface<Memory> {
 protected:
  void SetUp() override { cross_memory_attach_ = GetParam().cross_memory_attach; }

  // A buffer of the parameter's kind with these values.
  struct Held {
    Buffer shared;
    std::vector<float> own;
    float* data = nullptr;
  };
  static Held Hold(Session& session, const std::vector<float>& values, size_t count) {
    Held held;
    if (GetParam().allocated) {
      held.shared = *session.Allocate(std::max<size_t>(count, 1) * sizeof(float));
      held.data = held.shared.as<float>();
    } else {
      held.own.resize(std::max<size_t>(count, 1));
      held.data = held.own.data();
    }
    std::copy(values.begin(), values.end(), held.data);
    return held;
  }
};

constexpr size_t kCounts[] = {0, 1, 5, 1000, 4096, 40'000, 300'001};
constexpr DataType kFloat = DataType::kFloat32;

TEST_P(CollectivesTest, AllReduce) {
  Run(4, [](Session& session) {
    Communicator& world = session.view().world();
    for (const size_t count : kCounts) {
      for (const bool in_place : {false, true}) {
        Held send = Hold(session, Values(world.rank(), count), count);
        Held receive = Hold(session, {}, count);
        float* const out = in_place ? send.data : receive.data;
        ASSERT_TRUE(world.AllReduce(send.data, out, count, kFloat, ReduceOp::kSum).Wait().ok());
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], Sum(world.size(), i)) << count;
      }
    }
  });
}

TEST_P(CollectivesTest, ReduceScatterAndAllGather) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    const auto size = static_cast<size_t>(world.size());
    const auto rank = static_cast<size_t>(world.rank());
    for (const size_t count : kCounts) {
      for (const bool in_place : {false, true}) {
        Held whole = Hold(session, Values(world.rank(), count * size), count * size);
        Held part = Hold(session, {}, count);
        float* const mine = in_place ? whole.data + rank * count : part.data;
        ASSERT_TRUE(
            world.ReduceScatter(whole.data, mine, count, kFloat, ReduceOp::kSum).Wait().ok());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(mine[i], Sum(world.size(), rank * count + i));
        }
        ASSERT_TRUE(world.AllGather(mine, whole.data, count, kFloat).Wait().ok());
        for (size_t i = 0; i < count * size; ++i) ASSERT_EQ(whole.data[i], Sum(world.size(), i));
      }
    }
  });
}

TEST_P(CollectivesTest, Rooted) {
  Run(4, [](Session& session) {
    Communicator& world = session.view().world();
    const auto size = static_cast<size_t>(world.size());
    for (const size_t count : kCounts) {
      for (int root = 0; root < world.size(); root += 3) {
        const bool at_root = world.rank() == root;
        Held send = Hold(session, Values(world.rank(), count), count);
        Held whole = Hold(session, {}, count * size);
        ASSERT_TRUE(
            world.Reduce(send.data, whole.data, count, kFloat, ReduceOp::kSum, root).Wait().ok());
        for (size_t i = 0; at_root && i < count; ++i) {
          ASSERT_EQ(whole.data[i], Sum(world.size(), i));
        }
        ASSERT_TRUE(world.Gather(send.data, whole.data, count, kFloat, root).Wait().ok());
        for (size_t i = 0; at_root && i < count * size; ++i) {
          ASSERT_EQ(whole.data[i], Value(static_cast<int>(i / count), i % count));
        }
        ASSERT_TRUE(world.Scatter(whole.data, send.data, count, kFloat, root).Wait().ok());
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(send.data[i], Value(world.rank(), i));
        ASSERT_TRUE(world.Broadcast(send.data, send.data, count, kFloat, root).Wait().ok());
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(send.data[i], Value(root, i));
      }
    }
  });
}

TEST_P(CollectivesTest, AllToAll) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    const auto size = static_cast<size_t>(world.size());
    const auto rank = static_cast<size_t>(world.rank());
    for (const size_t count : kCounts) {
      Held send = Hold(session, Values(world.rank(), count * size), count * size);
      Held receive = Hold(session, {}, count * size);
      ASSERT_TRUE(world.AllToAll(send.data, receive.data, count, kFloat).Wait().ok());
      for (size_t i = 0; i < count * size; ++i) {
        ASSERT_EQ(receive.data[i], Value(static_cast<int>(i / count), rank * count + i % count));
      }
    }
  });
}

TEST_P(CollectivesTest, UnequalParts) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    const auto rank = static_cast<size_t>(world.rank());
    const std::vector<uint64_t> counts = {5, 0, 70'000};
    const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    Held send = Hold(session, Values(world.rank(), counts[rank]), counts[rank]);
    Held all = Hold(session, {}, total);
    ASSERT_TRUE(world.AllGather(send.data, all.data, Parts{counts, {}}, kFloat).Wait().ok());
    for (uint64_t i = 0; i < total; ++i) {
      const bool first = i < counts[0];
      ASSERT_EQ(all.data[i], first ? Value(0, i) : Value(2, i - counts[0]));
    }
    // Rank a sends (a + 1) * (b + 2) elements to b.
    std::vector<uint64_t> sent(3);
    std::vector<uint64_t> received(3);
    for (uint64_t peer = 0; peer < 3; ++peer) {
      sent[peer] = (rank + 1) * (peer + 2) * 1000;
      received[peer] = (peer + 1) * (rank + 2) * 1000;
    }
    const uint64_t send_total = std::accumulate(sent.begin(), sent.end(), uint64_t{0});
    const uint64_t receive_total = std::accumulate(received.begin(), received.end(), uint64_t{0});
    Held parts = Hold(session, Values(world.rank(), send_total), send_total);
    Held out = Hold(session, {}, receive_total);
    ASSERT_TRUE(world.AllToAll(parts.data, Parts{sent, {}}, out.data, Parts{received, {}}, kFloat)
                    .Wait()
                    .ok());
    uint64_t at = 0;
    for (uint64_t peer = 0; peer < 3; ++peer) {
      uint64_t start = 0;  // of our part in the peer's vector
      for (uint64_t before = 0; before < rank; ++before) start += (peer + 1) * (before + 2) * 1000;
      for (uint64_t i = 0; i < received[peer]; ++i) {
        ASSERT_EQ(out.data[at++], Value(static_cast<int>(peer), start + i));
      }
    }
  });
}

TEST_P(CollectivesTest, MessagesInAGroupAndToOneself) {
  Run(4, [](Session& session) {
    Communicator& world = session.view().world();
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    for (const size_t count : kCounts) {
      Held send = Hold(session, Values(world.rank(), count), count);
      Held left = Hold(session, {}, count);
      Held self = Hold(session, {}, count);
      Group group;
      OpOptions in_group;
      in_group.group = &group;
      world.Send(send.data, count, kFloat, next, in_group);
      world.Receive(left.data, count, kFloat, previous, in_group);
      world.Send(send.data, count, kFloat, world.rank(), in_group);
      world.Receive(self.data, count, kFloat, world.rank(), in_group);
      ASSERT_TRUE(group.Launch().Wait().ok());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(left.data[i], Value(previous, i));
        ASSERT_EQ(self.data[i], Value(world.rank(), i));
      }
    }
  });
}

// Both send first, ungrouped, and only then receive: nothing may wait for the program's order.
TEST_P(CollectivesTest, CrossedSends) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const size_t count = size_t{1} << 20;
    Held send = Hold(session, Values(world.rank(), count), count);
    Held receive = Hold(session, {}, count);
    Work sent = world.Send(send.data, count, kFloat, 1 - world.rank());
    Work received = world.Receive(receive.data, count, kFloat, 1 - world.rank());
    ASSERT_TRUE(received.Wait().ok());
    ASSERT_TRUE(sent.Wait().ok());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(receive.data[i], Value(1 - world.rank(), i));
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, CollectivesTest,
                         ::testing::Values(Memory{"Allocated", true, true},
                                           Memory{"Attached", false, true},
                                           Memory{"Copied", false, false}),
                         [](const auto& at) { return std::string(at.param.name); });

}  // namespace
}  // namespace phalanx
