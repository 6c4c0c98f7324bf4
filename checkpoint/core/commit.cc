#include "checkpoint/commit.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace phalanx::checkpoint {

Commit::Commit(const CommitSettings& settings, RecordView claimed, Placement placement,
               std::vector<AgentId> agents)
    : settings_(settings),
      record_(std::move(claimed)),
      placement_(std::move(placement)),
      agents_(std::move(agents)),
      newest_(placement_.holders.size()),
      decided_(Newest(record_).version) {
  PHX_CHECK(settings_.in_flight >= 1 && settings_.kept >= 1);
}

std::vector<CommitOutput> Commit::Step(const CommitInput& input) {
  if (!superseded_) std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void Commit::Handle(const CommitBegins& /*begins*/) {
  for (const AgentId agent : agents_) outputs_.push_back(TellAgent{agent, Ask{record_.term}});
}

void Commit::Handle(const Inventory& inventory) {
  if (!asking_ || inventory.term != record_.term) return;
  if (std::find(agents_.begin(), agents_.end(), inventory.holder) == agents_.end()) return;
  inventories_.try_emplace(inventory.holder, inventory);
  if (inventories_.size() == agents_.size()) Adopt();
}

// Whatever the predecessor ordered and anybody acted on is in the newest orders that an agent has
// seen; later ones reached nobody, and never will, since all agents refuse its term by now.
void Commit::Adopt() {
  asking_ = false;
  const Orders* newest = nullptr;
  for (const auto& [agent, inventory] : inventories_) {
    if (!inventory.orders.has_value()) continue;
    const Orders& orders = *inventory.orders;
    if (orders.term.epoch != record_.term.epoch) continue;
    if (newest == nullptr ||
        std::pair(orders.term, orders.sequence) > std::pair(newest->term, newest->sequence)) {
      newest = &orders;
    }
  }
  if (newest != nullptr) {
    decided_ = std::max(decided_, newest->decided);
    for (const VersionName& name : newest->in_flight) {
      if (name > Newest(record_)) in_flight_[name].resize(placement_.holders.size());
    }
  }
  if (!record_.kept.empty()) {
    for (size_t rank = 0; rank < newest_.size(); ++rank) {
      newest_[rank].digest = record_.kept.front().digests[rank];
    }
  }
  for (const auto& [agent, inventory] : std::exchange(inventories_, {})) {
    for (const ShardItem& item : inventory.items) Take(item, agent);
  }
  Publish();
  ConsiderHealth();
  RepeatCopies();
  ConsiderCommit();
}

void Commit::Handle(const Wants& wants) {
  if (asking_ || wants.name.epoch != record_.term.epoch) return;
  if (wants.name.version > decided_) {
    Decide(wants.name);
    return;
  }
  // Decided already; its agent may not have heard.
  const auto rank = static_cast<size_t>(wants.rank);
  if (rank >= placement_.holders.size()) return;
  outputs_.push_back(TellAgent{placement_.holders[rank].front(), CurrentOrders()});
}

void Commit::Decide(const VersionName& name) {
  const bool has_room = in_flight_.size() < static_cast<size_t>(settings_.in_flight);
  if (!has_room && settings_.when_full == CommitSettings::WhenFull::kWait) {
    waiting_ = name;
    return;
  }
  decided_ = name.version;
  waiting_.reset();
  if (has_room) in_flight_[name].resize(placement_.holders.size());
  Publish();
}

void Commit::GrantWaiting() {
  if (!waiting_.has_value()) return;
  const VersionName name = *waiting_;
  if (name.version > decided_) Decide(name);
}

void Commit::Handle(const Stored& stored) {
  if (asking_ || !Take(stored.shard, stored.holder)) return;
  const auto version = in_flight_.find(stored.shard.name);
  if (version != in_flight_.end()) {
    const Shard& shard = version->second[static_cast<size_t>(stored.shard.rank)];
    // The first one gives it to the others.
    if (shard.holders.size() == 1) AskForCopies(version->first, stored.shard.rank, shard);
  }
  ConsiderHealth();
  ConsiderCommit();
}

// True if that is news.
bool Commit::Take(const ShardItem& item, AgentId holder) {
  if (item.rank < 0 || static_cast<size_t>(item.rank) >= placement_.holders.size()) return false;
  const auto rank = static_cast<size_t>(item.rank);
  if (item.name == Newest(record_)) {
    // Any agent that has it is a source, even one that isn't to hold it in this view.
    return item.digest == newest_[rank].digest && newest_[rank].holders.insert(holder).second;
  }
  const auto found = in_flight_.find(item.name);
  if (found == in_flight_.end() || !placement_.Holds(item.rank, holder)) return false;
  // Being written to the record: nothing can change that any more.
  if (writing_.has_value() && Newest(*writing_) == item.name) return false;
  Shard& shard = found->second[rank];
  if (shard.holders.empty()) shard.digest = item.digest;
  if (shard.digest != item.digest) {
    Abandon(item.name, item.rank, holder);
    return false;
  }
  return shard.holders.insert(holder).second;
}

void Commit::Abandon(const VersionName& name, int rank, AgentId holder) {
  in_flight_.erase(name);
  outputs_.push_back(Abandoned{name, rank, holder});
  Publish();
  GrantWaiting();
}

bool Commit::IsComplete(const Shards& shards) const {
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    for (const AgentId holder : placement_.holders[rank]) {
      if (shards[rank].holders.count(holder) == 0) return false;
    }
  }
  return true;
}

