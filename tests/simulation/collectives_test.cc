// Every collective × type × operation × 1 … 17 ranks, in place and out of place, over links and in
// shared memory, with the network's delays and the ranks' pace by chance. PHALANX_TEST_SEED replays
// a run.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "job.h"

namespace phalanx::simulation {
namespace {

using plan::Collective;
using plan::CollectiveKind;

uint64_t BaseSeed() {
  const char* const text = std::getenv("PHALANX_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

// So small that a few hundred bytes take every path, in several rounds.
plan::Limits SmallLimits() {
  plan::Limits limits;
  limits.staged = 256;
  limits.direct_chunk = 64;
  limits.direct_chunk_oversubscribed = 192;
  limits.direct_window = 3;
  limits.exchange = 128;
  limits.exchange_ranks = 4;
  limits.doubling = 192;
  limits.halving = 512;
  limits.halving_folded = 384;
  limits.logarithmic = 512;
  limits.link_chunk_least = 64;
  limits.link_chunk_most = 192;
  limits.link_pieces = 3;
  limits.link_window = 2;
  limits.chain_chunk = 128;
  limits.chain_window = 3;
  return limits;
}

enum class Mechanism { kLinks, kMapped, kCopied };

class Collectives : public testing::TestWithParam<std::tuple<int, Mechanism>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }

  JobOptions Options(uint64_t seed) const {
    JobOptions options;
    options.seed = seed;
    options.size = size();
    options.limits = SmallLimits();
    options.shares_memory = std::get<1>(GetParam()) != Mechanism::kLinks;
    if (std::get<1>(GetParam()) == Mechanism::kCopied) {
      options.copy_windows = 1 + static_cast<uint32_t>(seed % 2);
    }
    options.oversubscribed = seed % 3 == 0;
    return options;
  }

  // Elements such that small, middle-sized and multi-round plans all have their turn.
  std::vector<uint64_t> Counts(DataType type) const {
    const uint64_t element = SizeOf(type);
    const auto ranks = static_cast<uint64_t>(size());
    return {0,
            1,
            13,
            256 / element,
            64 * ranks / element,
            64 * ranks / element + 1,
            777 / element + 64 * ranks / element * 3};
  }

  std::vector<Operation> Everywhere(const Collective& collective, std::mt19937_64* random) const {
    std::vector<Operation> operations;
    const std::vector<Collective> all(static_cast<size_t>(size()), collective);
    operations.emplace_back(all, false, random);
    operations.emplace_back(all, true, random);
    return operations;
  }

  void Run(std::vector<Operation> operations, uint64_t seed) {
    Job job(Options(seed));
    const std::string wrong = job.Run(&operations);
    EXPECT_EQ(wrong, "");
  }
};

// Sanitizers slow the simulation down by an order of magnitude; they see it with fewer
// combinations.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kThinning = 5;
#else
constexpr int kThinning = 1;
#endif

// All pairs for few ranks; for more, some, so that the whole takes seconds.
std::vector<std::pair<DataType, ReduceOp>> Pairs(int size) {
  std::vector<std::pair<DataType, ReduceOp>> pairs;
  const int stride = (size <= 4 ? 1 : size <= 8 ? 7 : 35) * kThinning;
  for (int i = size % stride; i < kDataTypeCount * kReduceOpCount; i += stride) {
    pairs.emplace_back(static_cast<DataType>(i / kReduceOpCount),
                       static_cast<ReduceOp>(i % kReduceOpCount));
  }
  return pairs;
}

TEST_P(Collectives, Reduce) {
  uint64_t seed = BaseSeed();
  for (const auto& [type, op] : Pairs(size())) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kReduce}) {
      std::mt19937_64 random(++seed);
      std::vector<Operation> operations;
      for (const uint64_t count : Counts(type)) {
        Collective collective;
        collective.kind = kind;
        collective.type = type;
        collective.op = op;
        collective.count = count;
        collective.root = static_cast<int>(random() % static_cast<uint64_t>(size()));
        for (Operation& operation : Everywhere(collective, &random)) {
          operations.push_back(std::move(operation));
        }
      }
      Run(std::move(operations), seed);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Collectives, Move) {
  uint64_t seed = BaseSeed();
  for (int index = size() % kThinning; index < kDataTypeCount; index += kThinning) {
    const auto type = static_cast<DataType>(index);
    std::mt19937_64 random(++seed);
    std::vector<Operation> operations;
    for (const CollectiveKind kind :
         {CollectiveKind::kAllGather, CollectiveKind::kBroadcast, CollectiveKind::kGather,
          CollectiveKind::kScatter, CollectiveKind::kAllToAll, CollectiveKind::kBarrier}) {
      for (const uint64_t count : Counts(type)) {
        if (size() > 4 && random() % static_cast<uint64_t>(size()) > 2) continue;
        Collective collective;
        collective.kind = kind;
        collective.type = type;
        collective.count = kind == CollectiveKind::kBarrier ? 0 : count;
        collective.root = static_cast<int>(random() % static_cast<uint64_t>(size()));
        for (Operation& operation : Everywhere(collective, &random)) {
          operations.push_back(std::move(operation));
        }
      }
    }
    std::shuffle(operations.begin(), operations.end(), random);
    Run(std::move(operations), seed);
    if (HasFailure()) return;
  }
}

// Shares of chance sizes, some empty, with gaps between them.
void FillShares(const std::vector<uint64_t>& counts, std::mt19937_64* random,
                std::vector<uint64_t>* displacements) {
  uint64_t at = 0;
  for (const uint64_t count : counts) {
    at += (*random)() % 4;
    displacements->push_back(at);
    at += count;
  }
}

uint64_t ChanceCount(std::mt19937_64* random) {
  return (*random)() % 3 == 0 ? 0 : (*random)() % ((*random)() % 2 == 0 ? 20 : 900);
}

TEST_P(Collectives, UnequalShares) {
  const auto ranks = static_cast<size_t>(size());
  for (uint64_t seed = BaseSeed(); seed < BaseSeed() + 12; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Operation> operations;
    Collective gather;
    gather.kind = CollectiveKind::kAllGatherV;
    gather.type = static_cast<DataType>(seed % kDataTypeCount);
    for (size_t i = 0; i < ranks; ++i) gather.receive_counts.push_back(ChanceCount(&random));
    FillShares(gather.receive_counts, &random, &gather.receive_displacements);
    operations = Everywhere(gather, &random);

    std::vector<Collective> exchange(ranks);
    for (size_t from = 0; from < ranks; ++from) {
      exchange[from].kind = CollectiveKind::kAllToAllV;
      exchange[from].type = gather.type;
      for (size_t to = 0; to < ranks; ++to) {
        const uint64_t count = ChanceCount(&random);
        exchange[from].send_counts.push_back(count);
        exchange[to].receive_counts.push_back(count);
      }
    }
    for (Collective& own : exchange) {
      FillShares(own.send_counts, &random, &own.send_displacements);
      FillShares(own.receive_counts, &random, &own.receive_displacements);
    }
    operations.emplace_back(exchange, false, &random);
    Run(std::move(operations), seed);
  }
}

TEST_P(Collectives, Messages) {
  if (size() == 1) return;  // nobody to send to
  const uint64_t seed = BaseSeed();
  std::mt19937_64 random(seed);
  std::vector<Operation> operations;
  for (const uint64_t count : Counts(DataType::kFloat32)) {
    // Every rank but the last of an odd number sends to or receives from its neighbour.
    std::vector<Collective> all(static_cast<size_t>(size()));
    for (int rank = 0; rank < size(); ++rank) {
      const bool alone = rank == size() - 1 && rank % 2 == 0;
      Collective& own = all[rank];
      own.kind = rank % 2 == 0 ? CollectiveKind::kSend : CollectiveKind::kReceive;
      own.type = DataType::kFloat32;
      own.peer = alone ? 0 : rank ^ 1;
      own.count = alone ? 0 : count;
    }
    operations.emplace_back(all, false, &random);
  }
  Run(std::move(operations), seed);
}

// Another pace and other delays must not change a bit.
TEST_P(Collectives, EqualFromRunToRun) {
  std::vector<Bytes> outputs;
  for (uint64_t seed = BaseSeed(); seed < BaseSeed() + 3; ++seed) {
    std::mt19937_64 same_inputs(17);
    std::vector<Operation> operations;
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat8E4m3}) {
      for (const uint64_t count : Counts(type)) {
        Collective collective;
        collective.kind = CollectiveKind::kAllReduce;
        collective.type = type;
        collective.op = ReduceOp::kAverage;
        collective.count = count;
        for (Operation& operation : Everywhere(collective, &same_inputs)) {
          operations.push_back(std::move(operation));
        }
      }
    }
    JobOptions options = Options(seed);
    options.oversubscribed = false;  // what all ranks agree on is the same in all runs
    Job job(options);
    ASSERT_EQ(job.Run(&operations), "");
    outputs.emplace_back();
    for (const Operation& operation : operations) {
      const Bytes result = operation.Outputs();
      outputs.back().insert(outputs.back().end(), result.begin(), result.end());
    }
    EXPECT_EQ(outputs.back(), outputs.front()) << "seed " << seed;
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<int, Mechanism>>& info) {
  const Mechanism mechanism = std::get<1>(info.param);
  const char* const name = mechanism == Mechanism::kLinks    ? "Links"
                           : mechanism == Mechanism::kMapped ? "Mapped"
                                                             : "Copied";
  return std::string(name) + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives,
                         testing::Combine(testing::Range(1, 18),
                                          testing::Values(Mechanism::kLinks, Mechanism::kMapped,
                                                          Mechanism::kCopied)),
                         NameOfCase);

}  // namespace
}  // namespace phalanx::simulation
