#include "ordering/passed_lanes.h"

#include <algorithm>
#include <vector>

namespace phalanx::ordering {
namespace {

bool Contains(const Passed::OfLane& passed, uint64_t sequence) {
  return sequence < passed.below ||
         std::binary_search(passed.beyond.begin(), passed.beyond.end(), sequence);
}

// Most follow the same schedule, some of them further.
void AddLaunched(const Passed::Launched& launched, std::vector<Passed::Launched>* to) {
  for (Passed::Launched& known : *to) {
    if (known.first <= launched.first && launched.until <= known.until) return;
    if (launched.first <= known.first && known.until <= launched.until) {
      known = launched;
      return;
    }
  }
  to->push_back(launched);
}

}  // namespace

void PassedLanes::Add(int party, const Passed& passed) {
  for (const Passed::OfLane& lane : passed.lanes) lanes_[lane.lane][party] = {passed.rank, lane};
}

bool PassedLanes::Has(int party, const OpName& op) const {
  const auto lane = lanes_.find(op.lane);
  if (lane == lanes_.end()) return false;
  const auto found = lane->second.find(party);
  return found != lane->second.end() && Contains(found->second.passed, op.sequence);
}

std::optional<Party> PassedLanes::LaunchedAs(const OpName& op) const {
  const auto lane = lanes_.find(op.lane);
  if (lane == lanes_.end()) return std::nullopt;
  for (const auto& [party, of_party] : lane->second) {
    const Passed::OfLane& passed = of_party.passed;
    if (!Contains(passed, op.sequence)) continue;
    for (const Passed::Launched& launched : passed.launched) {
      if (op.sequence < launched.first || op.sequence >= launched.until) continue;
      const uint64_t place = (op.sequence - launched.first) % launched.entries.size();
      return Party{of_party.rank, launched.entries[place]};
    }
  }
  return std::nullopt;
}

std::optional<Passed::OfLane> PassedLanes::OfAll(const Lane& lane, const Ranks& parties) const {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return std::nullopt;
  const Passed::OfLane* least = nullptr;
  for (const int party : parties) {
    const auto of_party = found->second.find(party);
    if (of_party == found->second.end()) return std::nullopt;
    const Passed::OfLane& passed = of_party->second.passed;
    if (least == nullptr || passed.below < least->below) least = &passed;
  }
  if (least == nullptr) return std::nullopt;
  Passed::OfLane all = *least;
  all.beyond.clear();
  for (const uint64_t sequence : least->beyond) {
    const bool everywhere = std::all_of(parties.begin(), parties.end(), [&](int party) {
      return Contains(found->second.at(party).passed, sequence);
    });
    if (everywhere) all.beyond.push_back(sequence);
  }
  for (const int party : parties) {
    for (const Passed::Launched& launched : found->second.at(party).passed.launched) {
      AddLaunched(launched, &all.launched);
    }
  }
  if (all.below == 0 && all.beyond.empty()) return std::nullopt;
  return all;
}

}  // namespace phalanx::ordering
