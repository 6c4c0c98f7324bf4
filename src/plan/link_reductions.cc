// Links: all-reduce and reduce-scatter.
//
// Every element is reduced by one rank, in an order that the plan fixes, and then handed out; so
// all ranks hold equal bits. (In an exchange every rank reduces, all in rank order.) A send reads
// its range until it is complete; steps that write the range follow it.
#include <vector>

#include "algorithms.h"
#include "layout.h"
#include "link_steps.h"
#include "plan_builder.h"

namespace phalanx::plan {

Plan ExchangeAllReduce(const Collective& collective, const Group& group) {
  PlanBuilder builder("exchange", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
  builder.SetMessages(1);
  const StepIndex scaled = builder.scales() ? builder.Scale(Output(0), Input(0), {}) : kNone;
  const Operand own = scaled == kNone ? Input(0) : Output(0);

  std::vector<Contribution> contributions(group.size);
  std::vector<StepIndex> sends;
  contributions[group.rank] = Contribution{own, scaled};
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder.Peer(distance);
    sends.push_back(builder.Send(peer, own, 0, {scaled}));
    const Operand place = builder.AddScratch(collective.count);
    contributions[peer] = Contribution{place, builder.Receive(peer, place, 0, {})};
  }
  // The last reduction writes the output, which in place is what the sends read.
  ReduceInRankOrder(contributions, Output(0), collective.count, sends, &builder);
  return builder.Build();
}

Plan ExchangeReduceScatter(const Collective& collective, const Group& group) {
  PlanBuilder builder("exchange", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
  builder.SetMessages(1);
  const std::vector<Contribution> work = ScaleIntoScratch(&builder);

  std::vector<Contribution> contributions(group.size);
  contributions[group.rank] = work[group.rank];
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder.Peer(distance);
    builder.Send(peer, work[peer].operand, 0, {work[peer].ready});
    const Operand place = builder.AddScratch(collective.count);
    contributions[peer] = Contribution{place, builder.Receive(peer, place, 0, {})};
  }
  ReduceInRankOrder(contributions, Output(0), collective.count, {}, &builder);
  return builder.Build();
}

Plan RingReduceScatter(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("ring", collective, group);
  SetLayout(collective, &builder);
  SetLinkRounds(collective.count, limits, &builder);
  builder.SetMessages(group.size - 1);
  const std::vector<Contribution> work = ScaleIntoScratch(&builder);
  const RingReduction ring = ReduceAroundRing(work, group.rank, Output(0), &builder);
  if (builder.divides()) builder.Divide(Output(0), {ring.reduced});
  return builder.Build();
}

Plan RingAllReduce(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("ring", collective, group);
  const int size = group.size;
  const int rank = group.rank;
  const std::vector<Block> blocks = Split(collective.count, size, collective.type);
  builder.SetBlocks(Region::kInput, blocks);
  builder.SetBlocks(Region::kOutput, blocks);
  SetLinkRounds(blocks[0].count, limits, &builder);
  builder.SetMessages(2 * (size - 1));

  std::vector<Contribution> work(size);
  for (int block = 0; block < size; ++block) {
    work[block] = Contribution{Input(block), kNone};
    if (!builder.scales()) continue;
    work[block] = Contribution{Output(block), builder.Scale(Output(block), Input(block), {})};
  }
  const RingReduction ring = ReduceAroundRing(work, rank, Output(rank), &builder);
  StepIndex ready = ring.reduced;
  if (builder.divides()) ready = builder.Divide(Output(rank), {ready});
  for (int step = 0; step < size - 1; ++step) {
    const int sent = builder.Wrap(rank - step);
    const int received = builder.Wrap(rank - step - 1);
    const int message = size - 1 + step;
    builder.Send(builder.Peer(1), Output(sent), message, {ready});
    ready = builder.Receive(builder.Peer(-1), Output(received), message, {ring.last_use[received]});
  }
  return builder.Build();
}

namespace {

// One rank's part in an all-reduce among the greatest power of two of ranks. The ranks beyond it
// fold their vector into a neighbour's first and get the result last. Within, partners at growing
// or shrinking distance exchange either their halves, so that everybody ends with one block and
// then collects the others, or whole vectors: half as many messages, more bytes. (Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005.)
class Hypercube {
 public:
  enum class Exchanged { kHalves, kWholeVectors };

  Hypercube(const Collective& collective, const Group& group, Exchanged exchanged)
      : builder_(exchanged == Exchanged::kHalves ? "halving-doubling" : "doubling", collective,
                 group),
        exchanged_(exchanged),
        rank_(group.rank) {
    while (2 * power_ <= group.size) power_ *= 2;
    folded_ = group.size - power_;
    const std::vector<Block> blocks = Split(collective.count, power_, collective.type);
    builder_.SetBlocks(Region::kInput, blocks);
    builder_.SetBlocks(Region::kOutput, blocks);
    builder_.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
    int levels = 0;
    while ((1 << levels) < power_) ++levels;
    first_message_ = folded_ > 0 ? 1 : 0;
    last_message_ = first_message_ + (exchanged == Exchanged::kHalves ? 2 * levels : levels);
    builder_.SetMessages(last_message_ + (folded_ > 0 ? 1 : 0));
  }

