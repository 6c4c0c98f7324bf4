#include "run_faults.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace phalanx::tools {
namespace {

using faults::Action;
using faults::Fault;
using faults::Target;
using faults::When;

bool IsOne(Action action, std::initializer_list<Action> of) {
  return std::find(of.begin(), of.end(), action) != of.end();
}

// Of what the grammar knows, this is what processes and networks suffer so far.
bool IsSupported(const Fault& fault) {
  const When& when = fault.when;
  const bool at_moment = when.kind == When::Kind::kTime || (when.kind == When::Kind::kPoint &&
                                                            when.point != faults::Point::kPrepared);
  if (faults::IsOfNetwork(fault)) {
    const bool at_any = at_moment || when.kind == When::Kind::kStep;
    return at_any && fault.action == Action::kCut;
  }
  switch (fault.target.kind) {
    case Target::Kind::kRank:
      if (when.kind == When::Kind::kStep) {
        return IsOne(fault.action, {Action::kKill, Action::kStop, Action::kExit, Action::kSegfault,
                                    Action::kFlip});
      }
      return at_moment && IsOne(fault.action, {Action::kKill, Action::kStop, Action::kFlip});
    case Target::Kind::kSpare:
    case Target::Kind::kNode:
      return at_moment && IsOne(fault.action, {Action::kKill, Action::kStop});
    case Target::Kind::kAgent:
    case Target::Kind::kCoordinator:
      return at_moment && fault.action == Action::kKill;
    case Target::Kind::kVoter:
    case Target::Kind::kLink:
      return false;
  }
  return false;
}

bool NamesNode(const Fault& fault) {
  return fault.target.kind == Target::Kind::kNode || fault.target.kind == Target::Kind::kAgent;
}

absl::Status Wrong(const Fault& fault, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the fault '", faults::ToText(fault), "': ", why));
}

// That all which it names is there.
absl::Status CheckTarget(const Fault& fault, const JobForFaults& job) {
  const auto there_are_only = [&](int count, absl::string_view things) {
    return Wrong(fault, absl::StrCat("there are only ", count, " ", things));
  };
  const Target& target = fault.target;
  const bool knows_ranks = job.ranks > 0;
  if (target.kind == Target::Kind::kRank && knows_ranks && target.number >= job.ranks) {
    return there_are_only(job.ranks, "ranks");
  }
  if (target.kind == Target::Kind::kSpare && target.number >= job.spares) {
    return there_are_only(job.spares, "spares");
  }
  if (NamesNode(fault) && target.number >= job.nodes) return there_are_only(job.nodes, "nodes");
  if (target.kind == Target::Kind::kLink && std::max(target.number, target.other) >= job.nodes) {
    return there_are_only(job.nodes, "nodes, 0 being the first");
  }
  return absl::OkStatus();
}

absl::Status CheckFault(const Fault& fault, const JobForFaults& job) {
  if (!IsSupported(fault)) {
    return absl::UnimplementedError(absl::StrCat(
        "the fault '", faults::ToText(fault),
        "': not there yet; ranks can be killed, stopped, exit, segfault and have a copy flipped "
        "at=step:N; at=time:T or at=point:NAME ranks, spares and nodes can be killed and stopped, "
        "copies flipped, and agents and the coordinator killed; links can be cut at any of these"));
  }
  if (faults::IsOfNetwork(fault) && !job.is_emulated) {
    return Wrong(fault,
                 "only an emulated network suffers it; start with --emulate, as in --emulate "
                 "4x2@1gbit");
  }
  if (NamesNode(fault) && job.nodes == 0) {
    return Wrong(fault, "without --nodes there is no agent but this command itself");
  }
  return CheckTarget(fault, job);
}

absl::Status Read(const std::string& where, const std::string& text, std::vector<Fault>* all) {
  const absl::StatusOr<std::vector<Fault>> faults = faults::ParseFaults(text);
  if (!faults.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", faults.status().message()));
  }
  all->insert(all->end(), faults->begin(), faults->end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Fault>> ReadFaults(const FaultTexts& texts, const JobForFaults& job) {
  std::vector<Fault> all;
  for (const std::string& text : texts.options) {
    PHX_RETURN_IF_ERROR(Read("--fault", text, &all));
  }
  if (!texts.file.empty()) {
    PHX_RETURN_IF_ERROR(Read("--fault-file " + texts.file, texts.file_text, &all));
  }
  for (const Fault& fault : all) PHX_RETURN_IF_ERROR(CheckFault(fault, job));
  return all;
}

std::string ToText(const std::vector<Fault>& faults) {
  return absl::StrJoin(faults, ";", [](std::string* out, const Fault& fault) {
    out->append(faults::ToText(fault));
  });
}

}  // namespace phalanx::tools
