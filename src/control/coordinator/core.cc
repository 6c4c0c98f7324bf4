#include "control_coordinator/core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

// The same line is repeated after the first, a new one waits for the second: many ranks that join
// at once make few messages.
constexpr Clock::duration kProgressRepeat = std::chrono::seconds(1);
constexpr Clock::duration kProgressPause = std::chrono::milliseconds(90);

// "rank 2", "ranks 2, 5 to 9 and more": short enough to read however many there are.
std::string NameRanks(const std::vector<int>& ranks) {
  constexpr size_t kMostRanges = 8;
  std::vector<std::string> ranges;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (ranges.size() == kMostRanges) {
      ranges.push_back("more");
      break;
    }
    ranges.push_back(last < i + 2 ? absl::StrCat(ranks[i])
                                  : absl::StrCat(ranks[i], " to ", ranks[last]));
    if (last == i + 1) ranges.push_back(absl::StrCat(ranks[last]));
    i = last + 1;
  }
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", absl::StrJoin(ranges, ", "));
}

std::string Seconds(Clock::duration duration) {
  return absl::StrCat(std::chrono::duration<double>(duration).count(), " s");
}

}  // namespace

CoordinatorCore::CoordinatorCore(CoordinatorSettings settings, Clock::time_point now)
    : settings_(std::move(settings)),
      now_(now),
      join_deadline_(now + settings_.join_timeout),
      progress_told_(now - kProgressRepeat) {}

std::vector<CoordinatorOutput> CoordinatorCore::Step(const CoordinatorInput& input,
                                                     Clock::time_point now) {
  now_ = now;
  if (phase_ != Phase::kOver) {
    std::visit([this](const auto& value) { Handle(value); }, input);
  }
  return std::exchange(outputs_, {});
}

void CoordinatorCore::Handle(const AgentSaid& said) {
  if (const auto* hello = std::get_if<message::AgentHello>(&said.message)) {
    OnHello(said.agent, *hello);
    return;
  }
  if (const auto* ask = std::get_if<message::AskStatus>(&said.message)) {
    OnAskStatus(said.agent, *ask);
    return;
  }
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
  } else if (const auto* fault = std::get_if<message::FaultPerformed>(&said.message)) {
    performed_faults_.insert(fault->index);
  } else if (const auto* recoverable = std::get_if<message::Recoverable>(&said.message)) {
    OnRecoverable(said.agent, *recoverable);
  } else if (const auto* finished = std::get_if<message::Finished>(&said.message)) {
    OnFinished(said.agent, *finished);
  } else {
    DropAgent(said.agent, absl::StrCat("unexpected ", NameOf(said.message)));
  }
}

void CoordinatorCore::Handle(const AgentLost& lost) {
  ForgetQuestionsOf(lost.agent);
  const auto found = agents_.find(lost.agent);
  if (found == agents_.end()) return;
  const std::string node = DescribeNode(lost.agent);
  const std::string how = absl::StrCat("was lost with its agent (", lost.why, ")");
  // Before any of them is lost: the view that this may begin has none of them, and not the agent.
  std::vector<std::pair<uint64_t, absl::Status>> gone;
  for (auto& [incarnation, record] : members_) {
    if (record.agent != lost.agent) continue;
    gone.emplace_back(incarnation, Lost(record, how));
    record.ready = false;
  }
  std::erase_if(spares_, [&](const MemberRecord& spare) { return spare.agent == lost.agent; });
  found->second.spares_to_come = 0;
  const bool matters = !gone.empty() && phase_ != Phase::kEnding;
  Log(matters ? LogSeverity::kWarning : LogSeverity::kInfo,
      absl::StrCat("the agent of ", node, " is gone: ", lost.why));
  agents_.erase(found);
  const Epoch epoch = epoch_;
  for (const auto& [incarnation, reason] : gone) {
    if (members_.count(incarnation) == 0) continue;  // it had left
    LoseMember(incarnation, reason);
    if (phase_ == Phase::kOver) return;
  }
  if (phase_ == Phase::kRunning && epoch_ == epoch) {
    PassOn(checkpoints_.LoseAgent(static_cast<checkpoint::AgentId>(lost.agent.value)));
  }
}

void CoordinatorCore::Handle(const CreatorGone& /*gone*/) {
  if (phase_ == Phase::kJoining && members_.empty()) {
    Finish(
        absl::UnavailableError("the process that created the job ended before anybody had joined"));
  }
}

