#include "ordering/explain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wait_graph.h"

namespace phalanx::ordering {
namespace {

using Line = Explanation::Line;

// One operation's missing ranks: of the operation that most ranks are missing for.
std::optional<Explanation> ExplainBehind(const WaitGraph& graph) {
  Explanation explanation;
  explanation.kind = Explanation::Kind::kRankBehind;
  for (const OpName& op : graph.ops()) {
    std::vector<Line> lines = graph.MissingFrom(op);
    if (lines.size() > explanation.lines.size()) explanation.lines = std::move(lines);
  }
  if (explanation.lines.empty()) return std::nullopt;
  return explanation;
}

Explanation ExplainStuck(const WaitGraph& graph) {
  Explanation explanation;
  explanation.lines = graph.ShortestCycle();
  if (!explanation.lines.empty()) {
    explanation.kind = Explanation::Kind::kCycle;
    for (const Line& line : explanation.lines) {
      explanation.aborted.push_back(line.op);
      if (line.why == Line::Why::kDevice) explanation.kind = Explanation::Kind::kDeviceWait;
    }
    return explanation;
  }
  // No cycle, so whatever is stuck waits in the end for somebody who will never come.
  explanation.kind = Explanation::Kind::kAbsentRank;
  for (const OpName& op : graph.stuck()) {
    for (Line& line : graph.ReasonsOf(op)) {
      if (!line.waits_for.has_value()) explanation.lines.push_back(std::move(line));
    }
  }
  return explanation;
}

}  // namespace

std::optional<Explanation> Explain(const Roster& roster,
                                   const std::map<int, RankSnapshot>& snapshots) {
  const WaitGraph graph(roster, snapshots);
  if (!graph.stuck().empty()) return ExplainStuck(graph);
  return ExplainBehind(graph);
}

Explanation ExplainMismatch(const OpName& op, const Party& left, const Party& right) {
  Explanation explanation;
  explanation.kind = Explanation::Kind::kMismatch;
  explanation.difference = Compare(left.signature, right.signature);
  explanation.aborted = {op};
  for (const Party* party : {&left, &right}) {
    Line line;
    line.rank = party->rank;
    line.why = Line::Why::kDiffers;
    line.op = op;
    line.signature = party->signature;
    explanation.lines.push_back(std::move(line));
  }
  return explanation;
}

}  // namespace phalanx::ordering
