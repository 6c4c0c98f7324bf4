#include "fusion/negotiation.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::fusion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ordering::Signature Sum(uint64_t count, DataType type = DataType::kFloat32,
                        ReduceOp op = ReduceOp::kSum) {
  ordering::Signature signature;
  signature.kind = ordering::OpKind::kAllReduce;
  signature.type = type;
  signature.reduce = op;
  signature.count = count;
  return signature;
}

class Job {
 public:
  explicit Job(int size, uint64_t most_bytes = 1 << 20) {
    for (int rank = 0; rank < size; ++rank) ranks_.push_back(Negotiation({rank, size, most_bytes}));
  }
  Negotiation& operator[](size_t rank) { return ranks_[rank]; }
  void AddEverywhere(const std::string& key, const ordering::Signature& signature) {
    for (Negotiation& rank : ranks_) rank.Add(key, signature);
  }
  // One round; all ranks conclude the same.
  Conclusion Round() {
    std::vector<std::string> messages;
    for (Negotiation& rank : ranks_) {
      const size_t bytes = rank.MessageBytes();
      messages.push_back(rank.Message());
      EXPECT_EQ(messages.back().size(), bytes);
    }
    Conclusion first = *ranks_[0].Conclude(messages);
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      EXPECT_EQ(Keys(*ranks_[rank].Conclude(messages)), Keys(first));
    }
    return first;
  }
  static std::vector<std::vector<std::string>> Keys(const Conclusion& conclusion) {
    std::vector<std::vector<std::string>> keys;
    for (const Batch& batch : conclusion.batches) keys.push_back(batch.keys);
    return keys;
  }

 private:
  std::vector<Negotiation> ranks_;
};

TEST(NegotiationTest, WhatIsReadyEverywhereTravelsTogether) {
  Job job(2);
  job[0].Add("a", Sum(1));
  job[0].Add("b", Sum(2));
  job[1].Add("b", Sum(2));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("b")));
  EXPECT_THAT(job[0].MissingFor("a"), ElementsAre(1));
  EXPECT_EQ(job[0].waiting(), 1u);
  EXPECT_EQ(job[0].waiting_bytes(), 4u);
  EXPECT_FALSE(job[0].has_news());
  job[1].Add("c", Sum(3));
  job[1].Add("a", Sum(1));
  job[0].Add("c", Sum(3));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("a", "c")));
  EXPECT_EQ(job[0].waiting(), 0u);
}

TEST(NegotiationTest, UsesOfAKeyAreASequence) {
  Job job(2);
  job[0].Add("a", Sum(1));
  job[0].Add("a", Sum(1));
  job[1].Add("a", Sum(1));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("a")));
  EXPECT_THAT(Job::Keys(job.Round()), IsEmpty());
  EXPECT_EQ(job[0].waiting(), 1u);
  job[1].Add("a", Sum(1));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("a")));
}

TEST(NegotiationTest, PacksUpToTheLimitAndByTypeAndOperation) {
  Job job(3, /*most_bytes=*/100);
  job.AddEverywhere("a", Sum(20));
  job.AddEverywhere("b", Sum(10, DataType::kInt32));
  job.AddEverywhere("c", Sum(5));
  job.AddEverywhere("d", Sum(1));
  job.AddEverywhere("e", Sum(26));
  job.AddEverywhere("f", Sum(1, DataType::kFloat32, ReduceOp::kMax));
  job.AddEverywhere("g", Sum(1, DataType::kFloat32, ReduceOp::kPreMultipliedSum));
  job.AddEverywhere("h", Sum(1));
  EXPECT_THAT(Job::Keys(job.Round()),
              ElementsAre(ElementsAre("a", "c"), ElementsAre("b"), ElementsAre("d", "h"),
                          ElementsAre("e"), ElementsAre("f"), ElementsAre("g")));
}

TEST(NegotiationTest, AllRanksMayChangeTogether) {
  Job job(2);
  job.AddEverywhere("a", Sum(8));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("a")));
  job.AddEverywhere("a", Sum(5));
  const Conclusion conclusion = job.Round();
  EXPECT_THAT(Job::Keys(conclusion), ElementsAre(ElementsAre("a")));
  EXPECT_THAT(conclusion.mismatches, IsEmpty());
}

