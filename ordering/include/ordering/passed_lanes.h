// What each of several parties has completed: a node's ranks, or the job's nodes.
#ifndef PHALANX_ORDERING_PASSED_LANES_H_
#define PHALANX_ORDERING_PASSED_LANES_H_

#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ordering/messages.h"
#include "ordering/roster.h"

namespace phalanx::ordering {

class PassedLanes {
 public:
  void Clear() { lanes_.clear(); }
  void Add(int party, const Passed& passed);

  // Whether anybody has completed anything in the lane.
  bool Knows(const Lane& lane) const { return !lanes_.empty() && lanes_.contains(lane); }
  bool Has(int party, const OpName& op) const;
  // As whom, and as what, somebody who has completed the operation launched it by a schedule.
  std::optional<Party> LaunchedAs(const OpName& op) const;
  // What all of these have completed, or nothing.
  std::optional<Passed::OfLane> OfAll(const Lane& lane, const Ranks& parties) const;

 private:
  struct OfParty {
    int rank = -1;
    Passed::OfLane passed;
  };

  absl::flat_hash_map<Lane, std::map<int, OfParty>> lanes_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_PASSED_LANES_H_
