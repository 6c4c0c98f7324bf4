#include "control_supervisor/worker_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(WorkerEnvironment, NamesThePlaceTwice) {
  WorkerPlace place;
  place.rank = 5;
  place.world_size = 8;
  place.local_rank = 1;
  place.local_world_size = 4;
  EXPECT_THAT(PlaceVariables(place),
              UnorderedElementsAre(
                  Pair("PHALANX_RANK", "5"), Pair("RANK", "5"), Pair("PHALANX_WORLD_SIZE", "8"),
                  Pair("WORLD_SIZE", "8"), Pair("PHALANX_LOCAL_RANK", "1"), Pair("LOCAL_RANK", "1"),
                  Pair("PHALANX_LOCAL_WORLD_SIZE", "4"), Pair("LOCAL_WORLD_SIZE", "4")));
  place.agent = "socket";
  EXPECT_THAT(PlaceVariables(place), testing::Contains(Pair("PHALANX_AGENT", "socket")));
}

TEST(WorkerEnvironment, ReplacesAndAdds) {
  EXPECT_THAT(ChangeEnvironment({"A=1", "RANK=7", "RANKS=3", "B="}, {{"RANK", "0"}, {"C", "x=y"}}),
              ElementsAre("A=1", "RANKS=3", "B=", "C=x=y", "RANK=0"));
}

}  // namespace
}  // namespace phalanx::control
