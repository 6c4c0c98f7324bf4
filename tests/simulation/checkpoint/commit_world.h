// A job that saves and restores while agents, coordinators and copies are lost. A seed is a whole
// run.
#ifndef PHALANX_TESTS_SIMULATION_CHECKPOINT_COMMIT_WORLD_H_
#define PHALANX_TESTS_SIMULATION_CHECKPOINT_COMMIT_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chance.h"
#include "checkpoint/commit.h"
#include "checkpoint/holder.h"
#include "checkpoint/placement.h"
#include "checkpoint/restore.h"

namespace phalanx::checkpoint::simulation {

struct CommitTally {
  uint64_t commits = 0;
  uint64_t abandoned = 0;  // given up before they were committed
  uint64_t skips = 0;
  uint64_t views = 0;
  uint64_t coordinators = 0;
  uint64_t adopted = 0;  // stored under one coordinator, committed by the next
  uint64_t restores = 0;
  uint64_t initial = 0;   // restores of the program's first state
  uint64_t corrupt = 0;   // copies found corrupt
  uint64_t repaired = 0;  // copies made again
  uint64_t lost = 0;      // versions, said to be lost
  uint64_t older = 0;     // restores of an older version or from the persistent tier
  uint64_t ended = 0;     // nothing was left
  uint64_t unknown = 0;   // writes of which nothing was known
};

class CommitWorld {
 public:
  CommitWorld(uint64_t seed, Trace trace);

  // What is wrong; empty if nothing.
  std::string Run(CommitTally* tally);

 private:
  using ShardKey = std::pair<VersionName, int>;
  struct Agent {
    Agent(const AgentPlace& at, size_t rooms) : place(at), core({at.agent, rooms}) {}
    AgentPlace place;
    Holder core;
    std::map<ShardKey, Digest> store;  // what the bytes really are
    bool alive = true;
  };
  struct Rank {
    AgentId agent = 0;
    bool running = false;
    int64_t at = 0;  // the version that it saves next
    VersionName loaded = kInitialVersion;
    Digest regions;
    std::pair<Term, uint64_t> newest_fetch;
  };

  // Faults, and what goes on by itself (commit_world.cc).
  void Act(bool faults);
  void Fault();
  void KillAgent();
  void CorruptCopy();
  void AddAgent();
  bool BeginView();
  void BeginCoordinator();
  void RunRank(size_t rank);
  void Save(size_t rank, const VersionName& name);
  void Resend(Agent* agent);
  void Send(const std::shared_ptr<Agent>& to, const ShardItem& shard, const Digest& bytes);
  std::shared_ptr<Agent> Find(AgentId id) const;

  // What the cores say (commit_world_outputs.cc).
  void Feed(Agent* agent, const HolderInput& input);
  void On(Agent* agent, const Release& release);
  void FeedCommit(const CommitInput& input);
  void On(const CommitOutput& output);
  void On(const TellAgent& tell);
  void On(const CopyShard& copy);
  void Write(const RecordView& value);
  void Answer(const RecordAnswer& answer);
  void FeedRestore(const RestoreInput& input);
  void On(const RestoreOutput& output);
  void On(const Fetch& fetch);
  void On(const Inventory& inventory);
  void On(const VersionLost& lost);
  void On(const Restored& restored);
  void DropCorrupt(Agent* agent, const ShardKey& key);
  void CheckCommit(const RecordView& value);
  void CheckHealthy();
  bool IsWholeAt(const Agent& agent, const ShardKey& key) const;

  void Violate(const std::string& what);
  void Say(const std::string& what);

  Chance chance_;
  const Trace trace_;
  Bag bag_;
  CommitSettings settings_;
  int replicas_ = 2;
  std::map<AgentId, std::shared_ptr<Agent>> agents_;  // of the view
  std::vector<std::shared_ptr<Agent>> zombies_;
  std::vector<Rank> ranks_;
  AgentId next_agent_ = 0;
  Placement placement_;
  bool view_due_ = false;
  bool over_ = false;

  RecordView record_;  // the register itself
  uint64_t revision_ = 0;
  uint64_t known_revision_ = 0;  // by the coordinator
  std::unique_ptr<Commit> commit_;
  std::unique_ptr<Restore> restore_;
  std::map<AgentId, Inventory> inventories_;
  bool restored_ = false;  // in this epoch
  std::vector<RecordedVersion> persisted_;

  std::map<ShardKey, int> losses_;       // good copies that faults have taken
  std::map<VersionName, int> promised_;  // holders of each shard when it was committed
  std::set<std::pair<AgentId, ShardKey>> corrupted_;
  std::set<VersionName> skipped_;
  std::map<VersionName, uint64_t> first_claim_;  // of the coordinator under which it was begun
  std::map<int, int> unanswered_;                // fetches, by rank
  CommitTally tally_;
  std::string wrong_;
};

// The bytes that a rank's regions have at a version.
Digest TruthOf(int rank, int64_t version);

}  // namespace phalanx::checkpoint::simulation

#endif  // PHALANX_TESTS_SIMULATION_CHECKPOINT_COMMIT_WORLD_H_
