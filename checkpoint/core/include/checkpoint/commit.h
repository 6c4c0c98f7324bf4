// The coordinator's part of saving: what all ranks save, when it is committed, when memory is
// freed. Pure: no time, no threads.
//
// A version is committed when the record says so, and the record is asked to once every holder of
// every shard has verified its copy, all of a shard with one digest. One object lives from a claim
// on the record to the next one or to the end of the epoch; it needs nothing from its predecessor
// but the record and the agents' inventories. What was stored by all but not committed when a
// coordinator of the same epoch fell is committed by the next; uncommitted versions of an earlier
// epoch are freed.
//
// A version that was committed and then lost beyond the promise stays in the record until a newer
// one is committed; until the ranks have come past it again nothing is saved: committed versions
// rise.
#ifndef PHALANX_CHECKPOINT_COMMIT_H_
#define PHALANX_CHECKPOINT_COMMIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "checkpoint/messages.h"
#include "checkpoint/placement.h"
#include "checkpoint/version.h"

namespace phalanx::checkpoint {

struct CommitSettings {
  enum class WhenFull {
    kSkip,  // all ranks go on without saving
    kWait,  // all ranks wait until there is room
  };
  int in_flight = 1;  // at least 1
  int kept = 1;       // committed versions that stay in memory, at least 1
  WhenFull when_full = WhenFull::kSkip;
};

struct CommitBegins {};  // the first input, once
// How the compare-and-set of the last WriteRecord ended.
struct RecordAnswer {
  enum class Result {
    kDone,
    kConflict,  // not written; `current` is what stands there
    kUnknown,   // written or not, or still to be
  };
  Result result = Result::kUnknown;
  RecordView current;
};
struct RecordRead {  // the answer to ReadRecord
  RecordView current;
};
struct CommitAgain {};  // a timer's: repeats what hasn't been answered
using CommitInput = std::variant<CommitBegins, Inventory, Wants, Stored, RecordAnswer, RecordRead,
                                 CopyIsBad, CommitAgain>;

struct TellAgent {
  AgentId agent = 0;
  std::variant<Ask, Orders> what;
};
// Compare-and-set: to be written only while nothing else has changed the record since this
// coordinator read or wrote it. One at a time.
struct WriteRecord {
  RecordView value;
};
struct ReadRecord {};
// Durable in the record. All agents are told by Orders.
struct Committed {
  VersionName name;
};
// No longer needed: a newer one is durable. All agents are told by Orders.
struct Free {
  VersionName name;
};
// `to` is to fetch the shard and hand it to its holder's core. The digest is the record's; of a
// version in flight that of the first holder, the owner.
struct CopyShard {
  VersionName name;
  int rank = 0;
  AgentId from = 0;
  AgentId to = 0;
  Digest digest;
};
// Not committed and given up by all ranks: a shard went bad before all holders had it, or they
// verified different bytes. Nobody is to blame but this holder's memory or the way to it.
struct Abandoned {
  VersionName name;
  int rank = 0;
  AgentId holder = 0;
};
// Every shard of the newest committed version is with all of its holders. Said once, before that
// the job isn't healthy.
struct Healthy {};
// Another coordinator has the record. Nothing comes from this object any more.
struct Superseded {};
using CommitOutput = std::variant<TellAgent, WriteRecord, ReadRecord, Committed, Free, CopyShard,
                                  Abandoned, Healthy, Superseded>;

class Commit {
 public:
  // `claimed`: the record after this coordinator's claim or its new view was written to it.
  // `agents`: all of the view. Losing one of them ends the epoch, and this object with it.
  Commit(const CommitSettings& settings, RecordView claimed, Placement placement,
         std::vector<AgentId> agents);

  std::vector<CommitOutput> Step(const CommitInput& input);

  const RecordView& record() const { return record_; }  // as far as known to be durable
  bool asking() const { return asking_; }               // not all inventories are there
  bool saving() const { return !in_flight_.empty(); }   // a version is on its way
  Orders orders() const { return CurrentOrders(); }     // the newest

 private:
  struct Shard {
    Digest digest;
    std::set<AgentId> holders;  // that have verified it
  };
  using Shards = std::vector<Shard>;  // by rank

  void Handle(const CommitBegins& begins);
  void Handle(const Inventory& inventory);
  void Handle(const Wants& wants);
  void Handle(const Stored& stored);
  void Handle(const RecordAnswer& answer);
  void Handle(const RecordRead& read);
  void Handle(const CopyIsBad& bad);
  void Handle(const CommitAgain& again);

  void Adopt();
  bool Take(const ShardItem& item, AgentId holder);
  void Decide(const VersionName& name);
  void ConsiderCommit();
  void Settle(const RecordView& current);
  void FinishCommit();
  void Abandon(const VersionName& name, int rank, AgentId holder);
  void GrantWaiting();
  void ConsiderHealth();
  void RepeatCopies();
  void AskForCopies(const VersionName& name, int rank, const Shard& shard);
  bool IsComplete(const Shards& shards) const;
  Orders CurrentOrders() const;
  void Publish();

  const CommitSettings settings_;
  RecordView record_;
  const Placement placement_;
  const std::vector<AgentId> agents_;
  bool asking_ = true;
  bool superseded_ = false;
  bool healthy_ = false;
  std::map<AgentId, Inventory> inventories_;
  std::map<VersionName, Shards> in_flight_;
  Shards newest_;  // who has the newest committed version
  int64_t decided_ = -1;
  std::optional<VersionName> waiting_;  // for room
  std::optional<RecordView> writing_;   // handed out by WriteRecord and not settled
  uint64_t sequence_ = 0;
  size_t copies_tried_ = 0;  // so that a bad source isn't the only one asked
  std::vector<CommitOutput> outputs_;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_COMMIT_H_
