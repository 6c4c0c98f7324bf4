#include "oracle.h"

#include <algorithm>
#include <deque>
#include <set>

#include "absl/strings/str_cat.h"

namespace phalanx::ordering::simulation {

using Kind = Explanation::Kind;
using Line = Explanation::Line;

Oracle::Oracle(const Program& program, const Roster& roster)
    : program_(program), roster_(roster), ranks_(program.ranks.size()) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].threads.resize(program.ranks[rank].size());
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (size_t thread = 0; thread < ranks_[rank].threads.size(); ++thread) {
        while (RunThread(static_cast<int>(rank), thread)) moves = true;
      }
    }
    moves = CompletePresent() || moves;
  }
  completes_ = true;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (size_t thread = 0; thread < ranks_[rank].threads.size(); ++thread) {
      completes_ =
          completes_ && ranks_[rank].threads[thread].at == program.ranks[rank][thread].size();
    }
    for (const auto& [op, instance] : ranks_[rank].ops)
      completes_ = completes_ && instance.complete;
  }
}

bool Oracle::RunThread(int rank, size_t thread) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  ThreadState& at = state.threads[thread];
  const Thread& code = program_.ranks[static_cast<size_t>(rank)][thread];
  if (at.at == code.size()) return false;
  const Instruction& instruction = code[at.at];
  if (instruction.kind == Instruction::Kind::kStop) return false;
  if (instruction.kind != Instruction::Kind::kIssue) {
    if (!IsDone(rank, instruction, at)) return false;
    at.issued.emplace_back();
  } else {
    IssueAll(rank, instruction, &at);
  }
  ++at.at;
  return true;
}

bool Oracle::IsDone(int rank, const Instruction& instruction, const ThreadState& thread) const {
  if (instruction.kind == Instruction::Kind::kDeviceWait) {
    const auto& ops = ranks_[static_cast<size_t>(rank)].ops;
    return std::all_of(ops.begin(), ops.end(), [](const auto& op) { return op.second.complete; });
  }
  const auto& waited = thread.issued[instruction.target];
  return std::all_of(waited.begin(), waited.end(),
                     [&](const OpName& op) { return IsComplete(rank, op); });
}

void Oracle::IssueAll(int rank, const Instruction& instruction, ThreadState* thread) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  auto& stream = state.streams[instruction.stream];
  bool beside = instruction.beside && !stream.empty();
  thread->issued.emplace_back();
  for (const Call& call : instruction.calls) {
    const OpName op{call.lane, state.next[call.lane]++};
    if (!beside) stream.emplace_back();
    beside = true;
    stream.back().push_back(op);
    state.ops[op] = {call.signature, instruction.stream, stream.size() - 1, false};
    thread->issued.back().push_back(op);
  }
}

bool Oracle::IsComplete(int rank, const OpName& op) const {
  const auto& ops = ranks_[static_cast<size_t>(rank)].ops;
  const auto found = ops.find(op);
  return found != ops.end() && found->second.complete;
}

bool Oracle::IsPresent(int rank, const OpName& op) const {
  const RankState& state = ranks_[static_cast<size_t>(rank)];
  const auto found = state.ops.find(op);
  if (found == state.ops.end()) return false;
  const auto& units = state.streams.at(found->second.stream);
  for (size_t unit = 0; unit < found->second.unit; ++unit) {
    for (const OpName& before : units[unit]) {
      if (!IsComplete(rank, before)) return false;
    }
  }
  return true;
}

bool Oracle::Differs(const OpName& op) const {
  const Signature* first = nullptr;
  for (const RankState& state : ranks_) {
    const auto found = state.ops.find(op);
    if (found == state.ops.end()) continue;
    if (first != nullptr && *first != found->second.signature) return true;
    first = &found->second.signature;
  }
  return false;
}

bool Oracle::CompletePresent() {
  bool moves = false;
  for (RankState& state : ranks_) {
    for (auto& [op, instance] : state.ops) {
      if (instance.complete || Differs(op)) continue;
      const Ranks members = roster_.MembersOf(op.lane);
      const OpName name = op;
      if (!std::all_of(members.begin(), members.end(),
                       [&](int rank) { return IsPresent(rank, name); })) {
        continue;
      }
      for (const int rank : members) ranks_[static_cast<size_t>(rank)].ops[name].complete = true;
      moves = true;
    }
  }
  return moves;
}

