// What the cores of a CommitWorld say, and what must be true of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "commit_world.h"

namespace phalanx::checkpoint::simulation {

bool CommitWorld::IsWholeAt(const Agent& agent, const ShardKey& key) const {
  const auto found = agent.store.find(key);
  return found != agent.store.end() && agent.core.Has(key.first, key.second) &&
         found->second == TruthOf(key.second, key.first.version);
}

// --- an agent

void CommitWorld::Feed(Agent* agent, const HolderInput& input) {
  if (!agent->alive) return;
  for (const HolderOutput& output : agent->core.Step(input)) {
    if (const auto* stored = std::get_if<Stored>(&output)) {
      bag_.Add(false, [this, said = *stored] { FeedCommit(said); });
    } else if (const auto* inventory = std::get_if<Inventory>(&output)) {
      bag_.Add(false, [this, said = *inventory] { On(said); });
    } else if (const auto* digest = std::get_if<DigestShard>(&output)) {
      const ShardKey key{digest->name, digest->rank};
      const auto found = agent->store.find(key);
      if (found == agent->store.end()) continue;
      Feed(agent, ShardDigested{digest->name, digest->rank, found->second});
    } else if (const auto* bad = std::get_if<CopyIsBad>(&output)) {
      bag_.Add(false, [this, said = *bad] { FeedCommit(said); });
    } else if (const auto* release = std::get_if<Release>(&output)) {
      On(agent, *release);
    }
  }
}

void CommitWorld::On(Agent* agent, const Release& release) {
  for (const RecordedVersion& version : record_.kept) {
    if (version.name == release.name && agents_.count(agent->place.agent) > 0) {
      Violate(absl::StrCat("agent ", agent->place.agent, " frees ", Describe(release.name),
                           ", which the record still names"));
    }
  }
  for (auto copy = agent->store.begin(); copy != agent->store.end();) {
    if (copy->first.first == release.name) {
      corrupted_.erase({agent->place.agent, copy->first});
      copy = agent->store.erase(copy);
    } else {
      ++copy;
    }
  }
}

// --- the coordinator

void CommitWorld::FeedCommit(const CommitInput& input) {
  for (const CommitOutput& output : commit_->Step(input)) On(output);
}

void CommitWorld::On(const CommitOutput& output) {
  if (const auto* tell = std::get_if<TellAgent>(&output)) {
    On(*tell);
  } else if (const auto* write = std::get_if<WriteRecord>(&output)) {
    Write(write->value);
  } else if (std::holds_alternative<ReadRecord>(output)) {
    bag_.Add(true, [this, term = commit_->record().term] {
      if (commit_->record().term != term) return;
      known_revision_ = revision_;
      FeedCommit(RecordRead{record_});
    });
  } else if (const auto* committed = std::get_if<Committed>(&output)) {
    Say(absl::StrCat(Describe(committed->name), " is committed"));
    if (Newest(record_) != committed->name) Violate("committed, but not in the record");
  } else if (const auto* freed = std::get_if<Free>(&output)) {
    if (Newest(record_) <= freed->name) Violate("freed before a newer one is durable");
  } else if (const auto* copy = std::get_if<CopyShard>(&output)) {
    On(*copy);
  } else if (const auto* abandoned = std::get_if<Abandoned>(&output)) {
    ++tally_.abandoned;
    for (const RecordedVersion& version : record_.kept) {
      if (version.name == abandoned->name) Violate("abandoned though it is committed");
    }
  } else if (std::holds_alternative<Healthy>(output)) {
    CheckHealthy();
  } else {
    Violate("superseded though its claim stands");
  }
}

void CommitWorld::On(const TellAgent& tell) {
  const std::shared_ptr<Agent> agent = Find(tell.agent);
  if (agent == nullptr) return;
  bag_.Add(false, [this, agent, what = tell.what] {
    std::visit([&](const auto& body) { Feed(agent.get(), body); }, what);
  });
}

void CommitWorld::On(const CopyShard& copy) {
  const std::shared_ptr<Agent> from = Find(copy.from), to = Find(copy.to);
  if (from == nullptr || to == nullptr) return;
  const ShardKey key{copy.name, copy.rank};
  if (from->store.count(key) == 0) return;
  const Digest bytes = from->store[key];
  if (bytes == copy.digest) {
    ++tally_.repaired;
    Send(to, {copy.name, copy.rank, copy.digest}, bytes);
    return;
  }
  DropCorrupt(from.get(), key);
}

// The copy's reader compares what it reads with the checksums.
void CommitWorld::DropCorrupt(Agent* agent, const ShardKey& key) {
  ++tally_.corrupt;
  agent->store.erase(key);
  Feed(agent, ShardIsBad{key.first, key.second});
}

// The compare-and-set arrives some time; its answer may come before, saying that nothing is known.
void CommitWorld::Write(const RecordView& value) {
  const bool unknown = chance_.OneIn(5);
  const Term term = value.term;
  const auto answer = [this, term](const RecordAnswer& said) {
    bag_.Add(true, [this, term, said, revision = revision_] {
      if (commit_->record().term != term) return;
      known_revision_ = revision;
      FeedCommit(said);
    });
  };
  if (unknown) {
    ++tally_.unknown;
    bag_.Add(true, [this, term] {
      if (commit_->record().term == term)
        FeedCommit(RecordAnswer{RecordAnswer::Result::kUnknown, {}});
    });
  }
  bag_.Add(true, [this, value, expected = known_revision_, unknown, answer] {
    const bool matches = revision_ == expected;
    if (matches) {
      CheckCommit(value);
      ++revision_;
      record_ = value;
    }
    if (unknown) return;
    using Result = RecordAnswer::Result;
    answer({matches ? Result::kDone : Result::kConflict, record_});
  });
}

void CommitWorld::CheckCommit(const RecordView& value) {
  const VersionName name = Newest(value);
  Say(absl::StrCat("the record names ", Describe(name)));
  ++tally_.commits;
  if (first_claim_[name] < value.term.claim) ++tally_.adopted;
  if (value.term != record_.term) Violate("a coordinator of another term has changed the record");
  if (name <= Newest(record_)) Violate("the committed version doesn't rise");
  if (skipped_.count(name) > 0) Violate("a version was committed that a rank has skipped");
  promised_[name] = placement_.effective;
  for (size_t number = 0; number < ranks_.size(); ++number) {
    const int rank = static_cast<int>(number);
    const ShardKey key{name, rank};
    if (value.kept.front().digests[number] != TruthOf(rank, name.version)) {
      Violate(absl::StrCat("the record has a wrong digest for rank ", rank));
    }
    for (const AgentId holder : placement_.holders[number]) {
      const std::shared_ptr<Agent> agent = Find(holder);
      if (agent == nullptr || corrupted_.count({holder, key}) > 0) continue;
      if (!IsWholeAt(*agent, key)) {
        Violate(absl::StrCat("committed, but agent ", holder, " hasn't rank ", rank, "'s shard"));
      }
    }
  }
  if (chance_.OneIn(3)) persisted_ = {value.kept.front()};
}

void CommitWorld::CheckHealthy() {
  const VersionName name = Newest(record_);
  if (name == kInitialVersion) return;
  for (size_t number = 0; number < ranks_.size(); ++number) {
    const ShardKey key{name, static_cast<int>(number)};
    for (const AgentId holder : placement_.holders[number]) {
      const std::shared_ptr<Agent> agent = Find(holder);
      if (agent == nullptr || corrupted_.count({holder, key}) > 0) continue;
      // One that was found corrupt and dropped since counts as a loss of its own.
      if (!IsWholeAt(*agent, key) && losses_[key] == 0) Violate("healthy, but a copy is missing");
    }
  }
}

// --- restore

void CommitWorld::On(const Inventory& inventory) {
  const Term term = commit_->record().term;
  if (inventory.term == term) inventories_.try_emplace(inventory.holder, inventory);
  FeedCommit(inventory);
  if (restored_ || restore_ != nullptr || inventories_.size() < agents_.size()) return;
  std::vector<Inventory> all;
  for (const auto& [id, each] : inventories_) all.push_back(each);
  std::vector<AgentId> owners;
  for (const Rank& rank : ranks_) owners.push_back(rank.agent);
  unanswered_.clear();
  restore_ =
      std::make_unique<Restore>(RestoreSettings{}, commit_->record(), owners, all, persisted_);
  FeedRestore(RestoreBegins{});
}

void CommitWorld::FeedRestore(const RestoreInput& input) {
  for (const RestoreOutput& output : restore_->Step(input)) {
    if (over_) return;
    On(output);
  }
}

void CommitWorld::On(const RestoreOutput& output) {
  if (const auto* fetch = std::get_if<Fetch>(&output)) {
    bag_.Add(true, [this, term = commit_->record().term, what = *fetch] {
      if (restore_ != nullptr && commit_->record().term == term) On(what);
    });
  } else if (const auto* lost = std::get_if<VersionLost>(&output)) {
    On(*lost);
  } else if (const auto* restored = std::get_if<Restored>(&output)) {
    On(*restored);
  } else {
    Say("nothing is left to restore");
    ++tally_.ended;
    over_ = true;
  }
}

void CommitWorld::On(const Fetch& fetch) {
  Rank& rank = ranks_[static_cast<size_t>(fetch.rank)];
  const std::pair order{commit_->record().term, fetch.round};
  if (order < rank.newest_fetch) return;
  rank.newest_fetch = order;
  const bool in_memory =
      fetch.source.kind == Source::Kind::kLocal || fetch.source.kind == Source::Kind::kReplica;
  Digest bytes = TruthOf(fetch.rank, fetch.name.version);
  if (in_memory) {
    const std::shared_ptr<Agent> agent = Find(fetch.source.agent);
    const ShardKey key{fetch.name, fetch.rank};
    const bool there = agent != nullptr && agent->store.count(key) > 0;
    if (!there || (chance_.OneIn(8) && unanswered_[fetch.rank]++ < 2)) {
      FeedRestore(FetchFailed{fetch.rank, fetch.name, fetch.source, false});
      return;
    }
    bytes = agent->store[key];
    if (bytes != fetch.digest) {
      DropCorrupt(agent.get(), key);
      FeedRestore(FetchFailed{fetch.rank, fetch.name, fetch.source, true});
      return;
    }
  }
  rank.loaded = fetch.name;
  rank.regions = bytes;
  FeedRestore(Fetched{fetch.rank, fetch.name, fetch.source});
}

void CommitWorld::On(const VersionLost& lost) {
  ++tally_.lost;
  Say(absl::StrCat("rank ", lost.rank, "'s shard of ", Describe(lost.name), " is lost"));
  const ShardKey key{lost.name, lost.rank};
  if (losses_[key] < promised_[lost.name]) {
    Violate(absl::StrCat("lost after ", losses_[key], " losses, though ", promised_[lost.name],
                         " holders were promised"));
  }
}

void CommitWorld::On(const Restored& restored) {
  ++tally_.restores;
  Say(absl::StrCat(Describe(restored.name), " is restored"));
  if (restored.name == kInitialVersion) {
    ++tally_.initial;
    if (!record_.kept.empty()) Violate("the first state was restored though one is committed");
  } else if (restored.name != Newest(record_)) {
    ++tally_.older;
  }
  for (size_t number = 0; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    if (rank.loaded != restored.name) Violate("a mixture was restored");
    if (rank.regions != TruthOf(static_cast<int>(number), restored.name.version)) {
      Violate(absl::StrCat("rank ", number, " was restored to wrong bytes"));
    }
    rank.at = restored.name.version + 1;
    rank.running = Find(rank.agent) != nullptr;
  }
  restored_ = true;
}

void CommitWorld::Violate(const std::string& what) {
  Say(what);
  if (wrong_.empty()) wrong_ = what;
}

void CommitWorld::Say(const std::string& what) {
  if (trace_) trace_(what);
}

}  // namespace phalanx::checkpoint::simulation
