#include "verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::stress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Outcome Good() {
  Outcome outcome;
  outcome.how = "exited with code 0";
  outcome.output = "[1] rank 1  weights ab\nnoise\n[0] rank 0  weights ab\n";
  return outcome;
}

TEST(VerdictTest, DigestsComeFromTheOutput) {
  EXPECT_THAT(DigestsIn("[0] weights b\n[1] weights a tail\nweights c"),
              ElementsAre("a", "b", "c"));
  EXPECT_TRUE(Judge(Good(), {"ab", "ab"}).good());
}

TEST(VerdictTest, EachThingThatIsWrongIsFound) {
  EXPECT_TRUE(Judge(Good(), {"ab", "cd"}).wrong);
  EXPECT_TRUE(Judge(Good(), {"ab", "ab", "ab"}).wrong) << "a rank is missing";
  Outcome failed = Good();
  failed.exit_code = 3;
  failed.how = "exited with code 3";
  EXPECT_TRUE(Judge(failed, {"ab", "ab"}).wrong);
  EXPECT_THAT(Judge(failed, {"ab", "ab"}).why, ElementsAre("it exited with code 3"));
  Outcome hung = Good();
  hung.hung = true;
  hung.exit_code = 137;
  const Verdict verdict = Judge(hung, {"ab", "ab"});
  EXPECT_TRUE(verdict.hung);
  EXPECT_FALSE(verdict.wrong) << "it was killed";
  Outcome lossy = Good();
  lossy.history.lost = {"version 3"};
  lossy.left = {"process 7"};
  EXPECT_TRUE(Judge(lossy, {"ab", "ab"}).lost);
  EXPECT_TRUE(Judge(lossy, {"ab", "ab"}).left);
  EXPECT_THAT(Judge(lossy, {"ab", "ab"}).why, ElementsAre("version 3", HasSubstr("process 7")));
}

}  // namespace
}  // namespace phalanx::stress
