// A job that keeps its checkpoints in files is over once the last one is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "checkpoint_wire/codec.h"
#include "core_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::seconds;

const checkpoint::VersionName kName{5, 1};

// Ranks 0 and 2 at agent 1, ranks 1 and 3 at agent 2.
class CoreStoringTest : public CoreFixture {
 protected:
  CoreStoringTest() {
    CoordinatorSettings settings = SettingsOf(std::nullopt);
    settings.persist = {.folder = "/dir", .every = 1000, .keep = 2};
    core_.emplace(std::move(settings), kStart);
    Run4();
    checkpoint::Term term;
    for (const auto& [agent, message] : Sent<message::Checkpoint>()) {
      const auto decoded = *checkpoint::Decode(message.payload);
      if (const auto* ask = std::get_if<checkpoint::Ask>(&decoded)) term = ask->term;
    }
    for (const uint64_t agent : {1, 2}) SayOf(agent, checkpoint::Inventory{term, 0, {}, {}});
    SayOf(1, checkpoint::Tier{});
    for (int rank = 0; rank < 4; ++rank) {
      SayOf(AgentOf(rank), checkpoint::FetchEnded{rank, checkpoint::kInitialVersion, {}, {}, 0});
    }
    SayOf(1, checkpoint::Wants{0, kName});
  }

  static uint64_t AgentOf(int rank) { return rank % 2 == 0 ? 1 : 2; }
  void SayOf(uint64_t agent, const checkpoint::Message& message) {
    Say(agent, message::Checkpoint{checkpoint::Encode(message), 0});
  }
  void StoreRank(int rank) { SayOf(AgentOf(rank), checkpoint::Stored{0, {kName, rank, {1, 1}}}); }
  void LeaveAll() {
    for (int rank = 0; rank < 4; ++rank) {
      Say(AgentOf(rank), message::Leave{Incarnation{static_cast<uint64_t>(rank + 1)}});
    }
  }
  int CountPersists() const {
    int count = 0;
    for (const auto& [agent, message] : Sent<message::Checkpoint>()) {
      const auto decoded = *checkpoint::Decode(message.payload);
      if (std::holds_alternative<checkpoint::Persist>(decoded)) ++count;
    }
    return count;
  }
  void WriteAll() {
    for (int rank = 0; rank < 4; ++rank) {
      SayOf(AgentOf(rank), checkpoint::ShardWritten{kName, rank, 10, {1, 1}, 3});
    }
  }
};

TEST_F(CoreStoringTest, TheLastCommittedVersionIsWrittenAndThenTheJobIsOver) {
  for (int rank = 0; rank < 4; ++rank) StoreRank(rank);
  EXPECT_EQ(CountPersists(), 0);  // it isn't due
  LeaveAll();
  EXPECT_EQ(Sent<message::AllLeft>().size(), 2U);  // nobody's end waits for it
  EXPECT_EQ(CountPersists(), 2);
  EXPECT_EQ(Over(), nullptr);
  WriteAll();
  Step(Tick{}, seconds(500));
  EXPECT_EQ(Over(), nullptr);
  SayOf(1, checkpoint::Tier{{{kName, "job", 4, 1}}, ""});
  ASSERT_NE(Over(), nullptr);
  EXPECT_TRUE(Over()->status.ok());
  EXPECT_EQ(Closed().size(), 2U);
}

TEST_F(CoreStoringTest, OneThatIsStillToBeCommittedIsAwaited) {
  for (int rank = 0; rank < 3; ++rank) StoreRank(rank);
  LeaveAll();
  EXPECT_EQ(CountPersists(), 0);
  EXPECT_EQ(Over(), nullptr);
  StoreRank(3);
  Step(Tick{});
  EXPECT_EQ(CountPersists(), 2);
  EXPECT_EQ(Over(), nullptr);
}

TEST_F(CoreStoringTest, ButNotForLong) {
  for (int rank = 0; rank < 3; ++rank) StoreRank(rank);
  LeaveAll();
  Step(Tick{}, seconds(9));
  EXPECT_EQ(Over(), nullptr);
  Step(Tick{}, seconds(11));
  ASSERT_NE(Over(), nullptr);
  EXPECT_TRUE(Over()->status.ok());
}

TEST_F(CoreStoringTest, AnAgentThatIsLostMeanwhileEndsTheWait) {
  for (int rank = 0; rank < 4; ++rank) StoreRank(rank);
  LeaveAll();
  Step(AgentLost{AgentId{2}, "gone"});
  ASSERT_NE(Over(), nullptr);
  EXPECT_TRUE(Over()->status.ok());
}

}  // namespace
}  // namespace phalanx::control
