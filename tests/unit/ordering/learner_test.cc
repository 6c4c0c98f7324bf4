#include "ordering/learner.h"

#include <string>

#include "gtest/gtest.h"

namespace phalanx::ordering {
namespace {

// Each letter is an operation on a communicator of its own.
class Log {
 public:
  explicit Log(Learner* learner) : learner_(learner) {}

  void Add(const std::string& letters, uint64_t count = 8) {
    for (const char letter : letters) {
      const auto communicator = static_cast<uint16_t>(letter - 'a');
      const Signature signature = {
          OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, count, 0};
      learner_->Add({Lane::Of({communicator}), signature}, next_[communicator]++);
    }
  }

 private:
  Learner* const learner_;
  uint64_t next_[26] = {};
};

std::string Letters(const Schedule& schedule) {
  std::string letters;
  for (const Schedule::Entry& entry : schedule.entries) {
    letters += static_cast<char>('a' + entry.lane.communicator.value);
  }
  return letters;
}

TEST(LearnerTest, FindsTheLastIteration) {
  Learner learner(100);
  Log log(&learner);
  log.Add("xyabcabc");
  EXPECT_FALSE(learner.Find(3).has_value());
  log.Add("abc");
  const auto schedule = learner.Find(3);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(Letters(*schedule), "abc");
  ASSERT_EQ(schedule->bases.size(), 3U);
  EXPECT_EQ(schedule->bases[0].sequence, 3U);
}

TEST(LearnerTest, ForgetsWhatIsLongPast) {
  Learner learner(2);
  Log log(&learner);
  log.Add("ab");
  for (uint64_t count = 1; count <= 1000; ++count) log.Add("a", count);
  log.Add("ababab");
  const auto schedule = learner.Find(3);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(Letters(*schedule), "ab");
}

TEST(LearnerTest, LanesMayInterleaveDifferently) {
  Learner learner(100);
  Log log(&learner);
  log.Add("abcbacabc");
  const auto schedule = learner.Find(3);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(Letters(*schedule), "abc");
}

TEST(LearnerTest, ALongerIterationThatUsesAnOperationTwice) {
  Learner learner(100);
  Log log(&learner);
  log.Add("aabaab");
  const auto schedule = learner.Find(2);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(Letters(*schedule), "aab");
}

TEST(LearnerTest, AnotherSignatureIsAnotherOperation) {
  Learner learner(100);
  Log log(&learner);
  log.Add("ab");
  log.Add("ab", 16);
  EXPECT_FALSE(learner.Find(2).has_value());
}

TEST(LearnerTest, IterationsBeyondTheLimitAreNotFound) {
  Learner learner(2);
  Log log(&learner);
  log.Add("abcabc");
  EXPECT_FALSE(learner.Find(2).has_value());
}

TEST(LearnerTest, MakingCommunicatorsIsNoLoop) {
  Learner learner(100);
  Schedule::Entry split;
  split.lane = Lane::Of(CommunicatorId{1});
  split.signature.kind = OpKind::kSplit;
  for (uint64_t i = 0; i < 8; ++i) learner.Add(split, i);
  EXPECT_FALSE(learner.Find(2).has_value());
  Log log(&learner);
  log.Add("ab");
  learner.Add(split, 8);
  log.Add("ab");
  const auto schedule = learner.Find(2);
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(Letters(*schedule), "ab");
}

TEST(LearnerTest, ForgetsWhenCleared) {
  Learner learner(100);
  Log log(&learner);
  log.Add("ab");
  learner.Clear();
  log.Add("ab");
  EXPECT_FALSE(learner.Find(2).has_value());
}

}  // namespace
}  // namespace phalanx::ordering
