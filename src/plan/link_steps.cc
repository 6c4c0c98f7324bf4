#include "link_steps.h"

#include <algorithm>

namespace phalanx::plan {

void SetLinkRounds(uint64_t longest, const Limits& limits, PlanBuilder* builder) {
  const uint64_t bytes = longest * SizeOf(builder->type());
  const uint64_t piece = (bytes + limits.link_pieces - 1) / limits.link_pieces;
  const uint64_t chunk = std::clamp(piece, limits.link_chunk_least, limits.link_chunk_most);
  builder->SetRounds(longest, chunk, limits.link_window);
}

void SetChainRounds(uint64_t count, const Limits& limits, PlanBuilder* builder) {
  builder->SetRounds(count, limits.chain_chunk, limits.chain_window);
}

std::vector<Contribution> ScaleIntoScratch(PlanBuilder* builder) {
  std::vector<Contribution> work(builder->size());
  for (int block = 0; block < builder->size(); ++block) {
    work[block].operand = Input(block);
    if (!builder->scales()) continue;
    const Operand scaled = builder->AddScratch(builder->blocks(Region::kInput)[block].count);
    work[block] = Contribution{scaled, builder->Scale(scaled, Input(block), {})};
  }
  return work;
}

void ReduceInRankOrder(const std::vector<Contribution>& contributions, const Operand& destination,
                       uint64_t count, const std::vector<StepIndex>& before, PlanBuilder* builder) {
  const size_t last = contributions.size() - 1;
  const Operand sum = last > 1 ? builder->AddScratch(count) : destination;
  Contribution partial = contributions[0];
  for (size_t i = 1; i <= last; ++i) {
    const Operand& result = i == last ? destination : sum;
    const StepIndex reduced = builder->Reduce(result, partial.operand, contributions[i].operand,
                                              {partial.ready, contributions[i].ready});
    partial = Contribution{result, reduced};
  }
  for (const StepIndex earlier : before) builder->AddAfter(partial.ready, earlier);
  if (builder->divides()) builder->Divide(destination, {partial.ready});
}

RingReduction ReduceAroundRing(const std::vector<Contribution>& work, int own,
                               const Operand& result, PlanBuilder* builder) {
  const int size = builder->size();
  RingReduction ring;
  ring.last_use.resize(size, kNone);
  Contribution partial = work[builder->Wrap(own - 1)];
  for (int step = 0; step < size - 1; ++step) {
    const int sent = builder->Wrap(own - 1 - step);
    const int received = builder->Wrap(own - 2 - step);
    const StepIndex send = builder->Send(builder->Peer(1), partial.operand, step, {partial.ready});
    if (step == 0) ring.last_use[sent] = send;
    const Operand place = builder->AddScratch(builder->blocks(Region::kInput)[received].count);
    const StepIndex arrived = builder->Receive(builder->Peer(-1), place, step, {});
    const Operand& sum = step == size - 2 ? result : place;
    const StepIndex reduced =
        builder->Reduce(sum, place, work[received].operand, {arrived, work[received].ready});
    ring.last_use[received] = reduced;
    partial = Contribution{sum, reduced};
  }
  ring.reduced = partial.ready;
  return ring;
}

}  // namespace phalanx::plan
