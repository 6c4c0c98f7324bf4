#include "checkpoint/holder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace phalanx::checkpoint {
namespace {

bool Contains(const std::vector<VersionName>& names, const VersionName& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Holder::Holder(const HolderSettings& settings) : settings_(settings) {}

std::vector<HolderOutput> Holder::Step(const HolderInput& input) {
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void Holder::Handle(const Orders& orders) {
  const bool is_old = orders_.has_value() && std::pair(orders.term, orders.sequence) <=
                                                 std::pair(orders_->term, orders_->sequence);
  if (orders.term < term_ || is_old) {
    const bool repeats = is_old && orders.term == orders_->term;
    if (!repeats) Refuse(Refused::Reason::kStale, kInitialVersion, -1);
    return;
  }
  term_ = orders.term;
  orders_ = orders;
  for (auto room = rooms_.begin(); room != rooms_.end();) {
    if (Contains(orders.kept, room->first) || Contains(orders.in_flight, room->first)) {
      ++room;
      continue;
    }
    outputs_.push_back(Release{room->first});
    bad_.erase(room->first);
    room = rooms_.erase(room);
  }
  for (const auto* names : {&orders.kept, &orders.in_flight}) {
    for (const VersionName& name : *names) {
      if (rooms_.size() < settings_.rooms) rooms_.try_emplace(name);
    }
  }
}

void Holder::Handle(const Ask& ask) {
  if (ask.term < term_) {
    Refuse(Refused::Reason::kStale, kInitialVersion, -1);
    return;
  }
  term_ = ask.term;
  Inventory inventory{term_, settings_.agent, {}, {}};
  for (const auto& [name, room] : rooms_) {
    for (const auto& [rank, shard] : room) {
      if (shard.digest.has_value()) inventory.items.push_back({name, rank, *shard.digest});
    }
  }
  if (orders_.has_value() && orders_->term.epoch == term_.epoch) inventory.orders = orders_;
  outputs_.push_back(std::move(inventory));
}

void Holder::Handle(const ShardBegins& begins) {
  PHX_CHECK(begins.chunks >= 1);
  const auto room = rooms_.find(begins.name);
  const bool is_kept = orders_.has_value() && Contains(orders_->kept, begins.name);
  if (!is_kept && begins.name.epoch < term_.epoch) {
    Refuse(Refused::Reason::kStale, begins.name, begins.rank);
    return;
  }
  if (room == rooms_.end()) {
    Refuse(Refused::Reason::kNoRoom, begins.name, begins.rank);
    return;
  }
  const auto [found, is_new] = room->second.try_emplace(begins.rank);
  if (!is_new) return;
  Shard& shard = found->second;
  shard.chunks = begins.chunks;
  shard.expected = begins.expected;
  for (uint32_t index = 0; index < begins.chunks; ++index) shard.missing.insert(index);
}

void Holder::Handle(const ChunkArrived& chunk) {
  Shard* shard = Find(chunk.name, chunk.rank);
  if (shard == nullptr) {
    Refuse(Refused::Reason::kNoRoom, chunk.name, chunk.rank);
    return;
  }
  if (shard->missing.count(chunk.index) == 0) return;  // came before, or not one of its chunks
  if (!chunk.intact) {
    outputs_.push_back(FetchChunk{chunk.name, chunk.rank, chunk.index});
    return;
  }
  shard->missing.erase(chunk.index);
  if (shard->missing.empty()) outputs_.push_back(DigestShard{chunk.name, chunk.rank});
}

void Holder::Handle(const ShardDigested& digested) {
  Shard* shard = Find(digested.name, digested.rank);
  // Freed, or begun again, since the digest was asked for.
  if (shard == nullptr || !shard->missing.empty() || shard->digest.has_value()) return;
  if (shard->expected.has_value() && *shard->expected != digested.digest) {
    rooms_[digested.name].erase(digested.rank);
    Refuse(Refused::Reason::kCorrupt, digested.name, digested.rank);
    return;
  }
  shard->digest = digested.digest;
  bad_[digested.name].erase(digested.rank);
  outputs_.push_back(Stored{settings_.agent, {digested.name, digested.rank, digested.digest}});
}

void Holder::Handle(const ShardIsBad& bad) {
  const Shard* shard = Find(bad.name, bad.rank);
  if (shard == nullptr || !shard->digest.has_value()) return;
  rooms_[bad.name].erase(bad.rank);
  bad_[bad.name].insert(bad.rank);
  outputs_.push_back(CopyIsBad{bad.name, bad.rank, settings_.agent});
}

void Holder::Handle(const HolderAgain& /*again*/) {
  for (const auto& [name, room] : rooms_) {
    for (const auto& [rank, shard] : room) {
      if (shard.digest.has_value()) {
        outputs_.push_back(Stored{settings_.agent, {name, rank, *shard.digest}});
      } else if (shard.missing.empty()) {
        outputs_.push_back(DigestShard{name, rank});
      }
      for (const uint32_t index : shard.missing) outputs_.push_back(FetchChunk{name, rank, index});
    }
  }
  for (const auto& [name, ranks] : bad_) {
    for (const int rank : ranks) outputs_.push_back(CopyIsBad{name, rank, settings_.agent});
  }
}

Holder::Verdict Holder::VerdictOn(const VersionName& name) const {
  if (!orders_.has_value() || orders_->term.epoch != name.epoch) return Verdict::kUndecided;
  if (term_.epoch != name.epoch || name.version > orders_->decided) return Verdict::kUndecided;
  return Contains(orders_->in_flight, name) ? Verdict::kTake : Verdict::kSkip;
}

bool Holder::Has(const VersionName& name, int rank) const {
  const auto room = rooms_.find(name);
  if (room == rooms_.end()) return false;
  const auto shard = room->second.find(rank);
  return shard != room->second.end() && shard->second.digest.has_value();
}

Holder::Shard* Holder::Find(const VersionName& name, int rank) {
  const auto room = rooms_.find(name);
  if (room == rooms_.end()) return nullptr;
  const auto shard = room->second.find(rank);
  return shard == room->second.end() ? nullptr : &shard->second;
}

void Holder::Refuse(Refused::Reason reason, const VersionName& name, int rank) {
  outputs_.push_back(Refused{reason, name, rank});
}

}  // namespace phalanx::checkpoint
