// What voters say about who coordinates the job, and how fresh that is. Pure: the caller owns the
// clock and the links. Used by a node (succession.h), and by a coordinator for its lease.
//
// Two things follow from answers. What a voter has accepted is a *fact*, which stands however late
// the answer comes. That a majority can be reached is *news*, and as old as the questions: an
// answer that took two seconds says nothing about the last two seconds.
#ifndef PHALANX_MEMBERSHIP_VOTER_ANSWERS_H_
#define PHALANX_MEMBERSHIP_VOTER_ANSWERS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "membership/register.h"

namespace phalanx::membership {

// One coordinator's life. It claims the record once, by a compare-and-set against the life that it
// replaces, so lives stand in one order, and each is replaced once.
struct Coordinator {
  ProposerId life;  // its proposer's; 0: there was none yet
  uint64_t node = 0;
  std::string endpoint;  // opaque
  bool operator==(const Coordinator&) const = default;
};

// What a record says about that, and the ballot under which a voter has accepted it.
struct Lead {
  Ballot ballot;  // round 0: what the job was formed with
  VoterSets voters;
  Coordinator coordinator;
  std::vector<uint64_t> standbys;  // nodes that may have the next one, in the order of their turns
  bool operator==(const Lead&) const = default;
};

// A voter's answer: what its *log* holds, not what is on the way there.
struct LeadTold {
  VoterId from;
  uint64_t question = 0;  // which this answers
  Lead lead;              // ballot of round 0: it has accepted nothing
};

class VoterAnswers {
 public:
  using TimePoint = Clock::time_point;

  // For longer than `keep` no answer counts as news.
  explicit VoterAnswers(Clock::duration keep) : keep_(keep) {}

  // The number of a question that is sent to all voters now; rises from 1.
  uint64_t Ask(TimePoint now);
  // Answers may be lost, repeated, reordered and late by any time.
  void Hear(const LeadTold& answer);

  // The latest moment such that a quorum of `voters` has answered questions asked then or later.
  std::optional<TimePoint> ReachedAt(const VoterSets& voters) const;
  // The newest that is known to be committed: a quorum of its own voters has accepted it under one
  // ballot. Null: none is. Valid until the next Hear().
  const Lead* Committed() const;
  // A quorum has answered questions of `since` or later, but whoever asks just these can't see what
  // is committed: somebody writes, or has left a change half done, or a voter that has accepted it
  // isn't among them. If it stays so, a coordinator writes what it has once more.
  bool IsHiddenSince(TimePoint since) const;
  // Of all records that voters have told of: whom to ask besides those that are known.
  std::set<VoterId> VotersTold() const;

 private:
  struct Question {
    uint64_t number = 0;
    TimePoint asked_at;
  };
  struct Voter {
    Lead lead;                          // of the highest ballot
    std::optional<TimePoint> asked_at;  // the newest question that it has answered
  };
  // By ballot, who has accepted it; of those that have answered since.
  struct Acceptance {
    const Lead* lead = nullptr;
    std::set<VoterId> by;
    bool IsCommitted() const { return lead->voters.IsQuorum(by); }
  };
  std::map<Ballot, Acceptance> Acceptances(std::optional<TimePoint> since) const;

  const Clock::duration keep_;
  uint64_t last_question_ = 0;
  std::deque<Question> questions_;
  std::map<VoterId, Voter> voters_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_VOTER_ANSWERS_H_