void CoordinatorCore::Handle(const Tick& /*tick*/) {
  AnswerQuestions();
  if (phase_ == Phase::kRecovering) return CheckRecoveryDeadline();
  if (phase_ != Phase::kJoining) return;
  if (now_ < join_deadline_) {
    TellProgress();
    return;
  }
  if (members_.empty()) {
    FailJoining(absl::DeadlineExceededError(
        absl::StrCat("nobody joined within ", Seconds(settings_.join_timeout))));
    return;
  }
  FailJoining(absl::DeadlineExceededError(
      absl::StrCat("not all ranks joined within ", Seconds(settings_.join_timeout), ": ",
                   ProgressLine(), "; see whether the missing processes were started")));
}

absl::Status CoordinatorCore::CheckHello(const message::AgentHello& hello) const {
  if (hello.version != kProtocolVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("the agent of '", hello.node_name, "' speaks version ", hello.version,
                     " of the control protocol, this job version ", kProtocolVersion,
                     "; use one release of Phalanx on all nodes"));
  }
  if (hello.job != settings_.job) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is job ", settings_.job, ", not ", hello.job));
  }
  if (phase_ != Phase::kJoining) {
    return absl::UnavailableError("the job takes no more nodes: it has begun already");
  }
  for (const auto& [id, record] : agents_) {
    if (hello.node >= 0 && record.node == hello.node) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", hello.node, " is already taken by '", record.node_name, "'"));
    }
  }
  return absl::OkStatus();
}

void CoordinatorCore::OnHello(AgentId agent, const message::AgentHello& hello) {
  const absl::Status status = agents_.count(agent) > 0
                                  ? absl::InvalidArgumentError("an agent says hello only once")
                                  : CheckHello(hello);
  if (!status.ok()) {
    Log(LogSeverity::kWarning,
        absl::StrCat("refused the agent of '", hello.node_name, "': ", status.message()));
    Send(agent, message::Refused{Incarnation{0}, status});
    outputs_.push_back(CloseAgent{agent});
    return;
  }
  AgentRecord record{hello.node, hello.node_name, std::max(hello.cores, 1), hello.spares};
  if (record.node < 0) {
    std::set<int> taken;
    for (const auto& [id, other] : agents_) taken.insert(other.node);
    record.node = 0;
    while (taken.count(record.node) > 0) ++record.node;
  }
  agents_.emplace(agent, record);
  Send(agent, message::AgentWelcome{record.node});
}

const CoordinatorCore::MemberRecord* CoordinatorCore::HolderOf(int rank) const {
  for (const auto& [incarnation, record] : members_) {
    if (record.member.rank == rank) return &record;
  }
  return nullptr;
}

absl::Status CoordinatorCore::CheckRank(const message::Join& join) const {
  const int rank = join.member.rank;
  if (rank >= join.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " is not below the world size ", join.world_size));
  }
  if (rank < 0) return absl::OkStatus();
  if (const MemberRecord* holder = HolderOf(rank); holder != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " is already taken by pid ", holder->member.pid, " on ",
                     DescribeNode(holder->agent), "; give every process a rank of its own"));
  }
  return absl::OkStatus();
}

// Ranks that order differently would wait for each other for ever.
absl::Status CoordinatorCore::CheckSettings(const message::Join& join) const {
  const std::optional<SettingsDifference> difference = Compare(join.settings, job_settings_);
  if (!difference.has_value()) return absl::OkStatus();
  const std::string& variable = difference->variable;
  const std::string joiner = join.member.rank < 0 ? absl::StrCat("pid ", join.member.pid)
                                                  : absl::StrCat("rank ", join.member.rank);
  const MemberRecord& first = members_.empty() ? spares_.front() : members_.at(arrivals_.front());
  return absl::InvalidArgumentError(absl::StrCat(
      joiner, " has ", variable, "=", difference->left, ", but ", Describe(first), " has ",
      variable, "=", difference->right, "; set ", variable, " to the same value on all ranks"));
}

absl::Status CoordinatorCore::CheckJoin(const message::Join& join) const {
  if (join.version != kProtocolVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the library speaks version ", join.version, " of the control protocol, this job version ",
        kProtocolVersion, "; use one release of Phalanx for the program and its launcher"));
  }
  if (join.world_size < 1 || join.world_size > kMaxWorldSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a world of ", join.world_size, " ranks; wanted 1 to ", kMaxWorldSize));
  }
  if (phase_ == Phase::kEnding) return reason_;
  if (world_size_ != 0 && join.world_size != world_size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", join.member.rank, " says that the world has ", join.world_size,
                     " ranks, but those who joined before say ", world_size_));
  }
  if (!members_.empty() || !spares_.empty()) PHX_RETURN_IF_ERROR(CheckSettings(join));
  const bool known = members_.count(join.member.incarnation.value) > 0 ||
                     std::any_of(spares_.begin(), spares_.end(), [&](const MemberRecord& spare) {
                       return spare.member.incarnation == join.member.incarnation;
                     });
  if (known) return absl::InvalidArgumentError("a process joins only once");
  if (join.spare) {
    if (join.member.rank < 0) return absl::OkStatus();
    return absl::InvalidArgumentError("a spare has no rank; unset PHALANX_RANK");
  }
  PHX_RETURN_IF_ERROR(CheckRank(join));
  if (phase_ != Phase::kJoining) {
    return absl::InvalidArgumentError(absl::StrCat("all ", world_size_, " ranks are taken"));
  }
  return absl::OkStatus();
}

