// The coordinator's decisions: who is a member, when the view begins and why it ends. Pure: no
// clock, no sockets, no randomness; the same inputs give the same outputs.
#ifndef PHALANX_CONTROL_COORDINATOR_CORE_H_
#define PHALANX_CONTROL_COORDINATOR_CORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/logger.h"
#include "control_coordinator/job_checkpoints.h"
#include "control_coordinator/job_event.h"
#include "control_coordinator/job_history.h"
#include "control_coordinator/job_ordering.h"
#include "control_coordinator/job_steps.h"
#include "control_protocol/launcher_notice.h"
#include "control_protocol/message.h"
#include "control_record/job_record.h"
#include "faults/fault.h"
#include "faults/fault_plan.h"
#include "membership/inquiries.h"
#include "membership/suspicion.h"

namespace phalanx::control {

struct RankFacts;
struct RecoveryFacts;

// One connection of an agent's; chosen by the shell, never used twice.
struct AgentId {
  uint64_t value = 0;
  auto operator<=>(const AgentId&) const = default;
};

// What can happen.
struct AgentSaid {
  AgentId agent;
  Message message;
};
struct AgentLost {
  AgentId agent;
  std::string why;
};
struct CreatorGone {};
struct Tick {};
struct RecordWritten {};  // the last WriteRecord is durable
using CoordinatorInput = std::variant<AgentSaid, AgentLost, CreatorGone, Tick, RecordWritten>;

// What is to be done, in this order.
struct SendToAgent {
  AgentId agent;
  Message message;
};
struct CloseAgent {  // after what was sent to it has gone out
  AgentId agent;
};
struct LogLine {
  LogSeverity severity = LogSeverity::kInfo;
  std::string line;
};
struct Concluded {  // beside the lines for the log
  std::shared_ptr<const ordering::Explanation> explanation;
};
// To be answered with RecordWritten; if that can't be, this coordinator must say nothing more. What
// comes in meanwhile waits.
struct WriteRecord {
  JobRecord record;
};
struct KillCoordinator {};  // a fault that it is to suffer: SIGKILL, at once
struct JobOver {
  absl::Status status;
};
using CoordinatorOutput =
    std::variant<SendToAgent, CloseAgent, LogLine, Concluded, JobEvent, WriteRecord, NodeEvicted,
                 LinkFaultDue, KillCoordinator, JobOver>;

struct CoordinatorSettings {
  std::string job;
  uint64_t job_token = 0;  // random; handed out with the view
  Clock::duration join_timeout{};
  // What an earlier coordinator of the job has left; nullopt: the job is new.
  std::optional<JobRecord> record;
  PersistSettings persist;
  std::vector<faults::Fault> faults;  // of the whole job
  bool tells_events = false;          // there are JobEvents among the outputs
  bool keeps_record = false;          // somebody goes on from it when this coordinator is gone
  // How long other agents wait for an answer of one that is silent here.
  Clock::duration witness_wait = membership::InquirySettings{}.witness_wait;
  uint64_t claim = 0;  // of the record; higher than that of every earlier coordinator of the job
};

// A job passes through joining → running → over; a failure leads from the first two to `ending`
// or over. While joining, members may still be refused one by one; running begins with the view,
// which goes to all agents at once; a member or agent lost then, before it has left, revokes it.
//
// If there is a spare, and every other member can take part in another view, the spare takes the
// lost one's rank: running → recovering → running, in the next epoch, once all members have joined
// again. Spares are known by themselves and are no members until then. See core_recovery.cc.
//
// What all depend on is in the job's record before anybody hears of it. A coordinator that begins
// with a record begins in `recovering`: the agents come back to it, and their members join again.
// See core_record.cc.
//
// A job that keeps its checkpoints in files is over only when the last one is there: running →
// storing → over.
class CoordinatorCore {
 public:
  CoordinatorCore(CoordinatorSettings settings, Clock::time_point now);

