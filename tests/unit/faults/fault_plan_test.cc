#include "faults/fault_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::faults {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<uint32_t> Indexes(const std::vector<Due>& due) {
  std::vector<uint32_t> indexes;
  for (const Due& one : due) indexes.push_back(one.index);
  return indexes;
}

FaultPlan PlanOf(const char* text, std::set<uint32_t> done = {}) {
  return FaultPlan(*ParseFaults(text), std::move(done));
}

TEST(FaultPlanTest, AStepIsOneRanks) {
  FaultPlan plan = PlanOf("kill rank=2 at=step:10; exit rank=1 at=step:10 code=3");
  EXPECT_THAT(plan.AtStep(0, 10), IsEmpty());
  EXPECT_THAT(plan.AtStep(1, 9), IsEmpty());
  EXPECT_THAT(plan.AtStep(1, 11), IsEmpty());
  EXPECT_THAT(plan.AtStep(1, 10),
              ElementsAre(Due{1, *ParseFault("exit rank=1 at=step:10 code=3")}));
  EXPECT_THAT(Indexes(plan.AtStep(2, 10)), ElementsAre(0));
}

TEST(FaultPlanTest, ARankThatIsRolledBackDoesNotSufferAgain) {
  const char* const text = "kill rank=2 at=step:120; kill rank=2 at=step:120";
  FaultPlan plan = PlanOf(text);
  EXPECT_THAT(Indexes(plan.AtStep(2, 120)), ElementsAre(0, 1));
  EXPECT_THAT(plan.AtStep(2, 120), IsEmpty());
  FaultPlan next = PlanOf(text, {0});
  EXPECT_THAT(Indexes(next.AtStep(2, 120)), ElementsAre(1));
  EXPECT_THAT(PlanOf(text, {0, 1}).AtStep(2, 120), IsEmpty());
}

TEST(FaultPlanTest, RankZeroIsGivenTheNetworksSteps) {
  FaultPlan plan = PlanOf("cut link=1-2 at=step:4; cut node=1 at=step:5; kill rank=1 at=step:4");
  EXPECT_THAT(Indexes(plan.AtStep(1, 4)), ElementsAre(2));
  EXPECT_THAT(plan.AtStep(2, 4), IsEmpty());
  EXPECT_THAT(Indexes(plan.AtStep(0, 4)), ElementsAre(0));
  EXPECT_THAT(Indexes(plan.AtStep(0, 5)), ElementsAre(1));
  EXPECT_THAT(plan.AtStep(0, 5), IsEmpty());
}

TEST(FaultPlanTest, OperationsAndTimesMayBeOvershot) {
  FaultPlan plan =
      PlanOf("kill rank=0 at=op:1000; kill node=1 at=time:2s; wipe voter=0 at=time:1s");
  EXPECT_THAT(plan.AtOp(0, 999), IsEmpty());
  EXPECT_THAT(plan.AtOp(1, 5000), IsEmpty());
  EXPECT_THAT(Indexes(plan.AtOp(0, 1003)), ElementsAre(0));
  EXPECT_THAT(plan.AtOp(0, 1004), IsEmpty());
  EXPECT_THAT(plan.AtTime(999'999'999), IsEmpty());
  EXPECT_THAT(Indexes(plan.AtTime(1'000'000'000)), ElementsAre(2));
  EXPECT_THAT(Indexes(plan.AtTime(3'000'000'000)), ElementsAre(1));
  EXPECT_THAT(plan.AtTime(4'000'000'000), IsEmpty());
}

TEST(FaultPlanTest, APointIsTheFirstOfItsKind) {
  FaultPlan plan = PlanOf("kill coordinator at=point:stored; stop rank=1 at=point:committed");
  EXPECT_THAT(plan.AtPoint(Point::kPrepared), IsEmpty());
  EXPECT_THAT(Indexes(plan.AtPoint(Point::kStored)), ElementsAre(0));
  EXPECT_THAT(plan.AtPoint(Point::kStored), IsEmpty());
  EXPECT_THAT(Indexes(plan.AtPoint(Point::kCommitted)), ElementsAre(1));
}

TEST(FaultPlanTest, KindsOfMomentsAreApart) {
  FaultPlan plan = PlanOf("kill rank=0 at=step:5; kill rank=0 at=op:5; kill rank=0 at=time:0s");
  EXPECT_THAT(Indexes(plan.AtStep(0, 5)), ElementsAre(0));
  EXPECT_THAT(Indexes(plan.AtTime(5)), ElementsAre(2));
  EXPECT_THAT(Indexes(plan.AtOp(0, 5)), ElementsAre(1));
  EXPECT_THAT(FaultPlan().AtStep(0, 0), IsEmpty());
}

}  // namespace
}  // namespace phalanx::faults