void CoordinatorCore::OnJoin(AgentId agent, const message::Join& join) {
  if (Return(agent, join)) return;
  const absl::Status status = CheckJoin(join);
  if (!status.ok()) {
    Log(LogSeverity::kWarning, absl::StrCat("refused pid ", join.member.pid, " on ",
                                            DescribeNode(agent), ": ", status.message()));
    Send(agent, message::Refused{join.member.incarnation, status});
    return;
  }
  if (world_size_ == 0) {
    world_size_ = join.world_size;
    job_settings_ = join.settings;
    join_deadline_ = now_ + settings_.join_timeout;
  }
  if (join.spare) {
    AddSpare(agent, join);
  } else {
    AddMember(agent, join);
  }
}

void CoordinatorCore::AddMember(AgentId agent, const message::Join& join) {
  MemberRecord record{join.member, agent};
  record.member.node = agents_.at(agent).node;
  members_.emplace(join.member.incarnation.value, std::move(record));
  arrivals_.push_back(join.member.incarnation.value);
  if (static_cast<int>(members_.size()) == world_size_) {
    BeginView();
  } else {
    TellProgress();
  }
}

// Those who named no rank get the free ones by node and arrival, so that neighbours in rank are
// neighbours in space.
void CoordinatorCore::AssignRanks() {
  std::vector<int> free_ranks = MissingRanks();
  std::vector<MemberRecord*> unnamed;
  for (const uint64_t incarnation : arrivals_) {
    MemberRecord& record = members_.at(incarnation);
    if (record.member.rank < 0) unnamed.push_back(&record);
  }
  std::stable_sort(
      unnamed.begin(), unnamed.end(),
      [](const MemberRecord* a, const MemberRecord* b) { return a->member.node < b->member.node; });
  for (size_t i = 0; i < unnamed.size(); ++i) unnamed[i]->member.rank = free_ranks[i];
}

void CoordinatorCore::BeginView() {
  AssignRanks();
  phase_ = Phase::kRunning;
  epoch_ = Epoch{epoch_.value + 1};
  next_communicator_ = 1;
  all_finished_ = false;
  agent_of_node_.clear();
  message::View view{epoch_, settings_.job_token, {}, {}, job_settings_, {}};
  view.performed_faults.assign(performed_faults_.begin(), performed_faults_.end());
  view.members.resize(static_cast<size_t>(world_size_));
  for (auto& [incarnation, record] : members_) {
    record.finished = false;
    view.members[static_cast<size_t>(record.member.rank)] = record.member;
  }
  for (const auto& [id, record] : agents_) {
    const auto node = static_cast<size_t>(record.node);
    if (view.node_cores.size() <= node) view.node_cores.resize(node + 1, 0);
    view.node_cores[node] = record.cores;
    agent_of_node_[record.node] = id;
  }
  if (epoch_ == Epoch{1})
    Log(LogSeverity::kInfo, absl::StrCat("all ", world_size_, " ranks joined"));
  Broadcast(view);
  BeginCheckpoints();
  if (job_settings_.ordering == OrderingMode::kOff) return;
  ordering_ = std::make_unique<JobOrdering>(view);
  PassOn(ordering_->Begin());
}

void CoordinatorCore::OnOrdering(AgentId agent, const message::Ordering& message) {
  // Said before it could know.
  if (phase_ == Phase::kEnding || phase_ == Phase::kRecovering) return;
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
  outputs_.push_back(CloseAgent{agent});
}

