// The core's part for a job that is being formed: nodes and ranks that come, who is refused, and
// what those who wait are told.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "control_coordinator/core.h"

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
  if (evicted_nodes_.count(hello.node) > 0) return Evicted("it was silent");
  PHX_RETURN_IF_ERROR(CheckPhase(hello));
  for (const auto& [id, record] : agents_) {
    if (hello.node >= 0 && record.node == hello.node) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", hello.node, " is already taken by '", record.node_name, "'"));
    }
  }
  return absl::OkStatus();
}

// Whether a node may come at this time.
absl::Status CoordinatorCore::CheckPhase(const message::AgentHello& hello) const {
  if (phase_ == Phase::kJoining) return absl::OkStatus();
  if (phase_ == Phase::kEnding) return reason_;
  if (hello.returns) {
    // Of one that was lost, the ranks are others' by now.
    const bool is_wanted = resumed_at_.has_value() || hello.spares > 0;
    if (is_wanted && lost_nodes_.count(hello.node) == 0) return absl::OkStatus();
    return absl::UnavailableError("the job has gone on without this node");
  }
  // A launcher may be late with those that only wait.
  if (hello.spares > 0) return absl::OkStatus();
  return absl::UnavailableError("the job takes no more nodes: it has begun already");
}

void CoordinatorCore::OnHello(AgentId agent, const message::AgentHello& hello) {
  const absl::Status status = agents_.count(agent) > 0
                                  ? absl::InvalidArgumentError("an agent says hello only once")
                                  : CheckHello(hello);
  if (!status.ok()) {
    Log(LogSeverity::kWarning,
        absl::StrCat("refused the agent of '", hello.node_name, "': ", status.message()));
    Send(agent, message::Refused{Incarnation{0}, status, evicted_nodes_.count(hello.node) > 0});
    outputs_.push_back(CloseAgent{agent});
    if (phase_ != Phase::kEnding || awaited_nodes_.erase(hello.node) == 0) return;
    std::erase_if(members_, [&](const auto& member) {
      return member.second.agent == AgentId{} && member.second.member.node == hello.node;
    });
    return EndIfEmpty();
  }
  AgentRecord record{hello.node,    hello.node_name, std::max(hello.cores, 1),
                     hello.spares,  hello.machine,   hello.peers,
                     hello.restarts};
  if (record.node < 0) {
    std::set<int> taken = awaited_nodes_;
    for (const auto& [incarnation, member] : members_) taken.insert(member.member.node);
    for (const auto& [id, other] : agents_) taken.insert(other.node);
    record.node = 0;
    while (taken.count(record.node) > 0) ++record.node;
  }
  agents_.emplace(agent, record);
  agents_heard_.Watch(agent.value, now_);
  if (!IsLate(record.node)) return Admit(agent, hello);
  late_nodes_.insert(record.node);
  unadmitted_.emplace_back(agent, hello);
  WriteFirst(Afterwards::kAdmitLate);
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
  const auto member = members_.find(join.member.incarnation.value);
  // Its end is on its way, and its agent is to tell it: one that was refused has none.
  if (member != members_.end() && member->second.evicted) return;
  if (all_finished_ && members_.count(join.member.incarnation.value) > 0) {
    // It can't have heard of it.
    Send(agent, message::AllFinished{epoch_});
    return;
  }
  const absl::Status status = CheckJoin(join);
  if (!status.ok()) {
    Log(LogSeverity::kWarning, absl::StrCat("refused pid ", join.member.pid, " on ",
                                            DescribeNode(agent), ": ", status.message()));
    Send(agent, message::Refused{join.member.incarnation, status});
    if (!join.spare) return;
    ForgetSpareToCome(agent);
    return FailIfNoSpareLeft("a spare was refused");
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
  // A rank that waits for a spare is filled now.
  std::erase_if(vacant_, [&](const MemberRecord& lost) {
    return join.member.rank >= 0 && lost.member.rank == join.member.rank;
  });
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

void CoordinatorCore::FailJoining(const absl::Status& status) {
  Log(LogSeverity::kError, std::string(status.message()));
  Broadcast(message::Revoked{epoch_, status});
  Finish(status);
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
  std::string line = ProgressLine();
  if (progress_told_.has_value()) {
    const Clock::duration since = now_ - *progress_told_;
    if (since < (line == progress_line_ ? kProgressRepeat : kProgressPause)) return;
  }
  progress_told_ = now_;
  progress_line_ = std::move(line);
  Broadcast(message::Progress{progress_line_});
}

void CoordinatorCore::CheckJoining() {
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

}  // namespace phalanx::control
