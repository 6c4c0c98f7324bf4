// Ranks that apply steps live while ranks and coordinators die. A seed is a whole run.
#ifndef PHALANX_TESTS_SIMULATION_CHECKPOINT_VOTE_WORLD_H_
#define PHALANX_TESTS_SIMULATION_CHECKPOINT_VOTE_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "chance.h"
#include "checkpoint/step_member.h"
#include "checkpoint/step_vote.h"

namespace phalanx::checkpoint::simulation {

struct VoteTally {
  uint64_t steps = 0;
  uint64_t views = 0;
  uint64_t coordinators = 0;
  uint64_t finished_by_survivors = 0;  // committed by the survivors' votes alone
  uint64_t recomputed = 0;
  uint64_t copies = 0;
  uint64_t ended = 0;  // nobody was left to go on from
};

class VoteWorld {
 public:
  VoteWorld(uint64_t seed, Trace trace);

  // What is wrong; empty if nothing.
  std::string Run(VoteTally* tally);

 private:
  // The regions, as which epoch computed each step that was applied.
  using Regions = std::vector<uint64_t>;
  struct Process {
    explicit Process(int of_rank, bool whole) : rank(of_rank), core(of_rank, whole) {}
    int rank;
    StepMember core;
    Regions regions;
    uint64_t computed_in = 0;  // the step that it has voted for
    bool alive = true;
  };

  void Feed(Process* process, const StepMemberInput& input);
  void On(Process* process, const StepMemberOutput& output);
  void FeedVote(const StepVoteInput& input);
  void BeginView();
  void BeginCoordinator();
  void Kill(size_t which);
  void Act(bool faults);
  void Compute(Process* process);
  void Apply(Process* process, int64_t step);
  void Copy(Process* process, const StartCopy& copy);
  void Resumed(int64_t committed);
  Process* Find(int rank);
  void Violate(const std::string& what);
  void Say(const std::string& what);

  Chance chance_;
  const Trace trace_;
  Bag bag_;
  std::vector<std::shared_ptr<Process>> processes_;  // of the view; dead ones until the next one
  std::vector<std::shared_ptr<Process>> zombies_;
  std::unique_ptr<StepVote> vote_;
  Term term_;
  bool view_due_ = false;
  bool over_ = false;
  std::map<uint64_t, std::map<int64_t, std::set<int>>> started_;  // by epoch and step: the ranks
  std::map<uint64_t, std::set<int>> members_;                     // by epoch
  Regions history_;  // every step that any rank has ever applied
  VoteTally tally_;
  std::string wrong_;
};

}  // namespace phalanx::checkpoint::simulation

#endif  // PHALANX_TESTS_SIMULATION_CHECKPOINT_VOTE_WORLD_H_
