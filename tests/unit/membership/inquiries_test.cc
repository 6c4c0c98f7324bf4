// What witnesses say about a suspect, and what follows from it.
#include "membership/inquiries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace phalanx::membership {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Question = Inquiries::Question;

// Ticks each 100 ms; 9 is the suspect.
class InquiriesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSuspect = 9;

  static Clock::time_point At(int ms) { return Clock::time_point(milliseconds(ms)); }
  Inquiries::Findings Tick() {
    now_ms_ += 100;
    return inquiries_.Tick(At(now_ms_), witnesses_);
  }
  // Ticks until somebody is asked.
  std::vector<Question> AwaitQuestions(int most_ms = 60'000) {
    for (const int end = now_ms_ + most_ms; now_ms_ < end;) {
      const Inquiries::Findings findings = Tick();
      EXPECT_THAT(findings.unanswered, IsEmpty());
      if (!findings.questions.empty()) return findings.questions;
    }
    return {};
  }
  void Report(const Question& question, bool answered) {
    inquiries_.Report(question.suspect, question.witness, question.round, answered, At(now_ms_));
  }

  Inquiries inquiries_{InquirySettings{}};
  std::vector<uint64_t> witnesses_ = {1, 2, 3};
  int now_ms_ = 0;
};

TEST_F(InquiriesTest, TwoWitnessesAreAskedAndOneTickAfterBothHeardNothingThereIsAVerdict) {
  EXPECT_THAT(Tick().questions, IsEmpty());
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_NE(asked[0].witness, asked[1].witness);
  EXPECT_EQ(asked[0].suspect, kSuspect);
  Report(asked[0], false);
  EXPECT_THAT(Tick().unanswered, IsEmpty());
  EXPECT_THAT(Tick().unanswered, IsEmpty());
  Report(asked[1], false);
  EXPECT_THAT(Tick().unanswered, IsEmpty());
  EXPECT_THAT(Tick().unanswered, ElementsAre(kSuspect));
  EXPECT_THAT(Tick().unanswered, IsEmpty());
}

TEST_F(InquiriesTest, OneThatHasAnsweredAnybodyIsAskedAboutLater) {
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  Report(asked[0], false);
  Report(asked[1], true);
  for (int i = 0; i < 9; ++i) {
    const Inquiries::Findings findings = Tick();
    EXPECT_THAT(findings.questions, IsEmpty());
    EXPECT_THAT(findings.unanswered, IsEmpty());
  }
  EXPECT_EQ(Tick().questions.size(), 2U);
  Report(asked[0], false);  // of the round before
  Report(asked[1], false);
  Tick();
  EXPECT_THAT(Tick().unanswered, IsEmpty());
}

TEST_F(InquiriesTest, WhoeverIsHeardIsNotAskedAboutAnyMore) {
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  Report(asked[0], false);
  Report(asked[1], false);
  Tick();
  inquiries_.End(kSuspect);
  EXPECT_THAT(Tick().unanswered, IsEmpty());
  inquiries_.Begin(kSuspect);
  const std::vector<Question> again = Tick().questions;
  Report(asked[0], false);  // what was said of it before
  Report(asked[1], false);
  Report({kSuspect, 7, again[0].round}, false);  // that nobody has asked
  Tick();
  EXPECT_THAT(Tick().unanswered, IsEmpty());
}

TEST_F(InquiriesTest, OneWitnessIsEnoughWhereThereIsNoOther) {
  witnesses_ = {4};
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  ASSERT_EQ(asked.size(), 1U);
  Report(asked[0], false);
  Tick();
  EXPECT_THAT(Tick().unanswered, ElementsAre(kSuspect));
}

TEST_F(InquiriesTest, WithoutAWitnessThereIsNoVerdict) {
  witnesses_.clear();
  inquiries_.Begin(kSuspect);
  EXPECT_THAT(AwaitQuestions(), IsEmpty());
}

TEST_F(InquiriesTest, AWitnessThatSaysNothingIsNoWitnessAndOthersAreAsked) {
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  Report(asked[0], false);
  const std::vector<Question> next = AwaitQuestions();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_GT(now_ms_, 9000);  // it might be slow
  EXPECT_TRUE(next[0].witness != asked[0].witness || next[1].witness != asked[1].witness);
}

TEST_F(InquiriesTest, AWitnessThatIsASuspectItselfOrGoneCountsForNothing) {
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  Report(asked[0], false);
  Report(asked[1], false);
  std::erase(witnesses_, asked[0].witness);
  const Inquiries::Findings findings = Tick();
  EXPECT_THAT(findings.unanswered, IsEmpty());
  EXPECT_EQ(findings.questions.size(), 2U);  // anew
  Report(asked[1], false);
  Tick();
  EXPECT_THAT(Tick().unanswered, IsEmpty());
}

TEST_F(InquiriesTest, ALateWatcherBeginsAnew) {
  inquiries_.Begin(kSuspect);
  const std::vector<Question> asked = Tick().questions;
  Tick();
  now_ms_ += 1000;  // it was stopped, and reads first what the witnesses have said meanwhile
  Report(asked[0], false);
  Report(asked[1], false);
  const Inquiries::Findings findings = Tick();
  EXPECT_THAT(findings.unanswered, IsEmpty());
  ASSERT_EQ(findings.questions.size(), 2U);
  EXPECT_GT(findings.questions[0].round, asked[0].round);
  // Between the last word and the verdict it must not be late either.
  Report(findings.questions[0], false);
  Report(findings.questions[1], false);
  Tick();
  now_ms_ += 1000;
  EXPECT_THAT(Tick().unanswered, IsEmpty());
}

TEST_F(InquiriesTest, SuspectsAreAskedAboutByThemselves) {
  inquiries_.Begin(kSuspect);
  inquiries_.Begin(8);
  const std::vector<Question> asked = Tick().questions;
  ASSERT_EQ(asked.size(), 4U);
  for (const Question& question : asked) Report(question, question.suspect == 8);
  Tick();
  EXPECT_THAT(Tick().unanswered, ElementsAre(kSuspect));
}

// Whoever can't act on it hears it again.
TEST_F(InquiriesTest, AfterAVerdictItIsAskedAboutAgain) {
  inquiries_.Begin(kSuspect);
  for (int i = 0; i < 3; ++i) {
    for (const Question& question : AwaitQuestions()) Report(question, false);
    Tick();
    EXPECT_THAT(Tick().unanswered, ElementsAre(kSuspect));
  }
}

}  // namespace
}  // namespace phalanx::membership
