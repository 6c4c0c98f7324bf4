#include <string>

#include "absl/strings/str_cat.h"
#include "plan/plan.h"

namespace phalanx::plan {
namespace {

const char* NameOf(Region region) {
  switch (region) {
    case Region::kInput:
      return "input";
    case Region::kOutput:
      return "output";
    case Region::kScratch:
      return "scratch";
  }
  return "unknown";
}

std::string TextOf(const Operand& operand) {
  std::string text = absl::StrCat(NameOf(operand.region), "[", operand.first);
  if (operand.blocks > 1) absl::StrAppend(&text, "..", operand.first + operand.blocks - 1);
  return text + "]";
}

std::string PeerOf(const Step& step) {
  return step.peer < 0 ? std::string("all") : absl::StrCat(step.peer);
}

// What the step does, without its number and what it follows.
std::string ActionOf(const Step& step) {
  switch (step.kind) {
    case StepKind::kSend:
      return absl::StrCat(TextOf(step.source), " to ", PeerOf(step), " message ", step.message);
    case StepKind::kReceive:
      return absl::StrCat(TextOf(step.destination), " from ", PeerOf(step), " message ",
                          step.message);
    case StepKind::kCopy:
    case StepKind::kScale:
      return absl::StrCat(TextOf(step.destination), " = ", TextOf(step.source));
    case StepKind::kReduce:
      return absl::StrCat(TextOf(step.destination), " = ", TextOf(step.source), " op ",
                          TextOf(step.other));
    case StepKind::kDivide:
      return TextOf(step.destination);
    case StepKind::kPublish: {
      std::string text = absl::StrCat(TextOf(step.source), " signal ", int{step.signal});
      absl::StrAppend(&text, step.staged ? " staged" : "");
      if (!step.staged) absl::StrAppend(&text, " acknowledged ", int{step.acknowledged});
      return text;
    }
    case StepKind::kRaise:
      return absl::StrCat("signal ", int{step.signal});
    case StepKind::kAwait:
      return absl::StrCat(PeerOf(step), " signal ", int{step.signal});
    case StepKind::kPull:
      return absl::StrCat(TextOf(step.destination), " = ", PeerOf(step), "'s ",
                          TextOf(step.source));
    case StepKind::kPullReduce:
      return absl::StrCat(TextOf(step.destination), " = everyone's ", TextOf(step.source));
  }
  return "unknown";
}

}  // namespace

std::string ToText(const Plan& plan) {
  std::string text =
      absl::StrCat(plan.algorithm, " ", phalanx::NameOf(plan.type), " ", phalanx::NameOf(plan.op),
                   " rank ", plan.rank, " of ", plan.size, "\nrounds ", plan.rounds, " window ",
                   plan.window, " chunk ", plan.chunk, " messages ", plan.messages, "\n");
  for (int region = 0; region < kRegionCount; ++region) {
    if (plan.blocks[region].empty()) continue;
    absl::StrAppend(&text, NameOf(static_cast<Region>(region)));
    if (static_cast<Region>(region) == Region::kScratch) {
      absl::StrAppend(&text, " of ", plan.scratch);
    }
    absl::StrAppend(&text, ":");
    for (const Block& block : plan.blocks[region]) {
      absl::StrAppend(&text, " ", block.offset, "+", block.count);
    }
    absl::StrAppend(&text, "\n");
  }
  for (size_t i = 0; i < plan.body.size(); ++i) {
    const Step& step = plan.body[i];
    absl::StrAppend(&text, i, " ", NameOf(step.kind), " ", ActionOf(step));
    if (step.last_round_only) absl::StrAppend(&text, " in the last round");
    for (size_t k = 0; k < step.after.size(); ++k) {
      absl::StrAppend(&text, k == 0 ? " after " : ",", step.after[k]);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace phalanx::plan
