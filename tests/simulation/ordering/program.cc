#include "program.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace phalanx::ordering::simulation {
namespace {

// Splits at `separator` outside of brackets.
std::vector<std::string> SplitOutside(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::vector<std::string> kept;
  for (const std::string& part : parts) {
    const std::string trimmed(absl::StripAsciiWhitespace(part));
    if (!trimmed.empty()) kept.push_back(trimmed);
  }
  return kept;
}

class Parser {
 public:
  Program Run(const std::string& text) {
    const std::vector<std::string> ranks = SplitOutside(text, '|');
    for (rank_ = 0; rank_ < static_cast<int>(ranks.size()); ++rank_) {
      std::string body = ranks[static_cast<size_t>(rank_)];
      const std::string name = absl::StrCat("r", rank_, " ");
      PHX_CHECK_MSG(absl::StartsWith(body, name), "a rank's program begins with its name");
      body = body.substr(name.size());
      std::vector<Thread>& threads = program_.ranks.emplace_back();
      for (const std::string& thread : SplitOutside(body, '&')) {
        Instructions(thread, &threads.emplace_back());
      }
    }
    program_.node_of_rank.assign(ranks.size(), 0);
    return program_;
  }

 private:
  void Instructions(const std::string& text, Thread* thread) {
    for (const std::string& item : SplitOutside(text, ';')) {
      const size_t star = item.find("*(");
      int times = 0;
      if (star != std::string::npos && absl::SimpleAtoi(item.substr(0, star), &times)) {
        const std::string body = item.substr(star + 2, item.size() - star - 3);
        for (int i = 0; i < times; ++i) Instructions(body, thread);
      } else {
        One(item, thread);
      }
    }
  }

  void One(const std::string& item, Thread* thread) {
    Instruction instruction;
    if (item == "stop") {
      instruction.kind = Instruction::Kind::kStop;
    } else if (item == "ds") {
      instruction.kind = Instruction::Kind::kDeviceWait;
    } else if (absl::StartsWith(item, "hs")) {
      instruction.kind = Instruction::Kind::kHostWait;
      instruction.target = Target(item.substr(2), *thread);
    } else if (absl::StartsWith(item, "G{")) {
      const size_t end = item.find('}');
      for (const std::string& part : SplitOutside(item.substr(2, end - 2), ';')) {
        instruction.calls.push_back(OneCall(part));
      }
      instruction.stream = Stream(item.substr(end + 1));
    } else {
      std::string call = item;
      instruction.beside = call[0] == '~';
      if (instruction.beside) call = call.substr(1);
      instruction.stream = Stream(call);
      instruction.calls.push_back(OneCall(call.substr(0, call.find("/s"))));
    }
    thread->push_back(std::move(instruction));
  }

  static uint32_t Stream(const std::string& text) {
    const size_t slash = text.find("/s");
    uint32_t stream = 0;
    if (slash != std::string::npos) PHX_CHECK(absl::SimpleAtoi(text.substr(slash + 2), &stream));
    return stream;
  }

  static size_t Target(const std::string& label, const Thread& thread) {
    for (size_t i = thread.size(); i-- > 0;) {
      const auto& calls = thread[i].calls;
      if (!calls.empty() && (label.empty() || calls[0].label == label)) return i;
    }
    PHX_CHECK_MSG(false, "nothing to wait for");
    return 0;
  }

  // NAME[@communicator][#key][:count][%kind], or >rank, <rank with the same suffixes.
  Call OneCall(const std::string& text) {
    Call call;
    call.signature = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};
    const size_t end = std::min(text.find_first_of("@#:%"), text.size());
    call.label = text.substr(0, end);
    const std::string communicator = Suffix(text, '@');
    const std::string count = Suffix(text, ':');
    if (!count.empty()) PHX_CHECK(absl::SimpleAtoi(count, &call.signature.count));
    Kind(Suffix(text, '%'), &call.signature);
    int peer = 0;
    if (text[0] == '>' || text[0] == '<') {
      PHX_CHECK(absl::SimpleAtoi(call.label.substr(1), &peer));
      call.signature.kind = OpKind::kMessage;
      const CommunicatorId id = Communicator(communicator.empty() ? "p" : communicator);
      call.lane = text[0] == '>' ? Lane::OfPair(id, rank_, peer) : Lane::OfPair(id, peer, rank_);
      return call;
    }
    const CommunicatorId id = Communicator(communicator.empty() ? call.label : communicator);
    const std::string key = Suffix(text, '#');
    call.lane = key.empty() ? Lane::Of(id) : Lane::OfKey(id, key);
    return call;
  }

