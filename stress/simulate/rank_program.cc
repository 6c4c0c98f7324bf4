#include "rank_program.h"

#include <algorithm>

namespace phalanx::simulate {
namespace {

uint64_t SeedOf(uint64_t seed, uint64_t round, int rank) {
  Random random(seed);
  Random of_round(random.Next() ^ round);
  return Random(of_round.Next() ^ static_cast<uint64_t>(rank)).Next();
}

}  // namespace

Layout::Layout(const DeadlockConfig& config)
    : groups_(config.groups), orders_(static_cast<size_t>(config.ranks)) {
  std::vector<std::vector<int>> groups_of(orders_.size());
  std::vector<int> first;
  for (size_t group = 0; group < groups_.size(); ++group) {
    first.push_back(collectives());
    group_of_.insert(group_of_.end(), static_cast<size_t>(groups_[group].collectives),
                     static_cast<int>(group));
    for (const int rank : groups_[group].ranks) {
      groups_of[static_cast<size_t>(rank)].push_back(static_cast<int>(group));
    }
  }
  for (size_t rank = 0; rank < orders_.size(); ++rank) {
    int most = 0;
    for (const int group : groups_of[rank]) {
      most = std::max(most, groups_[static_cast<size_t>(group)].collectives);
    }
    for (int index = 0; index < most; ++index) {
      for (const int group : groups_of[rank]) {
        if (index >= groups_[static_cast<size_t>(group)].collectives) continue;
        orders_[rank].push_back(first[static_cast<size_t>(group)] + index);
      }
    }
  }
}

RankProgram::RankProgram(const DeadlockConfig& config, const Layout& layout, uint64_t round,
                         int rank)
    : random_(SeedOf(config.seed, round, rank)),
      disorder_(config.disorder),
      synchronisation_(config.model == Model::kSynchronisation ? config.synchronisation : 0),
      left_(layout.OrderOf(rank)) {}

int RankProgram::Next() {
  if (ended()) return kEnd;
  if (synchronisation_ > 0 && random_.Chance(synchronisation_)) return kWait;
  size_t chosen = next_;
  while (chosen + 1 < left_.size() && random_.Chance(disorder_)) ++chosen;
  const int collective = left_[chosen];
  for (; chosen > next_; --chosen) left_[chosen] = left_[chosen - 1];
  ++next_;
  return collective;
}

}  // namespace phalanx::simulate
