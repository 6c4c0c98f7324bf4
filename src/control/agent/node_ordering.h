// The node's part of the ordering service: the pure aggregator between its workers' bytes and the
// coordinator's.
#ifndef PHALANX_CONTROL_AGENT_NODE_ORDERING_H_
#define PHALANX_CONTROL_AGENT_NODE_ORDERING_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "control_protocol/message.h"
#include "ordering/node_aggregator.h"
#include "ordering_wire/registry.h"

namespace phalanx::control {

// On the agent's thread only; handlers are called before a call returns.
class NodeOrdering {
 public:
  struct Handlers {
    std::function<void(int rank, std::string payload)> to_worker;
    std::function<void(std::string payload)> to_coordinator;
  };

  // For the agent of `node` in the view that begins. Null when the job isn't ordered or none of its
  // ranks is here.
  static std::unique_ptr<NodeOrdering> Make(int node, const message::View& view, Handlers handlers);

  // INVALID_ARGUMENT: nothing was done, and the worker must not be listened to any more.
  absl::Status FromWorker(int rank, absl::string_view payload);
  // INVALID_ARGUMENT: nothing was done, and without it this node's order would have a gap.
  absl::Status FromCoordinator(absl::string_view payload);
  // Wanted within 10 ms of the last of the calls above; true when it is wanted again.
  bool Tick();

 private:
  NodeOrdering(int node, const message::View& view, Handlers handlers);

  // True when something was said.
  bool Step(const ordering::NodeInput& input);

  const Handlers handlers_;
  ordering::Registry registry_;
  const int place_;  // of the node, in registry_
  ordering::NodeAggregator aggregator_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_NODE_ORDERING_H_
