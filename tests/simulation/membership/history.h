// What was committed, as somebody who sees every disk knows it, and whether what the proposers were
// told agrees with it.
#ifndef PHALANX_TESTS_SIMULATION_MEMBERSHIP_HISTORY_H_
#define PHALANX_TESTS_SIMULATION_MEMBERSHIP_HISTORY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "membership/proposer.h"
#include "membership/voter.h"

namespace phalanx::membership::simulation {

class History {
 public:
  // Without `sees_disks` only what proposers were told is compared with itself, as their callers
  // could.
  History(RecordPtr genesis, bool sees_disks);

  // A request that is under way.
  struct Call {
    Request request;
    ChangeId change;      // unless it reads
    uint64_t before = 0;  // the newest version that anybody had been told when it began
  };
  Call Began(const Request& request, const ChangeId& change) const;

  // Both return what is wrong, or nothing.
  std::string OnDisk(const VoterState& state);
  std::string Ended(const Call& call, const Outcome& outcome);

  const RecordPtr& newest_told() const { return told_.rbegin()->second; }
  const RecordPtr& newest_committed() const { return committed_.rbegin()->second; }

 private:
  struct Acceptance {
    RecordPtr record;
    std::set<VoterId> voters;  // that had it on disk at some time
  };

  const bool sees_disks_;
  std::map<Ballot, Acceptance> acceptances_;
  std::map<uint64_t, RecordPtr> committed_;  // by version
  std::set<ChangeId> never_;                 // proposers were told that these won't happen
  std::map<uint64_t, RecordPtr> told_;       // by version
};

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_MEMBERSHIP_HISTORY_H_
