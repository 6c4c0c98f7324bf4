#include "control_coordinator/core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace phalanx::control {

CoordinatorCore::CoordinatorCore(CoordinatorSettings settings, Clock::time_point now)
    : settings_(std::move(settings)),
      now_(now),
      begun_at_(now),
      join_deadline_(now + settings_.join_timeout),
      checkpoints_({}, settings_.persist),
      steps_(settings_.claim),
      inquiries_({.witness_wait = settings_.witness_wait}) {
  if (settings_.record.has_value()) Resume(*settings_.record);
  faults_ = faults::FaultPlan(settings_.faults, performed_faults_);
}

std::vector<CoordinatorOutput> CoordinatorCore::Step(const CoordinatorInput& input,
                                                     Clock::time_point now) {
  now_ = now;
  const bool written = std::holds_alternative<RecordWritten>(input);
  if (writing_ && !written) {
    // A tick comes again by itself; that we are there is all that may be said.
    if (!std::holds_alternative<Tick>(input)) {
      waiting_.push_back(input);
    } else {
      Broadcast(message::Heartbeat{});
    }
    return std::exchange(outputs_, {});
  }
  Dispatch(input);
  while (!writing_ && !waiting_.empty()) {
    const CoordinatorInput next = std::move(waiting_.front());
    waiting_.pop_front();
    Dispatch(next);
  }
  return std::exchange(outputs_, {});
}

void CoordinatorCore::Dispatch(const CoordinatorInput& input) {
  if (phase_ == Phase::kOver) return;
  std::visit([this](const auto& value) { Handle(value); }, input);
  if (afterwards_.empty() || phase_ == Phase::kOver) return;
  writing_ = true;
  outputs_.push_back(WriteRecord{CurrentRecord()});
}

void CoordinatorCore::Handle(const AgentSaid& said) {
  if (evicted_agents_.count(said.agent) > 0) return;  // it hears so
  HearAgent(said.agent);
  if (const auto* hello = std::get_if<message::AgentHello>(&said.message)) {
    OnHello(said.agent, *hello);
    return;
  }
  if (const auto* ask = std::get_if<message::AskStatus>(&said.message)) {
    OnAskStatus(said.agent, *ask);
    return;
  }
  if (std::holds_alternative<message::Heartbeat>(said.message)) return;
  if (agents_.count(said.agent) == 0) {
    Log(LogSeverity::kWarning,
        absl::StrCat("dropped a connection whose first message was ", NameOf(said.message)));
    outputs_.push_back(CloseAgent{said.agent});
    return;
  }
  if (const auto* join = std::get_if<message::Join>(&said.message)) {
    OnJoin(said.agent, *join);
  } else if (const auto* leave = std::get_if<message::Leave>(&said.message)) {
    OnLeave(said.agent, *leave);
  } else if (const auto* lost = std::get_if<message::MemberLost>(&said.message)) {
    OnMemberLost(said.agent, *lost);
  } else if (const auto* ordering = std::get_if<message::Ordering>(&said.message)) {
    OnOrdering(said.agent, *ordering);
  } else if (const auto* ask = std::get_if<message::AskCommunicatorIds>(&said.message)) {
    OnAskCommunicatorIds(said.agent, *ask);
  } else if (const auto* checkpoint = std::get_if<message::Checkpoint>(&said.message)) {
    OnCheckpoint(said.agent, *checkpoint);
  } else if (const auto* steps = std::get_if<message::Steps>(&said.message)) {
    OnSteps(said.agent, *steps);
  } else if (const auto* fault = std::get_if<message::FaultPerformed>(&said.message)) {
    OnFaultPerformed(*fault);
  } else if (const auto* silent = std::get_if<message::MemberSilent>(&said.message)) {
    OnMemberSilent(said.agent, *silent);
  } else if (const auto* heard = std::get_if<message::MemberHeard>(&said.message)) {
    OnMemberHeard(said.agent, *heard);
  } else if (const auto* says = std::get_if<message::WitnessSays>(&said.message)) {
    OnWitnessSays(said.agent, *says);
  } else if (const auto* recoverable = std::get_if<message::Recoverable>(&said.message)) {
    OnRecoverable(said.agent, *recoverable);
  } else if (const auto* finished = std::get_if<message::Finished>(&said.message)) {
    OnFinished(said.agent, *finished);
  } else if (const auto* gone = std::get_if<message::SpareGone>(&said.message)) {
    OnSpareGone(said.agent, *gone);
  } else {
    DropAgent(said.agent, absl::StrCat("unexpected ", NameOf(said.message)));
  }
}