  // Call with Tick about ten times a second. After JobOver (at most once) there is no output.
  std::vector<CoordinatorOutput> Step(const CoordinatorInput& input, Clock::time_point now);

 private:
  enum class Phase {
    kJoining,
    kRunning,
    kRecovering,  // revoked; waits for the members to join again
    kStoring,     // all have left; the last version is still on its way to files
    kEnding,      // revoked; waits for the members to go
    kOver,
  };
  struct AgentRecord {
    int node = -1;
    std::string node_name;
    int cores = 0;
    int spares_to_come = 0;  // that were announced
    std::string machine;     // see AgentHello
    Endpoint peers;
    int restarts_left = 0;  // processes that its launcher would start as spares
  };
  struct MemberRecord {
    message::Member member;
    AgentId agent;
    bool left = false;
    bool recoverable = false;  // can take part in another view
    bool ready = true;         // for the view that is being formed
    bool finished = false;     // has come to the end of its work in this view
    bool evicted = false;      // its agent has been told to kill it
    bool silent = false;       // its agent said so last
    bool is_new = false;       // a spare that was awaited to take a place on its node
    bool restarted = false;    // lost, and an earlier coordinator has had another one started
  };
  // What is done when the record is durable.
  enum class Afterwards {
    kNothing,
    kAnnounceView,
    kAnnounceFinished,
    kCheckpoint,
    kSuffer,
    kOrderFaults,
    kTellEvicted,
    kAdmitLate,
  };
  // Somebody who asked how the job is.
  struct Question {
    AgentId asker;
    uint64_t number = 0;
    Clock::time_point deadline;
  };

  void Dispatch(const CoordinatorInput& input);
  void Handle(const AgentSaid& said);
  void Handle(const AgentLost& lost);
  void Handle(const CreatorGone& gone);
  void Handle(const Tick& tick);
  void Handle(const RecordWritten& written);

  // By kind of message; unexpected kinds close the agent.
  void OnHello(AgentId agent, const message::AgentHello& hello);
  void OnJoin(AgentId agent, const message::Join& join);
  void OnLeave(AgentId agent, const message::Leave& leave);
  void OnMemberLost(AgentId agent, const message::MemberLost& lost);
  void OnMemberSilent(AgentId agent, const message::MemberSilent& silent);
  void OnMemberHeard(AgentId agent, const message::MemberHeard& heard);
  void OnWitnessSays(AgentId agent, const message::WitnessSays& says);
  void OnOrdering(AgentId agent, const message::Ordering& message);
  void OnRecoverable(AgentId agent, const message::Recoverable& recoverable);
  void OnFinished(AgentId agent, const message::Finished& finished);
  void OnSpareGone(AgentId agent, const message::SpareGone& gone);
  void OnCheckpoint(AgentId agent, const message::Checkpoint& message);
  void OnSteps(AgentId agent, const message::Steps& message);
  void OnAskCommunicatorIds(AgentId agent, const message::AskCommunicatorIds& ask);

  void OnAskStatus(AgentId asker, const message::AskStatus& ask);

  // Answers all who ask if the ranks have answered, else those who can't wait longer.
  void AnswerQuestions();
  void AbandonQuestions(const absl::Status& status);
  void ForgetQuestionsOf(AgentId asker);
  void Answer(const Question& question, std::string json);
  bool AllRanksAnswered() const;
  std::string StatusJson() const;
  std::vector<RankFacts> FactsOfRanks() const;
  RecoveryFacts FactsOfRecovery() const;

