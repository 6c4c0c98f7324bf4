// The job's part of the ordering service: the pure sequencer between the nodes' bytes. Pure as
// well.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control_protocol/message.h"
#include "ordering/sequencer.h"
#include "ordering_wire/registry.h"

namespace phalanx::control {

class JobOrdering {
 public:
  struct ToNode {
    int node = 0;  // as the view numbers them
    std::string payload;
  };
  struct Outputs {
    std::vector<ToNode> messages;       // to be sent in this order
    std::vector<std::string> warnings;  // lines for the log
  };

  // For the view that begins, of a job that is ordered.
  explicit JobOrdering(const message::View& view);

  // The first call, once.
  Outputs Begin();
  // INVALID_ARGUMENT: nothing was done, and the node must not be listened to any more.
  absl::StatusOr<Outputs> FromNode(int node, absl::string_view payload);

 private:
  Outputs Step(const ordering::SequencerInput& input);
  ordering::Order ForNode(int place, const ordering::Order& order);

  ordering::Registry registry_;
  ordering::Sequencer sequencer_;
  // What each node needs of the schedule that was told last, by place.
  std::shared_ptr<const ordering::Schedule> schedule_;
  std::vector<std::shared_ptr<ordering::Schedule>> parts_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_