void CoordinatorCore::Handle(const AgentLost& lost) {
  ForgetQuestionsOf(lost.agent);
  evicted_agents_.erase(lost.agent);
  if (agents_.count(lost.agent) == 0) return;
  LoseAgent(lost.agent,
            absl::StrCat("the agent of ", DescribeNode(lost.agent), " is gone: ", lost.why),
            absl::StrCat("was lost with its agent (", lost.why, ")"));
}

void CoordinatorCore::LoseAgent(AgentId agent, const std::string& line, const std::string& how) {
  // Before any of them is lost: the view that this may begin has none of them, and not the agent.
  std::vector<std::pair<uint64_t, absl::Status>> gone;
  for (auto& [incarnation, record] : members_) {
    if (record.agent != agent) continue;
    gone.emplace_back(incarnation, Lost(record, how));
    record.ready = false;
  }
  std::erase_if(spares_, [&](const MemberRecord& spare) { return spare.agent == agent; });
  const bool matters = !gone.empty() && phase_ != Phase::kEnding;
  Log(matters ? LogSeverity::kWarning : LogSeverity::kInfo, line);
  lost_nodes_.insert(agents_.at(agent).node);
  late_nodes_.erase(agents_.at(agent).node);
  agents_.erase(agent);
  agents_heard_.Forget(agent.value);
  inquiries_.End(agent.value);
  named_agents_.erase(agent);
  const Epoch epoch = epoch_;
  for (const auto& [incarnation, reason] : gone) {
    if (members_.count(incarnation) == 0) continue;  // it had left
    LoseMember(incarnation, reason);
    if (phase_ == Phase::kOver) return;
  }
  FailIfNoSpareLeft(line);
  if (phase_ == Phase::kStoring) {
    Log(LogSeverity::kWarning, "the job's last checkpoint isn't in files");
    Finish(absl::OkStatus());
  } else if (phase_ == Phase::kRunning && epoch_ == epoch && gone.empty()) {
    // With ranks of its own, all of which had left, it leaves copies that nobody makes again.
    copies_lost_at_ = now_;
    PassOn(checkpoints_.LoseAgent(static_cast<checkpoint::AgentId>(agent.value)));
  }
}

void CoordinatorCore::Handle(const CreatorGone& /*gone*/) {
  if (phase_ == Phase::kJoining && members_.empty()) {
    Finish(
        absl::UnavailableError("the process that created the job ended before anybody had joined"));
  }
}

void CoordinatorCore::Handle(const Tick& /*tick*/) {
  Broadcast(message::Heartbeat{});
  CheckAgents();
  if (phase_ == Phase::kOver) return;
  AnswerQuestions();
  if (SuffersNow()) return;
  CheckAgentsReturned();
  if (phase_ == Phase::kRunning) RepeatCopies();
  EndIfStored();
  if (phase_ == Phase::kRecovering) return CheckRecoveryDeadline();
  if (phase_ == Phase::kJoining) CheckJoining();
}

void CoordinatorCore::BeginView() {
  AssignRanks();
  phase_ = Phase::kRunning;
  epoch_ = Epoch{epoch_.value + 1};
  next_communicator_ = 1;
  all_finished_ = false;
  agent_of_node_.clear();
  late_nodes_.clear();
  view_ = message::View{epoch_, settings_.job_token, {}, {}, job_settings_, {}};
  view_.members.resize(static_cast<size_t>(world_size_));
  for (auto& [incarnation, record] : members_) {
    record.finished = false;
    view_.members[static_cast<size_t>(record.member.rank)] = record.member;
  }
  for (const auto& [id, record] : agents_) {
    const auto node = static_cast<size_t>(record.node);
    if (view_.node_cores.size() <= node) view_.node_cores.resize(node + 1, 0);
    view_.node_cores[node] = record.cores;
    agent_of_node_[record.node] = id;
  }
  view_.performed_faults.assign(performed_faults_.begin(), performed_faults_.end());
  WriteFirst(Afterwards::kAnnounceView);
}

void CoordinatorCore::AnnounceView() {
  Tell({"view",
        {{"epoch", static_cast<int64_t>(epoch_.value)},
         {"spares", static_cast<int64_t>(spares_.size())}}});
  if (epoch_ == Epoch{1}) {
    Log(LogSeverity::kInfo, absl::StrCat("all ", world_size_, " ranks joined"));
  } else {
    TellOfNextView();
  }
  Broadcast(view_);
  BeginSteps();
  if (job_settings_.ordering == OrderingMode::kOff) return;
  ordering_ = std::make_unique<JobOrdering>(view_);
  PassOn(ordering_->Begin());
}