  absl::Status CheckHello(const message::AgentHello& hello) const;
  absl::Status CheckJoin(const message::Join& join) const;
  absl::Status CheckRank(const message::Join& join) const;
  absl::Status CheckSettings(const message::Join& join) const;
  void AddSpare(AgentId agent, const message::Join& join);
  void AddMember(AgentId agent, const message::Join& join);
  void AssignRanks();
  void BeginView();
  void AnnounceView();
  void CheckJoining();
  void TellProgress();
  void FailJoining(const absl::Status& status);
  absl::Status Lost(const MemberRecord& record, const std::string& how) const;
  void LoseMember(uint64_t incarnation, const absl::Status& reason);
  MemberRecord* Find(AgentId agent, Incarnation incarnation);
  void Evict(MemberRecord& record, const std::string& how);
  void WarnOfSilence(const MemberRecord& record, const std::string& how);
  void HearAgent(AgentId agent);
  void CheckAgents();
  // Of agents that are silent: core_eviction.cc.
  void NameSilentAgents();
  void AskWitnesses();
  void OnUnanswered(AgentId agent);
  bool CanGoOnWithoutNode(AgentId agent) const;
  void EvictNode(AgentId agent);
  void TellEvicted();
  static absl::Status Evicted(const std::string& why);
  void LoseAgent(AgentId agent, const std::string& line, const std::string& how);
  // The view can be followed by one in which spares take the place of these.
  bool CanRecoverWithout(const std::set<uint64_t>& incarnations) const;
  bool CanGoOnWithout(const std::set<uint64_t>& incarnations) const;
  void Revoke(const absl::Status& reason);
  void BeginRecovery(const MemberRecord& lost, const absl::Status& reason);
  int SparesWithout(const std::set<uint64_t>& incarnations, AgentId agent = {}) const;
  // By what PHALANX_ON_LOSS says: core_policy.cc.
  LossPolicy::Steps Policy() const;
  bool CanReplace(const MemberRecord& lost) const;
  int NewProcessesAt(AgentId agent) const;
  bool TakesPlaceAsNew(AgentId agent) const;
  int SparesLeft() const { return SparesWithout({}); }
  void StartAnother(const MemberRecord& lost);
  void StartSpareAt(AgentId agent, Incarnation lost);
  std::vector<MemberRecord>::iterator ChooseSpare(const MemberRecord& lost);
  void PromoteSpare(const MemberRecord& lost);
  void FillVacancies();
  bool Return(AgentId agent, const message::Join& join);
  void LoseWhileRecovering(const MemberRecord& lost, const absl::Status& reason);
  void FailRecovery(const absl::Status& reason);
  // Where a rank waits for a spare that can't come any more; `why` it can't.
  void FailIfNoSpareLeft(absl::string_view why);
  bool CanStartAnother() const;
  void ForgetSpareToCome(AgentId agent);
  void BeginViewIfReady();
  void TellOfNextView();
  void TellOfRestored(const JobCheckpoints::Outputs& outputs);
  // Of a job that heals live: core_steps.cc.
  void AskWhereAllStand();
  void BeginSteps();
  void TellOfHealed(const JobSteps::Resumed& resumed);
  void CheckRecoveryDeadline();
  void FailRunning(const absl::Status& reason);
  void Forget(uint64_t incarnation);
  void EndIfEmpty();
  void EndIfAllLeft();
  void EndIfStored();

  std::vector<int> MissingRanks() const;
  std::string ProgressLine() const;
  std::string Describe(const MemberRecord& record) const;
  std::string DescribeNode(AgentId agent) const;
  const MemberRecord* HolderOf(int rank) const;

