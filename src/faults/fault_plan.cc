#include "faults/fault_plan.h"

#include <utility>

namespace phalanx::faults {
namespace {

bool IsRank(const Target& target, int rank) {
  return target.kind == Target::Kind::kRank && target.number == rank;
}

bool IsStepOf(const Fault& fault, int rank) {
  return IsRank(fault.target, rank) || (rank == 0 && IsOfNetwork(fault));
}

}  // namespace

FaultPlan::FaultPlan(std::vector<Fault> faults, std::set<uint32_t> done)
    : faults_(std::move(faults)), done_(std::move(done)) {}

template <typename IsDue>
std::vector<Due> FaultPlan::Take(const IsDue& is_due) {
  std::vector<Due> due;
  for (uint32_t index = 0; index < faults_.size(); ++index) {
    const Fault& fault = faults_[index];
    if (is_due(fault) && done_.insert(index).second) due.push_back({index, fault});
  }
  return due;
}

std::vector<Due> FaultPlan::AtStep(int rank, int64_t step) {
  return Take([&](const Fault& fault) {
    return fault.when.kind == When::Kind::kStep && IsStepOf(fault, rank) &&
           fault.when.count == step;
  });
}

std::vector<Due> FaultPlan::AtOp(int rank, int64_t count) {
  return Take([&](const Fault& fault) {
    return fault.when.kind == When::Kind::kOp && IsRank(fault.target, rank) &&
           fault.when.count <= count;
  });
}

std::vector<Due> FaultPlan::AtPoint(Point point) {
  return Take([&](const Fault& fault) {
    return fault.when.kind == When::Kind::kPoint && fault.when.point == point;
  });
}

std::vector<Due> FaultPlan::AtTime(int64_t elapsed_ns) {
  return Take([&](const Fault& fault) {
    return fault.when.kind == When::Kind::kTime && fault.when.time_ns <= elapsed_ns;
  });
}

}  // namespace phalanx::faults