void CoordinatorCore::OnOrdering(AgentId agent, const message::Ordering& message) {
  // Said before it could know, or of a view that was over when we came.
  if (phase_ == Phase::kEnding || phase_ == Phase::kRecovering ||
      (resumed_at_.has_value() && all_finished_)) {
    return;
  }
  if (phase_ != Phase::kRunning || ordering_ == nullptr) {
    DropAgent(agent, "it sent Ordering where nothing is ordered");
    return;
  }
  absl::StatusOr<JobOrdering::Outputs> outputs =
      ordering_->FromNode(agents_.at(agent).node, message.payload);
  if (outputs.ok()) {
    PassOn(*std::move(outputs));
    AnswerQuestions();
  } else {
    DropAgent(agent, std::string(outputs.status().message()));
  }
}

void CoordinatorCore::OnAskCommunicatorIds(AgentId agent, const message::AskCommunicatorIds& ask) {
  if (phase_ != Phase::kRunning) return;  // said before it could know
  message::CommunicatorIds ids{ask.incarnation, ask.request, 0};
  if (ask.count <= kMaxCommunicators - next_communicator_) {
    ids.first = next_communicator_;
    next_communicator_ += ask.count;
  }
  Send(agent, ids);
}

void CoordinatorCore::PassOn(JobOrdering::Outputs outputs) {
  for (const auto& conclusion : outputs.conclusions) {
    const std::string text = ordering::Describe(*conclusion);
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      Log(LogSeverity::kWarning, std::string(line));
    }
    outputs_.push_back(Concluded{conclusion});
  }
  for (JobOrdering::ToNode& message : outputs.messages) {
    const auto agent = agent_of_node_.find(message.node);
    if (agent == agent_of_node_.end()) continue;
    Send(agent->second, message::Ordering{std::move(message.payload)});
  }
}

void CoordinatorCore::DropAgent(AgentId agent, const std::string& why) {
  Log(LogSeverity::kWarning, absl::StrCat("dropped the agent of ", DescribeNode(agent), ": ", why));
  Send(agent, message::Refused{Incarnation{0}, absl::InvalidArgumentError(why)});
  outputs_.push_back(CloseAgent{agent});
}

void CoordinatorCore::OnLeave(AgentId agent, const message::Leave& leave) {
  const auto found = members_.find(leave.incarnation.value);
  if (found == members_.end() || found->second.agent != agent) {
    std::erase_if(spares_, [&](const MemberRecord& spare) {
      return spare.member.incarnation == leave.incarnation && spare.agent == agent;
    });
    return FailIfNoSpareLeft("a spare left");
  }
  if (phase_ == Phase::kJoining || phase_ == Phase::kRecovering) {
    LoseMember(leave.incarnation.value, Lost(found->second, "left"));
    return;
  }
  found->second.left = true;
  EndIfAllLeft();
  if (phase_ == Phase::kEnding) {
    members_.erase(found);
    EndIfEmpty();
  }
}

void CoordinatorCore::EndIfAllLeft() {
  // Nodes with spares alone are to hear of it, too.
  if (phase_ != Phase::kRunning || !awaited_nodes_.empty()) return;
  for (const auto& [incarnation, record] : members_) {
    if (!record.left) return;
  }
  Broadcast(message::AllLeft{epoch_});
  phase_ = Phase::kStoring;
  all_left_at_ = now_;
  EndIfStored();
}

// The agents wait for the last version to be written, as long as they think right. One that isn't
// committed soon never will be: its ranks have gone.
void CoordinatorCore::EndIfStored() {
  constexpr Clock::duration kLastCommit = std::chrono::seconds(10);
  if (phase_ != Phase::kStoring || checkpoints_.writing()) return;
  if (checkpoints_.is_saving() && now_ < all_left_at_ + kLastCommit) return;
  PassOn(checkpoints_.WriteLast());
  if (!checkpoints_.writing()) Finish(absl::OkStatus());
}