TEST(NegotiationTest, AMismatchIsToldToAllAndEndsThatUseAlone) {
  Job job(3);
  job.AddEverywhere("a", Sum(8));
  job.Round();
  job[0].Add("a", Sum(8));
  job[1].Add("a", Sum(8));
  job[2].Add("a", Sum(9));
  const Conclusion conclusion = job.Round();
  EXPECT_THAT(conclusion.batches, IsEmpty());
  ASSERT_EQ(conclusion.mismatches.size(), 1u);
  EXPECT_EQ(conclusion.mismatches[0].key, "a");
  EXPECT_EQ(conclusion.mismatches[0].left.rank, 0);
  EXPECT_EQ(conclusion.mismatches[0].left.signature.count, 8u);
  EXPECT_EQ(conclusion.mismatches[0].right.rank, 2);
  EXPECT_EQ(conclusion.mismatches[0].right.signature.count, 9u);
  EXPECT_EQ(job[2].waiting(), 0u);
  job.AddEverywhere("a", Sum(3));
  EXPECT_THAT(Job::Keys(job.Round()), ElementsAre(ElementsAre("a")));
}

TEST(NegotiationTest, AKnownKeyCostsABit) {
  Job job(2);
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("layer" + std::to_string(i) + ".weight");
  const auto rounds = [&] {
    for (const std::string& key : keys) job.AddEverywhere(key, Sum(4));
    int count = 0;
    for (; job[0].waiting() > 0 && count < 100; ++count) job.Round();
    return count;
  };
  EXPECT_GT(rounds(), 1);  // the names don't fit into one message
  EXPECT_EQ(rounds(), 1);
}

TEST(NegotiationTest, OldKeysMakeRoom) {
  Job job(2);
  for (int i = 0; i < 10'000; ++i) {
    job.AddEverywhere("step" + std::to_string(i), Sum(1));
    EXPECT_EQ(job.Round().batches.size(), 1u);
  }
  EXPECT_LE(job[0].MessageBytes(), 4096u);
}

TEST(NegotiationTest, RefusesWhatIsNoMessage) {
  Negotiation negotiation({0, 2, 100});
  const std::string good = negotiation.Message();
  EXPECT_EQ(negotiation.Conclude({good, "short"}).status().code(), absl::StatusCode::kInternal);
  std::string bad = good;
  bad[8] = 3;   // a key of three bytes
  bad[9] = 99;  // of no type
  EXPECT_EQ(negotiation.Conclude({good, bad}).status().code(), absl::StatusCode::kInternal);
}

// Whatever each rank's order and timing, every use is concluded on once, in the order of its key.
TEST(NegotiationTest, RandomOrdersComeToTheSameEnd) {
  const char* const given = std::getenv("PHALANX_TEST_SEED");
  for (uint64_t run = 0; run < 50; ++run) {
    const uint64_t seed = given == nullptr ? 7000 + run : std::strtoull(given, nullptr, 10);
    SCOPED_TRACE("PHALANX_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const size_t size = 1 + random() % 5;
    Job job(static_cast<int>(size), 64);
    std::vector<std::string> uses;
    for (int i = 0; i < 60; ++i) uses.push_back("k" + std::to_string(random() % 12));
    std::vector<std::vector<std::string>> left(size, uses);
    for (auto& order : left) std::shuffle(order.begin(), order.end(), random);
    size_t concluded = 0;
    for (int round = 0; round < 1000 && concluded < uses.size(); ++round) {
      for (size_t rank = 0; rank < size; ++rank) {
        for (uint64_t n = random() % 6; n > 0 && !left[rank].empty(); --n) {
          job[rank].Add(left[rank].back(), Sum(left[rank].back().size()));
          left[rank].pop_back();
        }
      }
      for (const auto& batch : job.Round().batches) concluded += batch.keys.size();
    }
    EXPECT_EQ(concluded, uses.size());
    if (given != nullptr) break;
  }
}

}  // namespace
}  // namespace phalanx::fusion
