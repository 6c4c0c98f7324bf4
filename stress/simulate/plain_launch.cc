#include "plain_launch.h"

#include <algorithm>

namespace phalanx::simulate {

PlainLaunch::PlainLaunch(const DeadlockConfig& config, const Layout& layout)
    : config_(config), layout_(layout) {
  size_t flags = 0;
  for (int collective = 0; collective < layout.collectives(); ++collective) {
    first_flag_.push_back(flags);
    flags += layout.MembersOf(collective).size();
  }
  issued_.resize(flags);
}

PlainRound PlainLaunch::Run(uint64_t round) {
  Begin();
  std::vector<RankProgram> programs;
  programs.reserve(ranks_.size());
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    programs.emplace_back(config_, layout_, round, rank);
  }
  return config_.model == Model::kSingleQueue ? RunSingleQueue(&programs)
                                              : RunSynchronisation(&programs);
}

void PlainLaunch::Begin() {
  ranks_.assign(static_cast<size_t>(layout_.ranks()), {});
  std::fill(issued_.begin(), issued_.end(), 0);
  missing_.clear();
  for (int collective = 0; collective < layout_.collectives(); ++collective) {
    missing_.push_back(static_cast<int>(layout_.MembersOf(collective).size()));
  }
}

uint8_t& PlainLaunch::Issued(int rank, int collective) {
  const std::vector<int>& members = layout_.MembersOf(collective);
  const auto place = std::lower_bound(members.begin(), members.end(), rank) - members.begin();
  return issued_[first_flag_[static_cast<size_t>(collective)] + static_cast<size_t>(place)];
}

void PlainLaunch::Issue(int rank, int collective) {
  Issued(rank, collective) = 1;
  ranks_[static_cast<size_t>(rank)].open.push_back(collective);
  if (--missing_[static_cast<size_t>(collective)] > 0) return;
  for (const int member : layout_.MembersOf(collective)) {
    std::vector<int>& open = ranks_[static_cast<size_t>(member)].open;
    open.erase(std::find(open.begin(), open.end(), collective));
  }
}

// One collective of a rank is under way. A deadlock is certain as soon as two members of a group
// are under way with different ones of it, which is the published rule; several groups can also
// wait in a circle, which it doesn't see.
PlainRound PlainLaunch::RunSingleQueue(std::vector<RankProgram>* programs) {
  PlainRound result;
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      RankProgram& program = (*programs)[static_cast<size_t>(rank)];
      if (program.ended() || !ranks_[static_cast<size_t>(rank)].open.empty()) continue;
      const int collective = program.Next();
      Issue(rank, collective);
      moved = true;
      for (const int member : layout_.MembersOf(collective)) {
        const std::vector<int>& open = ranks_[static_cast<size_t>(member)].open;
        if (open.empty() || open.front() == collective) continue;
        if (layout_.GroupOf(open.front()) != layout_.GroupOf(collective)) continue;
        return {true, true};
      }
    }
  }
  result.exact = std::any_of(ranks_.begin(), ranks_.end(),
                             [](const Rank& rank) { return !rank.open.empty(); });
  return result;
}

// The published rule, for a rank that begins to wait: one of its collectives isn't issued by
// another rank that waits, and it hasn't issued one of another rank's that waits. Every circle of
// waiting ranks fulfils that when its last rank begins to wait; not everything that does is a
// circle.
bool PlainLaunch::IsCrossed(int rank) {
  const auto waits = [this](int other) {
    const Rank& state = ranks_[static_cast<size_t>(other)];
    return state.waits && !state.open.empty();  // else its wait is over, at its next turn
  };
  const std::vector<int>& open = ranks_[static_cast<size_t>(rank)].open;
  const bool lacks_others = std::any_of(open.begin(), open.end(), [&](int collective) {
    const std::vector<int>& members = layout_.MembersOf(collective);
    return std::any_of(members.begin(), members.end(), [&](int other) {
      return other != rank && waits(other) && Issued(other, collective) == 0;
    });
  });
  if (!lacks_others) return false;
  for (int other = 0; other < layout_.ranks(); ++other) {
    if (other == rank || !waits(other)) continue;
    for (const int collective : ranks_[static_cast<size_t>(other)].open) {
      const std::vector<int>& members = layout_.MembersOf(collective);
      if (!std::binary_search(members.begin(), members.end(), rank)) continue;
      if (Issued(rank, collective) == 0) return true;
    }
  }
  return false;
}

PlainRound PlainLaunch::RunSynchronisation(std::vector<RankProgram>* programs) {
  PlainRound result;
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      RankProgram& program = (*programs)[static_cast<size_t>(rank)];
      Rank& own = ranks_[static_cast<size_t>(rank)];
      if (own.open.empty()) own.waits = false;
      if (own.waits || program.ended()) continue;
      moved = true;
      const int next = program.Next();
      if (next != RankProgram::kWait) {
        Issue(rank, next);
        continue;
      }
      own.waits = !own.open.empty();
      if (own.waits && !result.published) result.published = IsCrossed(rank);
    }
  }
  result.exact = std::any_of(programs->begin(), programs->end(),
                             [](const RankProgram& program) { return !program.ended(); });
  return result;
}

}  // namespace phalanx::simulate
