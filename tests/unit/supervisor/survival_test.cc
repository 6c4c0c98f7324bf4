#include "control_launch/survival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

TEST(SurvivalTest, OnOneNodeRanksAndTheCoordinator) {
  EXPECT_EQ(WhatIsSurvivable({{{4, 1}}, 0, 2}),
            "the job survives the loss of 1 rank, of the coordinator; not the end of this command");
  EXPECT_EQ(WhatIsSurvivable({{{4, 2}}, 3, 2}),
            "the job survives the loss of 2 ranks and 3 more on each node, of the coordinator; not "
            "the end of this command");
  EXPECT_EQ(
      WhatIsSurvivable({{{4, 0}}, 3, 2}),
      "the job survives the loss of ranks, 3 on each node, of the coordinator; not the end of "
      "this command");
}

TEST(SurvivalTest, ARecordInEtcdNeedsEtcd) {
  EXPECT_EQ(WhatIsSurvivable({{{4, 1}}, 0, 2, true}),
            "the job survives the loss of 1 rank, of the coordinator; not the end of this command, "
            "nor the loss of etcd's data");
}

TEST(SurvivalTest, ANodeIfOthersHaveSparesForItsRanksAndCopiesOfTheirState) {
  EXPECT_EQ(
      WhatIsSurvivable({{{2, 1}, {2, 1}, {2, 1}}, 0, 2}),
      "the job survives the loss of 3 ranks, of the coordinator, of any one node; not the end "
      "of this command");
  EXPECT_EQ(WhatIsSurvivable({{{2, 1}, {2, 1}, {2, 0}}, 0, 2}),
            "the job survives the loss of 2 ranks, of the coordinator, of node 2; not the "
            "end of this command");
  EXPECT_EQ(
      WhatIsSurvivable({{{2, 1}, {2, 0}}, 5, 2}),
      "the job survives the loss of 1 rank and 5 more on each node, of the coordinator; not of "
      "a node: others haven't as many spares as it has ranks; not the end of this command");
  EXPECT_EQ(WhatIsSurvivable({{{1, 1}, {1, 1}}, 0, 1}),
            "the job survives the loss of 2 ranks, of the coordinator; not of a node: there is one "
            "copy of each rank's state; not the end of this command");
}

TEST(SurvivalTest, WhatThePolicyDoesntUseDoesntCount) {
  JobShape shape{{{4, 2}}, 3, 2};
  shape.on_loss = LossPolicyIn({{"PHALANX_ON_LOSS", "spare"}});
  EXPECT_THAT(WhatIsSurvivable(shape), testing::HasSubstr("survives the loss of 2 ranks, of"));
  shape.on_loss = LossPolicyIn({{"PHALANX_ON_LOSS", "restart"}});
  EXPECT_THAT(WhatIsSurvivable(shape), testing::HasSubstr("the loss of ranks, 3 on each node, of"));
  shape.on_loss = LossPolicyIn({{"PHALANX_ON_LOSS", "fail"}});
  EXPECT_THAT(WhatIsSurvivable(shape), testing::HasSubstr("survives the loss of no rank, of the"));
}

}  // namespace
}  // namespace phalanx::control
