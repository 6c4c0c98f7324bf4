// Finds in the ranks' snapshots what keeps a job from going on.
#ifndef PHALANX_ORDERING_EXPLAIN_H_
#define PHALANX_ORDERING_EXPLAIN_H_

#include <map>
#include <optional>

#include "ordering/explanation.h"
#include "ordering/roster.h"
#include "ordering/snapshot.h"

namespace phalanx::ordering {

// `snapshots`: of all ranks, such that all were true at one moment. A cycle is named only if
// nothing can undo it: no thread that is outside of the library could issue what is missing.
// Nothing: all operations are only under way.
std::optional<Explanation> Explain(const Roster& roster,
                                   const std::map<int, RankSnapshot>& snapshots);

// Of an operation whose members disagree.
Explanation ExplainMismatch(const OpName& op, const Party& left, const Party& right);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_EXPLAIN_H_