  Plan Make() {
    if (builder_.scales()) {
      ready_ = builder_.Scale(Output(0, power_), Input(0, power_), {});
      in_output_ = true;
    }
    if (rank_ < 2 * folded_ && rank_ % 2 == 1) {
      Folded();
      return builder_.Build();
    }
    const bool has_folded = rank_ < 2 * folded_;
    if (has_folded) TakeFolded();
    place_ = has_folded ? rank_ / 2 : rank_ - folded_;
    if (exchanged_ == Exchanged::kHalves) {
      Halve();
      if (builder_.divides()) ready_ = builder_.Divide(Output(place_), {ready_});
      Double();
    } else {
      ReduceWhole();
      if (builder_.divides()) ready_ = builder_.Divide(Output(0, power_), {ready_});
    }
    if (has_folded) builder_.Send(rank_ + 1, Output(0, power_), last_message_, {ready_});
    return builder_.Build();
  }

 private:
  struct Level {
    int partner = 0;
    int kept = 0;  // first block
    int sent = 0;  // first block
    int blocks = 0;
    StepIndex send = kNone;
  };

  Operand Work(int first, int blocks) const {
    return in_output_ ? Output(first, blocks) : Input(first, blocks);
  }
  uint64_t CountOf(int first, int blocks) const {
    uint64_t count = 0;
    for (int i = first; i < first + blocks; ++i) count += builder_.blocks(Region::kInput)[i].count;
    return count;
  }
  int RankAt(int place) const { return place < folded_ ? 2 * place : place + folded_; }

  void Folded() {
    const StepIndex sent = builder_.Send(rank_ - 1, Work(0, power_), 0, {ready_});
    builder_.Receive(rank_ - 1, Output(0, power_), last_message_, {sent});
  }

  void TakeFolded() {
    const Operand received = builder_.AddScratch(CountOf(0, power_));
    const StepIndex arrived = builder_.Receive(rank_ + 1, received, 0, {});
    ready_ = builder_.Reduce(Output(0, power_), Work(0, power_), received, {ready_, arrived});
    in_output_ = true;
  }

  void Halve() {
    int first = 0;
    int blocks = power_;
    int message = first_message_;
    for (int mask = power_ / 2; mask > 0; mask /= 2) {
      Level level;
      level.blocks = blocks / 2;
      level.partner = RankAt(place_ ^ mask);
      const bool lower = (place_ & mask) == 0;
      level.kept = lower ? first : first + level.blocks;
      level.sent = lower ? first + level.blocks : first;
      level.send = builder_.Send(level.partner, Work(level.sent, level.blocks), message, {ready_});
      const Operand received = builder_.AddScratch(CountOf(level.kept, level.blocks));
      const StepIndex arrived = builder_.Receive(level.partner, received, message, {});
      const Operand own = Work(level.kept, level.blocks);
      const Operand result = Output(level.kept, level.blocks);
      // The lower place's operand comes first.
      ready_ = lower ? builder_.Reduce(result, own, received, {ready_, arrived})
                     : builder_.Reduce(result, received, own, {ready_, arrived});
      in_output_ = true;
      first = level.kept;
      blocks = level.blocks;
      ++message;
      levels_.push_back(level);
    }
  }

  void Double() {
    int message = first_message_ + static_cast<int>(levels_.size());
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      builder_.Send(level->partner, Output(level->kept, level->blocks), message, {ready_});
      // Follows what we hold, too, so that one name stands for both halves at the next level.
      ready_ = builder_.Receive(level->partner, Output(level->sent, level->blocks), message,
                                {level->send, ready_});
      ++message;
    }
  }

  void ReduceWhole() {
    const Operand result = Output(0, power_);
    int message = first_message_;
    for (int mask = 1; mask < power_; mask *= 2) {
      const int partner = RankAt(place_ ^ mask);
      const Operand own = Work(0, power_);
      const StepIndex sent = builder_.Send(partner, own, message, {ready_});
      const Operand received = builder_.AddScratch(CountOf(0, power_));
      const StepIndex arrived = builder_.Receive(partner, received, message, {});
      // The lower place's operand comes first, so that both get the same bits. The result may
      // overwrite what is sent.
      const bool lower = (place_ & mask) == 0;
      ready_ = lower ? builder_.Reduce(result, own, received, {ready_, arrived, sent})
                     : builder_.Reduce(result, received, own, {ready_, arrived, sent});
      in_output_ = true;
      ++message;
    }
  }

  PlanBuilder builder_;
  Exchanged exchanged_;
  int rank_;
  int power_ = 1;   // ranks that take part in all levels
  int folded_ = 0;  // ranks that don't
  int place_ = 0;   // ours among the former
  int first_message_ = 0;
  int last_message_ = 0;
  bool in_output_ = false;  // where our partial result is
  StepIndex ready_ = kNone;
  std::vector<Level> levels_;
};

}  // namespace

Plan HalvingDoublingAllReduce(const Collective& collective, const Group& group) {
  return Hypercube(collective, group, Hypercube::Exchanged::kHalves).Make();
}

Plan DoublingAllReduce(const Collective& collective, const Group& group) {
  return Hypercube(collective, group, Hypercube::Exchanged::kWholeVectors).Make();
}

}  // namespace phalanx::plan
