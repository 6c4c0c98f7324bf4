// Who belongs to what in a job of any size: communicators of equal shape, spread over all ranks.
#ifndef PHALANX_SIMULATE_LARGE_JOB_H_
#define PHALANX_SIMULATE_LARGE_JOB_H_

#include <vector>

#include "ordering/roster.h"
#include "ordering/signature.h"
#include "simulate/order.h"

namespace phalanx::simulate {

class LargeJob {
 public:
  explicit LargeJob(const OrderSettings& settings);

  const ordering::Roster& roster() const { return roster_; }
  int communicators() const { return static_cast<int>(members_.size()); }
  const std::vector<int>& MembersOf(int communicator) const {
    return members_[static_cast<size_t>(communicator)];
  }
  // How many communicators have a member on the node.
  uint64_t CommunicatorsOn(int node) const { return on_node_[static_cast<size_t>(node)]; }

  static ordering::Lane LaneOf(int communicator) {
    return ordering::Lane::Of(CommunicatorId{static_cast<uint16_t>(communicator)});
  }
  static ordering::Signature SignatureOf(int communicator);

 private:
  ordering::Roster roster_;
  std::vector<std::vector<int>> members_;
  std::vector<uint64_t> on_node_;
};

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_LARGE_JOB_H_
