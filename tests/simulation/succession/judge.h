// What is true, as somebody knows it who sees every log and every question that is answered, and
// whether nodes and coordinators keep to it. Each call returns what is wrong, or nothing.
#ifndef PHALANX_TESTS_SIMULATION_SUCCESSION_JUDGE_H_
#define PHALANX_TESTS_SIMULATION_SUCCESSION_JUDGE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "membership/succession.h"
#include "membership/voter.h"

namespace phalanx::membership::simulation {

class Judge {
 public:
  explicit Judge(int nodes) : nodes_(static_cast<size_t>(nodes)) {}

  void Started(ProposerId life, ProposerId replaces) { replaces_[life] = replaces; }
  // A log holds a record that names this coordinator. Lives that are committed stand in one order,
  // each replaces the one before, and none comes twice.
  std::string OnDisk(const VoterState& state, ProposerId life);
  // `asker` is an agent's boot or a coordinator's life.
  void Answered(uint64_t asker, VoterId voter, int64_t now_ns) { answered_[asker][voter] = now_ns; }

  // A node follows committed records alone, by rising ballots, also over its restarts.
  std::string Follows(int node, const Lead& lead);
  // And takes orders from no earlier coordinator than before; those of a ballot are of one.
  std::string TakesOrder(int node, ProposerId life, const Lead& lead);
  // Whatever rests on a majority's answers: that many have been asked since `since_ns`.
  std::string Reached(const std::string& who, uint64_t asker, const VoterSets& voters,
                      int64_t since_ns) const;

 private:
  struct Committed {
    uint64_t version = 0;
    ProposerId life;
  };
  struct Node {
    Ballot followed;
    size_t order_of = 0;  // place in the order of lives
  };

  std::map<Ballot, std::set<VoterId>> accepted_by_;
  std::map<Ballot, Committed> committed_;
  std::map<uint64_t, ProposerId> by_version_;
  std::vector<ProposerId> lives_ = {ProposerId{0}};  // in the order of their claims
  std::map<ProposerId, ProposerId> replaces_;
  std::map<Ballot, ProposerId> orders_of_;
  std::map<uint64_t, std::map<VoterId, int64_t>> answered_;
  std::vector<Node> nodes_;
};

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_SUCCESSION_JUDGE_H_