std::string Oracle::Refute(const Explanation& explanation) const {
  if (explanation.lines.empty()) return "it names nothing";
  for (size_t i = 0; i < explanation.lines.size(); ++i) {
    const Line& line = explanation.lines[i];
    const std::string untrue = RefuteLine(line);
    if (!untrue.empty()) return untrue;
    if (explanation.kind != Kind::kCycle) continue;
    const Line& next = explanation.lines[(i + 1) % explanation.lines.size()];
    if (line.waits_for != next.op) return "the cycle isn't one";
  }
  if (explanation.kind != Kind::kCycle) return "";
  std::set<OpName> among;
  for (const Line& line : explanation.lines) among.insert(line.op);
  const size_t shortest = ShortestCycle(among);
  if (explanation.lines.size() != shortest) {
    return absl::StrCat("the cycle has ", explanation.lines.size(), " steps, the shortest ",
                        shortest);
  }
  return "";
}

std::string Oracle::RefuteLine(const Line& line) const {
  const RankState& state = ranks_[static_cast<size_t>(line.rank)];
  const auto found = state.ops.find(line.op);
  const std::string who = absl::StrCat("rank ", line.rank, ", ", ordering::Describe(line.op));
  switch (line.why) {
    case Line::Why::kStream: {
      const auto before = state.ops.find(line.waits_for.value_or(OpName{}));
      if (found == state.ops.end() || before == state.ops.end() || before->second.complete ||
          before->second.stream != found->second.stream ||
          before->second.unit >= found->second.unit) {
        return absl::StrCat(who, " doesn't wait in its stream");
      }
      return "";
    }
    case Line::Why::kHost: {
      const std::vector<OpName> waited = WaitsFor(line.op);
      const bool is_there = std::find(waited.begin(), waited.end(), line.waits_for) != waited.end();
      return found != state.ops.end() || !is_there ? absl::StrCat(who, " isn't kept by the host")
                                                   : "";
    }
    case Line::Why::kAbsent:
      for (size_t i = 0; i < state.threads.size(); ++i) {
        if (state.threads[i].at != program_.ranks[static_cast<size_t>(line.rank)][i].size()) {
          return absl::StrCat(who, " isn't absent for good");
        }
      }
      return found != state.ops.end() ? absl::StrCat(who, " was issued") : "";
    case Line::Why::kDiffers:
      return Differs(line.op) ? "" : absl::StrCat(who, " is equal everywhere");
    case Line::Why::kBehind:
      for (size_t i = 0; i < state.threads.size(); ++i) {
        const Thread& code = program_.ranks[static_cast<size_t>(line.rank)][i];
        const size_t at = state.threads[i].at;
        if (at < code.size() && code[at].kind == Instruction::Kind::kStop) {
          return found != state.ops.end() ? absl::StrCat(who, " was issued") : "";
        }
      }
      return absl::StrCat(who, " isn't only late");
    case Line::Why::kDevice:
      return program_.device_wait_holds ? "" : absl::StrCat(who, " isn't held by the device");
  }
  return "";
}

std::vector<OpName> Oracle::WaitsFor(const OpName& op) const {
  std::vector<OpName> waited;
  for (const int rank : roster_.MembersOf(op.lane)) {
    const RankState& state = ranks_[static_cast<size_t>(rank)];
    const auto found = state.ops.find(op);
    if (found != state.ops.end()) {
      const auto& units = state.streams.at(found->second.stream);
      for (size_t unit = 0; unit < found->second.unit; ++unit) {
        for (const OpName& before : units[unit]) {
          if (!IsComplete(rank, before)) waited.push_back(before);
        }
      }
      continue;
    }
    for (size_t i = 0; i < state.threads.size(); ++i) {
      const Thread& code = program_.ranks[static_cast<size_t>(rank)][i];
      const ThreadState& thread = state.threads[i];
      if (thread.at == code.size()) continue;
      const Instruction& instruction = code[thread.at];
      if (instruction.kind == Instruction::Kind::kStop) continue;
      if (instruction.kind == Instruction::Kind::kDeviceWait) {
        for (const auto& [other, instance] : state.ops) {
          if (!instance.complete) waited.push_back(other);
        }
        continue;
      }
      for (const OpName& other : thread.issued[instruction.target]) {
        if (!IsComplete(rank, other)) waited.push_back(other);
      }
    }
  }
  return waited;
}

size_t Oracle::ShortestCycle(const std::set<OpName>& among) const {
  size_t shortest = 0;
  for (const OpName& start : among) {
    std::map<OpName, size_t> distance;
    std::deque<OpName> open = {start};
    while (!open.empty() && distance.count(start) == 0) {
      const OpName at = open.front();
      open.pop_front();
      const size_t steps = at == start ? 0 : distance.at(at);
      for (const OpName& next : WaitsFor(at)) {
        if (among.count(next) == 0) continue;
        if (distance.emplace(next, steps + 1).second) open.push_back(next);
      }
    }
    const auto found = distance.find(start);
    if (found != distance.end() && (shortest == 0 || found->second < shortest)) {
      shortest = found->second;
    }
  }
  return shortest;
}

}  // namespace phalanx::ordering::simulation
