// What a program can reach at best: rendezvous semantics, unlimited slots, everything as early as
// it can be. Nothing that becomes possible is ever lost, so one greedy run decides.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_ORACLE_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_ORACLE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ordering/explanation.h"
#include "program.h"

namespace phalanx::ordering::simulation {

class Oracle {
 public:
  // `program` and `roster` outlive it.
  Oracle(const Program& program, const Roster& roster);

  // All threads come to their end and all operations complete.
  bool completes() const { return completes_; }
  // At the end.
  bool IsComplete(int rank, const OpName& op) const;

  // Nothing, or what is untrue in the explanation of a program that doesn't complete.
  std::string Refute(const Explanation& explanation) const;

 private:
  struct Instance {
    Signature signature;
    uint32_t stream = 0;
    size_t unit = 0;
    bool complete = false;
  };
  struct ThreadState {
    size_t at = 0;
    std::vector<std::vector<OpName>> issued;  // by instruction
  };
  struct RankState {
    std::vector<ThreadState> threads;
    std::map<Lane, uint64_t> next;
    std::map<OpName, Instance> ops;
    std::map<uint32_t, std::vector<std::vector<OpName>>> streams;  // units
  };

  bool RunThread(int rank, size_t thread);
  bool IsDone(int rank, const Instruction& instruction, const ThreadState& thread) const;
  void IssueAll(int rank, const Instruction& instruction, ThreadState* thread);
  bool CompletePresent();
  bool IsPresent(int rank, const OpName& op) const;
  bool Differs(const OpName& op) const;

  // A line's claim about the final state.
  std::string RefuteLine(const Explanation::Line& line) const;
  // Operations that `op` waits for, on any rank.
  std::vector<OpName> WaitsFor(const OpName& op) const;
  // Among these operations alone.
  size_t ShortestCycle(const std::set<OpName>& among) const;

  const Program& program_;
  const Roster& roster_;
  std::vector<RankState> ranks_;
  bool completes_ = false;
};

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_ORACLE_H_
