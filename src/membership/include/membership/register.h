// One register that voters agree on: what it holds, and what proposers and voters say to each
// other.
//
// Paxos on one value that is changed by compare-and-set, in the style of CASPaxos
// (https://arxiv.org/abs/1802.07000), with the voter set as a part of what is agreed. A record is
// committed when a quorum of its own voter sets has accepted it under one ballot. From then on
// every later ballot that gets anywhere starts from it or from a record that grew out of it.
#ifndef PHALANX_MEMBERSHIP_REGISTER_H_
#define PHALANX_MEMBERSHIP_REGISTER_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace phalanx::membership {

// One voter's log, not its machine: drawn at random when the log is made, and kept in it. So a
// voter whose log was lost is another voter, which is in no voter set, and what the lost one
// promised is never promised again by somebody who doesn't remember.
struct VoterId {
  uint64_t value = 0;
  auto operator<=>(const VoterId&) const = default;
};

// One proposer's life: drawn at random when it is made, since a ballot must not be used twice.
struct ProposerId {
  uint64_t value = 0;
  auto operator<=>(const ProposerId&) const = default;
};

// Round 0 is before all: no proposer uses it.
struct Ballot {
  uint64_t round = 0;
  ProposerId proposer;
  auto operator<=>(const Ballot&) const = default;
};

// Who votes. While `incoming` isn't empty the set is being replaced: a quorum is a majority of
// both.
struct VoterSets {
  std::set<VoterId> current;
  std::set<VoterId> incoming;
  bool operator==(const VoterSets&) const = default;

  bool IsQuorum(const std::set<VoterId>& voters) const;
  std::set<VoterId> All() const;
};

// Which change made a record, so that its proposer recognises it when it tries again. `number`
// rises from 1 in a proposer's life.
struct ChangeId {
  ProposerId proposer;
  uint64_t number = 0;
  auto operator<=>(const ChangeId&) const = default;
};

struct Record {
  uint64_t version = 0;  // one more with each change; at most one record of a version is committed
  ChangeId change;
  VoterSets voters;
  std::string value;  // opaque
  bool operator==(const Record&) const = default;
};
// Messages and states share records, which may be long and never change.
using RecordPtr = std::shared_ptr<const Record>;

// What a proposer asks of a voter. `to` is part of the message: the process that gets it may by now
// have another log. Messages may be lost, repeated, reordered and late by any time.
struct Prepare {
  VoterId to;
  Ballot ballot;
};
struct Accept {
  VoterId to;
  Ballot ballot;
  RecordPtr record;
};
using ToVoter = std::variant<Prepare, Accept>;

// What a voter answers; `ballot` is the question's.
struct Promise {  // to take part in no lower ballot
  VoterId from;
  Ballot ballot;
  Ballot accepted;   // round 0: has accepted nothing
  RecordPtr record;  // what it accepted under that ballot, or null
};
struct Accepted {
  VoterId from;
  Ballot ballot;
};
struct Refused {  // it has promised a higher ballot
  VoterId from;
  Ballot ballot;
  Ballot promised;
};
struct NotAVoter {  // the process has no log of that name, and never will again
  VoterId from;     // that was asked
  Ballot ballot;
};
using ToProposer = std::variant<Promise, Accepted, Refused, NotAVoter>;

// For logs and traces: "7.3" is round 7 of proposer 3.
std::string Describe(const Ballot& ballot);
std::string Describe(const VoterSets& voters);
std::string Describe(const Record& record);
std::string Describe(const ToVoter& message);
std::string Describe(const ToProposer& message);

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_REGISTER_H_
