// Whom a node follows as the job's coordinator, and whether it should start one itself. Pure: the
// caller, a node's agent, owns the clock, the links and the processes.
//
// A node follows whom the newest committed record names, as a majority of the voters tells it, and
// takes orders from nobody else. Ballots of committed records rise with their versions, so it never
// goes back to an earlier coordinator, whoever was frozen for how long.
//
// Time decides only who tries, and how long somebody goes on in vain. A coordinator that was
// started claims the record by a compare-and-set against the life that it was to replace; if that
// was replaced already, it ends. So two that are started at once do no harm, nor does one that is
// started needlessly, but that the job has another coordinator.
#ifndef PHALANX_MEMBERSHIP_SUCCESSION_H_
#define PHALANX_MEMBERSHIP_SUCCESSION_H_

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "membership/voter_answers.h"

namespace phalanx::membership {

struct SuccessionTiming {
  Clock::duration ask_interval = std::chrono::milliseconds(200);  // between questions to voters
  // The k-th standby after the coordinator's node, from 0, starts one when the coordinator has been
  // gone for (k + 1) turns, or silent for `silent_after` and k turns. A node starts at most one in
  // a turn, and only if a majority of the voters has answered within the last one.
  Clock::duration turn = std::chrono::milliseconds(700);
  Clock::duration silent_after = std::chrono::seconds(3);
  // Without a majority of the voters for so long, workers are paused, and a coordinator gives no
  // orders.
  Clock::duration lease = std::chrono::seconds(3);
  // A step that comes so much later than it was due: what the coordinator said meanwhile may lie
  // unread, so it counts as heard now.
  Clock::duration late = std::chrono::milliseconds(350);
};

struct SuccessionSettings {
  uint64_t node = 0;  // this one
  Lead formed;        // with what the job was formed: ballot of round 0, no coordinator
  uint64_t seed = 1;  // truly random: the names of coordinators' lives come from it
  SuccessionTiming timing;
};

// What can happen, besides a LeadTold.
struct CoordinatorHeard {  // anything that came over a connection to it, a heartbeat too
  ProposerId life;
};
struct CoordinatorGone {  // the connection has ended, or nobody listens at its endpoint
  ProposerId life;
};
struct CoordinatorEnded {  // the process that StartCoordinator started
  ProposerId life;
};
struct Wake {};  // due at WakeAt()
using SuccessionInput =
    std::variant<LeadTold, CoordinatorHeard, CoordinatorGone, CoordinatorEnded, Wake>;

// What is to be done.
struct AskVoters {  // each answers with a LeadTold
  std::set<VoterId> voters;
  uint64_t question = 0;
};
// Connect to it, and take orders from no other. While it is followed and isn't connected, the
// caller tries again.
struct Follow {
  Lead lead;
};
// A child process that claims the record under the name `life` if that still names `replaces`, and
// ends by itself if it doesn't. If it can't be started it has ended.
struct StartCoordinator {
  ProposerId life;
  ProposerId replaces;
};
struct StopCoordinator {  // another was claimed after it: SIGKILL
  ProposerId life;
};
// At first workers are paused.
struct PauseWorkers {};
struct ResumeWorkers {};
using SuccessionOutput =
    std::variant<AskVoters, Follow, StartCoordinator, StopCoordinator, PauseWorkers, ResumeWorkers>;

class Succession {
 public:
  using TimePoint = Clock::time_point;

  // The first Step is due at once.
  explicit Succession(SuccessionSettings settings);

  // `now` never falls. The caller performs the outputs in their order.
  std::vector<SuccessionOutput> Step(const SuccessionInput& input, TimePoint now);

  // When to call with Wake at the latest.
  TimePoint WakeAt() const;
  // Orders of others are refused.
  bool TakesOrdersFrom(ProposerId life) const;
  // Whom it follows: the newest that it knows to be committed.
  const Lead& lead() const { return lead_; }
  bool paused() const { return paused_; }

 private:
  struct Own {  // a coordinator's process of this node
    ProposerId life;
    ProposerId replaces;
    bool stopping = false;
  };

  void Handle(const LeadTold& answer, TimePoint now);
  void Handle(const CoordinatorHeard& heard, TimePoint now);
  void Handle(const CoordinatorGone& gone, TimePoint now);
  void Handle(const CoordinatorEnded& ended, TimePoint now);
  void Handle(const Wake& wake, TimePoint now);

  void ForgiveOwnDelay(TimePoint now);
  void Adopt(const Lead& lead, TimePoint now);
  void StopIfSuperseded();
  void AskIfDue(TimePoint now);
  void PauseOrResume(TimePoint now);
  void StartIfDue(TimePoint now);
  // This node's among the standbys after the coordinator's node. Nothing: it has none.
  std::optional<int64_t> Turn() const;
  // Nothing: not while things are as they are.
  std::optional<TimePoint> StartDue() const;

  const SuccessionSettings settings_;
  std::mt19937_64 random_;
  VoterAnswers answers_;
  Lead lead_;
  bool paused_ = true;
  std::optional<Own> own_;
  std::optional<TimePoint> last_step_;
  std::optional<TimePoint> asked_at_;
  std::optional<TimePoint> started_at_;  // the newest process of its own
  TimePoint heard_at_;                   // or when it was first followed
  std::optional<TimePoint> gone_at_;     // and not heard since
  std::vector<SuccessionOutput> outputs_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_SUCCESSION_H_
