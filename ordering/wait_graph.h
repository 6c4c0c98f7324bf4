// Which operations can still complete, and what each of the others waits for.
#ifndef PHALANX_ORDERING_WAIT_GRAPH_H_
#define PHALANX_ORDERING_WAIT_GRAPH_H_

#include <map>
#include <set>
#include <vector>

#include "ordering/explanation.h"
#include "ordering/roster.h"
#include "ordering/snapshot.h"

namespace phalanx::ordering {

// Slots and tickets aren't part of it: what is present on all members gets them, so only streams,
// hosts, missing peers and devices that are held can be waited for.
class WaitGraph {
 public:
  WaitGraph(const Roster& roster, const std::map<int, RankSnapshot>& snapshots);

  // Operations that nothing can complete any more, whatever the threads outside of the library do.
  const std::set<OpName>& stuck() const { return stuck_; }

  // Why `op` is stuck: a line for each stuck operation it waits for, and lines without `waits_for`
  // for ranks that will never issue it.
  std::vector<Explanation::Line> ReasonsOf(const OpName& op) const;

  // A line for each member that hasn't issued `op`.
  std::vector<Explanation::Line> MissingFrom(const OpName& op) const;

  // A shortest cycle among stuck operations, as lines; empty if there is none.
  std::vector<Explanation::Line> ShortestCycle() const;

  // All incomplete operations.
  const std::set<OpName>& ops() const { return ops_; }
  const OpView* Find(int rank, const OpName& op) const;

 private:
  bool CanComplete(const OpName& op) const;
  bool CanRun(const OpName& op, int rank) const;
  // By a device-wide wait that something stuck keeps from ending.
  bool IsHeld(int rank) const;
  bool CanIssue(int rank) const;
  bool IsStuck(const OpName& op) const { return stuck_.contains(op); }
  bool IsComplete(const OpName& op, int rank) const;
  void AddDeviceReasons(int rank, const OpView& view, std::vector<Explanation::Line>* lines) const;
  std::vector<Explanation::Line> CycleThrough(const OpName& start) const;

  const Roster& roster_;
  const std::map<int, RankSnapshot>& snapshots_;
  std::map<std::pair<int, OpName>, const OpView*> views_;
  std::map<std::pair<int, uint32_t>, std::vector<const OpView*>> streams_;
  std::map<std::pair<int, Lane>, uint64_t> issued_;
  std::set<OpName> ops_;
  std::set<OpName> stuck_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_WAIT_GRAPH_H_