void Commit::ConsiderCommit() {
  if (asking_ || writing_.has_value()) return;
  for (auto version = in_flight_.rbegin(); version != in_flight_.rend(); ++version) {
    if (!IsComplete(version->second)) continue;
    RecordedVersion recorded{version->first, {}};
    for (const Shard& shard : version->second) recorded.digests.push_back(shard.digest);
    RecordView value = record_;
    value.kept.insert(value.kept.begin(), std::move(recorded));
    if (value.kept.size() > static_cast<size_t>(settings_.kept)) {
      value.kept.resize(static_cast<size_t>(settings_.kept));
    }
    writing_ = value;
    outputs_.push_back(WriteRecord{std::move(value)});
    return;
  }
}

void Commit::Handle(const RecordAnswer& answer) {
  if (!writing_.has_value()) return;
  switch (answer.result) {
    case RecordAnswer::Result::kDone:
      FinishCommit();
      break;
    case RecordAnswer::Result::kConflict:
      Settle(answer.current);
      break;
    case RecordAnswer::Result::kUnknown:
      outputs_.push_back(ReadRecord{});
      break;
  }
}

void Commit::Handle(const RecordRead& read) {
  if (writing_.has_value()) Settle(read.current);
}

void Commit::Settle(const RecordView& current) {
  if (current.term != record_.term) {
    superseded_ = true;
    outputs_.push_back(Superseded{});
  } else if (current == *writing_) {
    FinishCommit();
  } else {
    // Something beside the checkpoints has changed, or the write is still to come. In that case one
    // of the two finds the other's, which is its own.
    outputs_.push_back(WriteRecord{*writing_});
  }
}

void Commit::FinishCommit() {
  const std::vector<RecordedVersion> before = record_.kept;
  record_ = *std::exchange(writing_, std::nullopt);
  const VersionName name = Newest(record_);
  newest_ = std::move(in_flight_.at(name));
  in_flight_.erase(in_flight_.begin(), in_flight_.upper_bound(name));
  outputs_.push_back(Committed{name});
  for (const RecordedVersion& old : before) {
    const bool stays =
        std::find(record_.kept.begin(), record_.kept.end(), old) != record_.kept.end();
    if (!stays) outputs_.push_back(Free{old.name});
  }
  Publish();
  ConsiderHealth();
  GrantWaiting();
  ConsiderCommit();
}

void Commit::Handle(const CopyIsBad& bad) {
  if (asking_ || bad.rank < 0) return;
  const bool is_written = writing_.has_value() && Newest(*writing_) == bad.name;
  // The rank has gone on, so its shard can't be taken again. (One that all had is a loss like any.)
  if (in_flight_.count(bad.name) > 0 && !is_written) Abandon(bad.name, bad.rank, bad.holder);
  if (bad.name != Newest(record_)) return;
  const auto rank = static_cast<size_t>(bad.rank);
  if (rank >= newest_.size()) return;
  newest_[rank].holders.erase(bad.holder);
  RepeatCopies();
}

void Commit::ConsiderHealth() {
  if (healthy_ || asking_) return;
  if (!record_.kept.empty() && !IsComplete(newest_)) return;
  healthy_ = true;
  outputs_.push_back(Healthy{});
}

void Commit::RepeatCopies() {
  if (asking_) return;
  ++copies_tried_;
  const auto ask_for_all = [this](const VersionName& name, const Shards& shards) {
    for (size_t rank = 0; rank < shards.size(); ++rank) {
      AskForCopies(name, static_cast<int>(rank), shards[rank]);
    }
  };
  if (!record_.kept.empty()) ask_for_all(Newest(record_), newest_);
  for (const auto& [name, shards] : in_flight_) ask_for_all(name, shards);
}

void Commit::AskForCopies(const VersionName& name, int rank, const Shard& shard) {
  if (shard.holders.empty()) return;
  for (const AgentId to : placement_.holders[static_cast<size_t>(rank)]) {
    if (shard.holders.count(to) > 0) continue;
    const auto skip = static_cast<int64_t>(copies_tried_ % shard.holders.size());
    const AgentId from = *std::next(shard.holders.begin(), skip);
    outputs_.push_back(CopyShard{name, rank, from, to, shard.digest});
  }
}

void Commit::Handle(const CommitAgain& /*again*/) {
  if (asking_) {
    for (const AgentId agent : agents_) {
      if (inventories_.count(agent) == 0) outputs_.push_back(TellAgent{agent, Ask{record_.term}});
    }
    return;
  }
  for (const AgentId agent : agents_) outputs_.push_back(TellAgent{agent, CurrentOrders()});
  RepeatCopies();
}

Orders Commit::CurrentOrders() const {
  Orders orders{record_.term, sequence_, {}, {}, decided_};
  for (const RecordedVersion& version : record_.kept) orders.kept.push_back(version.name);
  for (const auto& [name, shards] : in_flight_) orders.in_flight.push_back(name);
  return orders;
}

void Commit::Publish() {
  ++sequence_;
  for (const AgentId agent : agents_) outputs_.push_back(TellAgent{agent, CurrentOrders()});
}

}  // namespace phalanx::checkpoint
