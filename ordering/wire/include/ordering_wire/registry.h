// What a core's shell knows of nodes and communicators. It fills the core's Roster and refuses, of
// what others say, everything that the core takes on trust.
#ifndef PHALANX_ORDERING_WIRE_REGISTRY_H_
#define PHALANX_ORDERING_WIRE_REGISTRY_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ordering/messages.h"
#include "ordering/roster.h"
#include "ordering_wire/codec.h"

namespace phalanx::ordering {

// Who says something: one rank, or a node for all of its ranks.
struct Speaker {
  int node = 0;
  std::optional<int> rank;
};

// Cores count nodes from 0 without gaps and wait for each of them; the job's nodes may have gaps,
// and some may have no rank. So nodes have a place here: their order among those with ranks.
class Registry {
 public:
  // node_of_rank[rank], as the view numbers nodes. Knows the world from the beginning.
  explicit Registry(const std::vector<int>& node_of_rank);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // For the core; filled by Add(). Nodes are places.
  const Roster& roster() const { return roster_; }
  std::optional<int> PlaceOf(int node) const;
  const std::vector<int>& nodes() const { return nodes_; }  // by place

  // Takes in a communicator; true when it wasn't known. INVALID_ARGUMENT when the speaker has no
  // part in it, when it lists what can't be members, or when others are known by its number.
  absl::StatusOr<bool> Add(const Speaker& speaker, const NewCommunicator& communicator);

  // INVALID_ARGUMENT unless it names nothing but known communicators in which the speaker has a
  // part, and speaks for nobody else.
  absl::Status Check(const Speaker& speaker, const Report& report) const;
  // Of a report that passes Check(): false when it is to be left out. A rank tells a new sequencer
  // of every verdict that it has heard; of those about others' operations their members tell, and
  // nobody else is believed.
  bool IsConcerned(const Speaker& speaker, const Report& report) const;
  // INVALID_ARGUMENT unless everything that it launches belongs to communicators in which the node
  // at that place has a part.
  absl::Status Check(int place, const Order& order) const;

  // Places of the lane's members' nodes, each once, ascending. The communicator is known.
  Ranks PlacesOf(const Lane& lane) const { return roster_.NodesOf(lane); }

 private:
  struct Group {
    std::vector<int> members;  // in the communicator's order
    std::vector<int> ranks;    // sorted
    std::vector<int> places;   // sorted
  };
  class ReportCheck;
  class OrderCheck;

  void Insert(const NewCommunicator& communicator, std::vector<int> sorted);
  absl::Status CheckPart(const Speaker& speaker, const Lane& lane) const;
  absl::Status CheckVoice(const Speaker& speaker, int rank) const;

  std::vector<int> nodes_;
  Roster roster_;
  absl::flat_hash_map<decltype(CommunicatorId::value), Group> groups_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_WIRE_REGISTRY_H_