  void PassOn(JobOrdering::Outputs outputs);
  void PassOn(JobCheckpoints::Outputs outputs);
  void PassOn(JobSteps::Outputs outputs);
  void BeginCheckpoints();
  void Resume(const JobRecord& record);
  void Admit(AgentId agent, const message::AgentHello& hello);
  void AdmitLate();
  bool IsLate(int node) const;
  absl::Status CheckPhase(const message::AgentHello& hello) const;
  bool GiveUpAwaitedNodes();
  void CheckAgentsReturned();
  void GoOnIfAllReturned();
  JobRecord CurrentRecord() const;
  void WriteFirst(Afterwards afterwards);
  void Perform(Afterwards afterwards);
  void RepeatCopies();
  bool SuffersAt(faults::Point point);
  bool SuffersNow();
  bool Suffers(const std::vector<faults::Due>& due);
  void OnFaultPerformed(const message::FaultPerformed& performed);
  void OrderFault(const faults::Fault& fault);
  void OrderFaults();
  std::pair<AgentId, Incarnation> WhoSuffers(const faults::Fault& fault) const;
  void DropAgent(AgentId agent, const std::string& why);
  void Send(AgentId agent, Message message);
  void Broadcast(const Message& message);
  void Log(LogSeverity severity, std::string line);
  void Tell(JobEvent event);
  void NoteFault(uint32_t index);
  void Finish(const absl::Status& status);

  const CoordinatorSettings settings_;
  Phase phase_ = Phase::kJoining;
  Clock::time_point now_;
  const Clock::time_point begun_at_;
  Clock::time_point join_deadline_;
  std::optional<Clock::time_point> progress_told_;
  std::string progress_line_;
  int world_size_ = 0;              // 0 until somebody has joined
  JobSettings job_settings_;        // as the first member said
  message::View view_;              // the newest that was decided
  uint32_t next_communicator_ = 1;  // 0 is the world
  Epoch epoch_;
  absl::Status reason_;  // why it is ending
  std::map<AgentId, AgentRecord> agents_;
  std::map<uint64_t, MemberRecord> members_;  // by incarnation: those who are there
  std::vector<uint64_t> arrivals_;            // incarnations in the order in which they joined
  std::vector<MemberRecord> spares_;          // in the order in which they came
  std::vector<MemberRecord> vacant_;          // the lost for whom a spare is still to come
  bool all_finished_ = false;                 // of this view
  Clock::time_point all_left_at_;
  Clock::time_point revoked_at_;      // the last view that was
  Clock::time_point returned_at_;     // when all had come back from it
  Clock::time_point copies_lost_at_;  // with an agent or a view
  Clock::time_point copies_repeated_;
  std::map<int, AgentId> agent_of_node_;   // of the view; the agent may be gone
  std::unique_ptr<JobOrdering> ordering_;  // from the view on, of a job that is ordered
  JobCheckpoints checkpoints_;
  JobSteps steps_;
  JobHistory history_;
  std::set<uint32_t> performed_faults_;
  std::map<uint64_t, Clock::time_point> warned_of_;  // of whose silence, by incarnation: when
  membership::Suspicion agents_heard_{membership::SuspicionSettings{}};
  membership::Inquiries inquiries_;                    // about those that aren't
  std::map<AgentId, Clock::time_point> named_agents_;  // of whose silence the log has spoken: when
  std::set<int> late_nodes_;  // that came after the view had begun, to wait with their spares
  std::vector<std::pair<AgentId, message::AgentHello>> unadmitted_;  // of them
  std::set<int> evicted_nodes_;
  std::map<AgentId, absl::Status> evicted_agents_;       // their connections: why
  std::vector<std::pair<AgentId, int>> evicted_untold_;  // and their nodes
  std::vector<Question> questions_;                      // not answered yet
  faults::FaultPlan faults_;
  std::vector<faults::Fault> ordered_faults_;    // that others suffer once that is in the record
  bool suffers_ = false;                         // dies as soon as that is in the record
  std::optional<Clock::time_point> resumed_at_;  // began with a record
  std::set<int> awaited_nodes_;                  // of the record, that haven't come back
  std::set<int> lost_nodes_;                     // whose agents were lost, or didn't come back
  bool writing_ = false;
  std::vector<Afterwards> afterwards_;    // of the write that is under way or to be begun
  std::deque<CoordinatorInput> waiting_;  // for that
  std::vector<CoordinatorOutput> outputs_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_CORE_H_