  static std::string Suffix(const std::string& text, char mark) {
    const size_t begin = text.find(mark);
    if (begin == std::string::npos) return "";
    const size_t end = std::min(text.find_first_of("@#:%", begin + 1), text.size());
    return text.substr(begin + 1, end - begin - 1);
  }

  static void Kind(const std::string& kind, Signature* signature) {
    if (kind == "max") signature->reduce = ReduceOp::kMax;
    if (kind == "bf16") signature->type = DataType::kBfloat16;
    if (kind == "a2a") signature->kind = OpKind::kAllToAll;
    if (kind == "split") signature->kind = OpKind::kSplit;
    if (absl::StartsWith(kind, "root")) {
      signature->kind = OpKind::kBroadcast;
      PHX_CHECK(absl::SimpleAtoi(kind.substr(4), &signature->root));
    }
  }

  CommunicatorId Communicator(const std::string& name) {
    const auto [found, is_new] =
        communicators_.emplace(name, static_cast<uint16_t>(communicators_.size()));
    if (is_new) program_.communicators.emplace_back();
    Ranks& members = program_.communicators[found->second];
    if (std::find(members.begin(), members.end(), rank_) == members.end()) {
      members.push_back(rank_);
    }
    return {found->second};
  }

  Program program_;
  int rank_ = 0;
  std::map<std::string, uint16_t> communicators_;
};

std::string Describe(const Instruction& instruction) {
  if (instruction.kind == Instruction::Kind::kStop) return "stop";
  if (instruction.kind == Instruction::Kind::kDeviceWait) return "ds";
  if (instruction.kind == Instruction::Kind::kHostWait) {
    return absl::StrCat("hs[", instruction.target, "]");
  }
  std::string calls;
  for (const Call& call : instruction.calls) {
    absl::StrAppend(&calls, calls.empty() ? "" : "; ", call.label, "@",
                    call.lane.communicator.value, call.signature.count == 1024 ? "" : "'");
  }
  if (instruction.calls.size() > 1) calls = absl::StrCat("G{", calls, "}");
  return absl::StrCat(instruction.beside ? "~" : "", calls, "/s", instruction.stream);
}

}  // namespace

Roster Program::MakeRoster() const {
  Roster roster(node_of_rank);
  for (size_t i = 0; i < communicators.size(); ++i) {
    roster.Add({static_cast<uint16_t>(i)}, communicators[i]);
  }
  return roster;
}

Program Parse(const std::string& text) { return Parser().Run(text); }

std::string Describe(const Program& program) {
  std::string text =
      absl::StrCat("slots ", program.slots, program.device_wait_holds ? ", ds holds" : "", "\n");
  for (size_t rank = 0; rank < program.ranks.size(); ++rank) {
    absl::StrAppend(&text, "r", rank, " (node ", program.node_of_rank[rank], ")");
    for (size_t i = 0; i < program.ranks[rank].size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : " &");
      size_t index = 0;
      for (const Instruction& instruction : program.ranks[rank][i]) {
        absl::StrAppend(&text, index++ == 0 ? " " : "; ", Describe(instruction));
      }
    }
    absl::StrAppend(&text, "\n");
  }
  for (size_t i = 0; i < program.communicators.size(); ++i) {
    absl::StrAppend(&text, "communicator ", i, ":");
    for (const int rank : program.communicators[i]) absl::StrAppend(&text, " ", rank);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

Schedule ScheduleOf(const Program& program, std::mt19937_64* random) {
  std::map<OpName, std::pair<std::string, Signature>> ops;
  for (const auto& threads : program.ranks) {
    std::map<Lane, uint64_t> next;
    for (const Thread& thread : threads) {
      for (const Instruction& instruction : thread) {
        for (const Call& call : instruction.calls) {
          ops.emplace(OpName{call.lane, next[call.lane]++},
                      std::make_pair(call.label, call.signature));
        }
      }
    }
  }
  std::vector<OpName> order;
  for (const auto& [op, what] : ops) order.push_back(op);
  if (random != nullptr) {
    std::shuffle(order.begin(), order.end(), *random);
  } else {
    std::stable_sort(order.begin(), order.end(), [&](const OpName& left, const OpName& right) {
      return ops.at(left).first < ops.at(right).first;
    });
  }
  Schedule schedule;
  std::map<Lane, uint64_t> placed;
  for (const OpName& op : order) {
    const uint64_t sequence = placed[op.lane]++;
    if (sequence == 0) schedule.bases.push_back({op.lane, 0});
    schedule.entries.push_back({op.lane, ops.at({op.lane, sequence}).second});
  }
  return schedule;
}

}  // namespace phalanx::ordering::simulation
