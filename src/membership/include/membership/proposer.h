// Reads and changes the register. Pure: time is an input, chance comes from a seed, and the same
// inputs give the same outputs.
//
// The shell serialises the calls and performs the outputs in their order. One request at a time.
// Without contention and loss a read takes one round trip to a majority and a change takes two.
#ifndef PHALANX_MEMBERSHIP_PROPOSER_H_
#define PHALANX_MEMBERSHIP_PROPOSER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "membership/register.h"

namespace phalanx::membership {

// The newest committed record.
struct Read {};
// Replaces the value if the register's version is still `expected`; the version becomes one more.
struct CompareAndSet {
  uint64_t expected = 0;
  std::string value;
};
// Replacing voters takes two changes, both of which keep the value. Begin: from then on majorities
// of the present and the `incoming` set decide. Finish: `incoming` alone is the voter set. Whoever
// reads a record with an incoming set may finish it; there is no way back to the old set.
struct BeginReplacement {
  uint64_t expected = 0;
  std::set<VoterId> incoming;  // not empty
};
struct FinishReplacement {
  uint64_t expected = 0;
};
using Request = std::variant<Read, CompareAndSet, BeginReplacement, FinishReplacement>;

// How a request ended.
struct Outcome {
  enum class Kind : uint8_t {
    kCommitted,  // the read's answer, or the change was made: `record` is the one that it made
    kConflict,   // the change wasn't made and never will be: `record` has another version
    kUnknown,    // the deadline has passed, or others built on what may be the change: it may have
                 // happened, or happen yet. `record`, if there is one, is committed and newer than
                 // what was expected; otherwise read again and look
    kRefused,    // nothing was changed: a replacement begun while one is under way, or finished
                 // without one. `record` is the present one
  };
  Kind kind = Kind::kUnknown;
  RecordPtr record;
};

// What can happen.
struct Begin {
  Request request;
  int64_t deadline_ns = 0;  // at the first Step from then on it has ended
};
struct FromVoter {
  ToProposer message;
};
// The shell has heard of a committed record (from a peer, at a start), so that voters which have
// been replaced since needn't be asked.
struct Heard {
  RecordPtr record;
};
struct Tick {};  // due at WakeAt()
using ProposerInput = std::variant<Begin, FromVoter, Heard, Tick>;

// What is to be done.
struct Send {
  ToVoter message;
};
struct Finished {
  Outcome outcome;
};
using ProposerOutput = std::variant<Send, Finished>;

struct ProposerSettings {
  ProposerId id;  // never used before
  // Record of version 0, which counts as committed: the value and the voters that the job was
  // formed with. The same for all proposers of a job, or a committed one that is newer.
  RecordPtr known;
  uint64_t seed = 1;                   // of the pauses before trying again
  int64_t attempt_ns = 50'000'000;     // without an answer for so long an attempt is given up
  int64_t pause_ns = 10'000'000;       // longest pause after the first attempt
  int64_t longest_ns = 1'000'000'000;  // both double with each attempt, up to this
};

class Proposer {
 public:
  // settings.known isn't null.
  explicit Proposer(ProposerSettings settings);

  // `now_ns` never falls. Begin: only while idle() (a bug otherwise).
  std::vector<ProposerOutput> Step(const ProposerInput& input, int64_t now_ns);

  bool idle() const { return !request_.has_value(); }
  // When to call with Tick at the latest; nothing while idle.
  std::optional<int64_t> WakeAt() const;
  // The newest that it knows to be committed.
  const RecordPtr& known() const { return known_; }

 private:
  enum class Phase : uint8_t { kPausing, kPreparing, kAccepting };

  void Hear(const Promise& promise, int64_t now_ns);
  void Hear(const Accepted& accepted, int64_t now_ns);
  void Hear(const Refused& refused, int64_t now_ns);
  void Hear(const NotAVoter& stranger, int64_t now_ns);
  void Lose(VoterId voter, int64_t now_ns);

  void StartAttempt(int64_t now_ns);
  void GiveUpAttempt(int64_t now_ns);
  void Ask(const std::set<VoterId>& voters);
  const Promise* Highest() const;
  void CheckPrepared(int64_t now_ns);
  void Settled(RecordPtr record, int64_t now_ns);
  void Propose(RecordPtr record, int64_t now_ns);
  bool Conclude();
  bool IsOwn(const Record& record) const;
  RecordPtr Changed(const Record& base) const;
  void Learn(const RecordPtr& record);
  void Finish(Outcome::Kind kind, RecordPtr record);
  int64_t Grown(int64_t ns) const;

  const ProposerSettings settings_;
  std::mt19937_64 random_;
  RecordPtr known_;
  uint64_t round_ = 0;    // the highest seen
  uint64_t changes_ = 0;  // that were requested

  std::optional<Begin> request_;
  bool change_sent_ = false;  // some voter may have accepted the request's own record
  int attempts_ = 0;
  Phase phase_ = Phase::kPausing;
  int64_t phase_ends_ns_ = 0;
  Ballot ballot_;                        // of this attempt
  std::map<VoterId, Promise> promises_;  // kPreparing
  std::set<VoterId> asked_;
  std::set<VoterId> lost_;      // won't take part in this attempt
  RecordPtr proposed_;          // kAccepting
  std::set<VoterId> accepted_;  // kAccepting
  std::vector<ProposerOutput> outputs_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_PROPOSER_H_