void CoordinatorCore::OnLeave(AgentId agent, const message::Leave& leave) {
  const auto found = members_.find(leave.incarnation.value);
  if (found == members_.end() || found->second.agent != agent) {
    std::erase_if(spares_, [&](const MemberRecord& spare) {
      return spare.member.incarnation == leave.incarnation && spare.agent == agent;
    });
    return;
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
  if (phase_ != Phase::kRunning) return;
  for (const auto& [incarnation, record] : members_) {
    if (!record.left) return;
  }
  Broadcast(message::AllLeft{epoch_});
  Finish(absl::OkStatus());
}

void CoordinatorCore::OnMemberLost(AgentId agent, const message::MemberLost& lost) {
  const auto spare = std::find_if(spares_.begin(), spares_.end(), [&](const MemberRecord& record) {
    return record.member.incarnation == lost.incarnation && record.agent == agent;
  });
  if (spare != spares_.end()) {
    Log(LogSeverity::kWarning, absl::StrCat("a spare is lost: ", Describe(*spare), " ", lost.how));
    spares_.erase(spare);
    return;
  }
  const auto found = members_.find(lost.incarnation.value);
  if (found == members_.end() || found->second.agent != agent) return;
  LoseMember(lost.incarnation.value, Lost(found->second, lost.how));
}

absl::Status CoordinatorCore::Lost(const MemberRecord& record, const std::string& how) const {
  return absl::UnavailableError(absl::StrCat(Describe(record), " ", how));
}

void CoordinatorCore::LoseMember(uint64_t incarnation, const absl::Status& reason) {
  const MemberRecord record = members_.at(incarnation);
  if (phase_ == Phase::kRunning && record.left) return;  // it had said that it would go
  switch (phase_) {
    case Phase::kJoining:
      Forget(incarnation);
      if (SparesLeft() > 0 && record.member.rank >= 0) {
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
      return CanRecover() ? BeginRecovery(record, reason) : FailRunning(reason);
    case Phase::kRecovering:
      Forget(incarnation);
      Log(LogSeverity::kWarning, std::string(reason.message()));
      return LoseWhileRecovering(record, reason);
    case Phase::kEnding:
      Forget(incarnation);
      return EndIfEmpty();
    case Phase::kOver:
      return;
  }
}

void CoordinatorCore::FailRunning(const absl::Status& reason) {
  checkpoints_.EndView();
  phase_ = Phase::kEnding;
  reason_ = reason;
  Broadcast(message::Revoked{epoch_, reason});
  // Those who had left before wait for nothing any more.
  std::erase_if(members_, [](const auto& member) { return member.second.left; });
  EndIfEmpty();
}

void CoordinatorCore::Forget(uint64_t incarnation) {
  members_.erase(incarnation);
  std::erase(arrivals_, incarnation);
}

void CoordinatorCore::EndIfEmpty() {
  if (phase_ == Phase::kEnding && members_.empty()) Finish(reason_);
}

void CoordinatorCore::FailJoining(const absl::Status& status) {
  Log(LogSeverity::kError, std::string(status.message()));
  Broadcast(message::Revoked{epoch_, status});
  Finish(status);
}

void CoordinatorCore::Finish(const absl::Status& status) {
  AbandonQuestions(status);
  phase_ = Phase::kOver;
  for (const auto& [id, record] : agents_) outputs_.push_back(CloseAgent{id});
  outputs_.push_back(JobOver{status});
}

std::vector<int> CoordinatorCore::MissingRanks() const {
  std::vector<bool> there(static_cast<size_t>(world_size_), false);
  for (const auto& [incarnation, record] : members_) {
    if (record.member.rank >= 0) there[static_cast<size_t>(record.member.rank)] = true;
  }
  std::vector<int> missing;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!there[static_cast<size_t>(rank)]) missing.push_back(rank);
  }
  return missing;
}

std::string CoordinatorCore::ProgressLine() const {
  const std::vector<int> missing = MissingRanks();
  const int absent = world_size_ - static_cast<int>(members_.size());
  // With members that take any rank, which ranks will be missing isn't known yet.
  const std::string awaited = static_cast<int>(missing.size()) == absent
                                  ? NameRanks(missing)
                                  : absl::StrCat(absent, " more");
  return absl::StrCat(members_.size(), " of ", world_size_, " ranks joined, waiting for ", awaited);
}

void CoordinatorCore::TellProgress() {
  if (members_.empty()) return;
  const Clock::duration since = now_ - progress_told_;
  if (since < kProgressPause) return;
  std::string line = ProgressLine();
  if (line == progress_line_ && since < kProgressRepeat) return;
  progress_told_ = now_;
  progress_line_ = std::move(line);
  Broadcast(message::Progress{progress_line_});
}

std::string CoordinatorCore::Describe(const MemberRecord& record) const {
  return absl::StrCat(
      record.member.rank < 0 ? "a process" : absl::StrCat("rank ", record.member.rank), " (pid ",
      record.member.pid, " on ", DescribeNode(record.agent), ")");
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
  outputs_.push_back(LogLine{severity, std::move(line)});
}

}  // namespace phalanx::control
