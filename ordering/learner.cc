#include "ordering/learner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hash.h"

namespace phalanx::ordering {
namespace {

constexpr size_t kMostBlocks = 64;
constexpr int kMostCandidates = 16;

uint64_t HashOf(const Lane& lane) {
  const uint64_t kind = static_cast<uint64_t>(lane.kind) << 16 | lane.communicator.value;
  return Combine(kind, lane.detail);
}

}  // namespace

void Learner::Add(const Schedule::Entry& entry, uint64_t sequence) {
  // Programs make their communicators in the beginning, several in a row: that isn't a loop.
  if (entry.signature.kind == OpKind::kSplit) return;
  Logged logged{entry, sequence};
  logged.kind = Combine(HashOf(entry.lane), ordering::HashOf(entry.signature));
  logged.sum = (log_.empty() ? 0 : log_.back().sum) + logged.kind;
  uint64_t& last = last_of_kind_[logged.kind];
  logged.earlier = last;
  last = ++added_;
  log_.push_back(std::move(logged));
  if (log_.size() <= longest_ * kMostBlocks + 1) return;
  const auto oldest = last_of_kind_.find(log_.front().kind);
  if (oldest->second == added_ - log_.size() + 1) last_of_kind_.erase(oldest);
  log_.pop_front();
}

void Learner::Clear() {
  log_.clear();
  last_of_kind_.clear();
  added_ = 0;
}

// A block ends with the last operation, so it is as long as the way back to one of the same kind.
std::optional<Schedule> Learner::Find(size_t count) const {
  if (log_.empty() || count > kMostBlocks) return std::nullopt;
  uint64_t at = log_.back().earlier;
  for (int candidate = 0; at != 0 && candidate < kMostCandidates; ++candidate) {
    const size_t length = added_ - at;
    if (length > longest_ || length * count > log_.size()) break;
    if (SumsAreEqual(length, count)) {
      std::optional<Schedule> schedule = Build(length, count);
      if (schedule.has_value()) return schedule;
    }
    at = FromEnd(length).earlier;
  }
  return std::nullopt;
}

bool Learner::SumsAreEqual(size_t length, size_t count) const {
  const auto sum_before = [this](size_t distance) {
    if (distance < log_.size()) return FromEnd(distance).sum;
    return log_.front().sum - log_.front().kind;  // of what was before the log's beginning
  };
  const uint64_t sum = sum_before(0) - sum_before(length);
  for (size_t block = 1; block < count; ++block) {
    if (sum_before(block * length) - sum_before((block + 1) * length) != sum) return false;
  }
  return true;
}

std::optional<Schedule> Learner::Build(size_t length, size_t count) const {
  std::map<Lane, LaneLog> lanes;
  for (size_t distance = length * count; distance-- > 0;) {
    const Logged& logged = FromEnd(distance);
    lanes[logged.entry.lane].emplace_back(logged.sequence,
                                          ordering::HashOf(logged.entry.signature));
  }
  Schedule schedule;
  for (auto& [lane, log] : lanes) {
    std::sort(log.begin(), log.end());
    const size_t share = log.size() / count;
    if (share * count != log.size()) return std::nullopt;
    for (size_t i = 1; i < log.size(); ++i) {
      if (log[i].first != log[i - 1].first + 1) return std::nullopt;  // one is missing
      if (i >= share && log[i].second != log[i - share].second) return std::nullopt;
    }
    schedule.bases.push_back({lane, log.back().first + 1});
  }
  // Within a lane the entries stand in the order of issue, even where tickets came in another.
  std::map<Lane, std::map<uint64_t, Signature>> in_order;
  for (size_t distance = length; distance-- > 0;) {
    const Logged& logged = FromEnd(distance);
    schedule.entries.push_back(logged.entry);
    in_order[logged.entry.lane].emplace(logged.sequence, logged.entry.signature);
  }
  for (Schedule::Entry& entry : schedule.entries) {
    auto& left = in_order[entry.lane];
    entry.signature = left.begin()->second;
    left.erase(left.begin());
  }
  return schedule;
}

}  // namespace phalanx::ordering