void CoordinatorCore::OnMemberLost(AgentId agent, const message::MemberLost& lost) {
  const auto spare = std::find_if(spares_.begin(), spares_.end(), [&](const MemberRecord& record) {
    return record.member.incarnation == lost.incarnation && record.agent == agent;
  });
  if (spare != spares_.end()) {
    Log(LogSeverity::kWarning, absl::StrCat("a spare is lost: ", Describe(*spare), " ", lost.how));
    const MemberRecord record = *spare;
    spares_.erase(spare);
    StartAnother(record);
    return FailIfNoSpareLeft("a spare is lost");
  }
  const auto found = members_.find(lost.incarnation.value);
  if (found == members_.end() || found->second.agent != agent) return;
  found->second.restarted = lost.restarted;
  LoseMember(lost.incarnation.value, Lost(found->second, lost.how));
}

absl::Status CoordinatorCore::Lost(const MemberRecord& record, const std::string& how) const {
  return absl::UnavailableError(absl::StrCat(Describe(record), " ", how));
}

void CoordinatorCore::LoseMember(uint64_t incarnation, const absl::Status& reason) {
  const MemberRecord record = members_.at(incarnation);
  if (phase_ == Phase::kRunning && record.left) return;  // it had said that it would go
  Tell({"member_lost",
        {{"rank", record.member.rank}, {"epoch", static_cast<int64_t>(epoch_.value)}}});
  switch (phase_) {
    case Phase::kJoining:
      Forget(incarnation);
      if (CanReplace(record) && record.member.rank >= 0) {
        Log(LogSeverity::kWarning, std::string(reason.message()));
        PromoteSpare(record);
        if (static_cast<int>(members_.size()) == world_size_) BeginView();
        return;
      }
      FailJoining(
          absl::UnavailableError(absl::StrCat(reason.message(), " before all ranks had joined")));
      return;
    case Phase::kRunning:
      Forget(incarnation);
      Log(LogSeverity::kWarning, std::string(reason.message()));
      if (!CanGoOnWithout({})) return FailRunning(reason);
      StartAnother(record);
      return CanReplace(record) ? BeginRecovery(record, reason) : FailRunning(reason);
    case Phase::kRecovering:
      Forget(incarnation);
      Log(LogSeverity::kWarning, std::string(reason.message()));
      return LoseWhileRecovering(record, reason);
    case Phase::kEnding:
      Forget(incarnation);
      return EndIfEmpty();
    case Phase::kStoring:
    case Phase::kOver:
      return;
  }
}

void CoordinatorCore::FailRunning(const absl::Status& reason) {
  checkpoints_.EndView();
  steps_.End();
  phase_ = Phase::kEnding;
  reason_ = reason;
  vacant_.clear();
  Broadcast(message::Revoked{epoch_, reason});
  // Those who had left before wait for nothing any more.
  std::erase_if(members_, [](const auto& member) { return member.second.left; });
  EndIfEmpty();
}

void CoordinatorCore::Forget(uint64_t incarnation) {
  members_.erase(incarnation);
  warned_of_.erase(incarnation);
  std::erase(arrivals_, incarnation);
}

void CoordinatorCore::EndIfEmpty() {
  if (phase_ == Phase::kEnding && members_.empty()) Finish(reason_);
}

void CoordinatorCore::Finish(const absl::Status& status) {
  AbandonQuestions(status);
  afterwards_.clear();
  phase_ = Phase::kOver;
  for (const auto& [id, record] : agents_) outputs_.push_back(CloseAgent{id});
  outputs_.push_back(JobOver{status});
}

std::string CoordinatorCore::Describe(const MemberRecord& record) const {
  return absl::StrCat(
      record.member.rank < 0 ? "a process" : absl::StrCat("rank ", record.member.rank), " (pid ",
      record.member.pid, " on ",
      agents_.count(record.agent) > 0 ? DescribeNode(record.agent)
                                      : absl::StrCat("node ", record.member.node),
      ")");
}

std::string CoordinatorCore::DescribeNode(AgentId agent) const {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return "an unknown node";
  return absl::StrCat("node ", found->second.node, " '", found->second.node_name, "'");
}

void CoordinatorCore::Send(AgentId agent, Message message) {
  outputs_.push_back(SendToAgent{agent, std::move(message)});
}

void CoordinatorCore::Broadcast(const Message& message) {
  for (const auto& [id, record] : agents_) Send(id, message);
}

void CoordinatorCore::Log(LogSeverity severity, std::string line) {
  history_.NoteLine(severity, line, now_);
  outputs_.push_back(LogLine{severity, std::move(line)});
}

void CoordinatorCore::Tell(JobEvent event) {
  history_.Note(event, now_);
  if (settings_.tells_events) outputs_.push_back(std::move(event));
}

}  // namespace phalanx::control
