#include "node_checkpoints.h"

#include <algorithm>
#include <asio/post.hpp>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {

NodeCheckpoints::NodeCheckpoints(asio::io_context& context, Handlers handlers,
                                 const PersistSettings& persist, const std::string& job,
                                 Logger logger)
    : context_(context),
      handlers_(std::move(handlers)),
      logger_(std::move(logger)),
      holder_({.agent = 0, .rooms = kRooms}),
      replicas_(context,
                {.pulled = [this](const Pulled& pulled) { FromPeers(pulled); },
                 .doubt = [this](const ShardKey& key) { OnDoubt(key); }},
                logger_) {
  if (!persist.is_on()) return;
  tier_ = std::make_unique<NodeTier>(context, persist, job, handlers_.to_coordinator, logger_);
}

NodeCheckpoints::~NodeCheckpoints() {
  digests_.stop();
  digests_.join();
}

void NodeCheckpoints::BeginView(Epoch epoch, std::map<int, uint64_t> worker_of_rank, int copies) {
  epoch_ = epoch;
  copies_ = copies;
  ranks_.clear();
  for (const auto& [rank, worker] : worker_of_rank) ranks_[rank].worker = worker;
}

void NodeCheckpoints::EndView() { ranks_.clear(); }

void NodeCheckpoints::ForgetWorker(uint64_t worker) {
  rooms_.erase(worker);
  layouts_.erase(worker);
}

absl::Status NodeCheckpoints::FromWorker(uint64_t worker, absl::string_view payload) {
  PHX_ASSIGN_OR_RETURN(const checkpoint::Message message, checkpoint::Decode(payload));
  const auto place = std::find_if(ranks_.begin(), ranks_.end(),
                                  [&](const auto& entry) { return entry.second.worker == worker; });
  if (place == ranks_.end()) return absl::InvalidArgumentError("it has no rank to save");
  const int rank = place->first;
  if (const auto* state = std::get_if<checkpoint::DescribeState>(&message)) {
    return OnDescribeState(worker, *state);
  }
  if (const auto* open = std::get_if<checkpoint::OpenRooms>(&message)) {
    return OnOpenRooms(worker, *open);
  }
  if (const auto* reached = std::get_if<checkpoint::Reached>(&message)) {
    return OnReached(rank, *reached);
  }
  if (const auto* taken = std::get_if<checkpoint::Taken>(&message)) return OnTaken(rank, *taken);
  if (const auto* loaded = std::get_if<checkpoint::Loaded>(&message)) {
    return OnLoaded(rank, *loaded);
  }
  if (!std::holds_alternative<checkpoint::AwaitsState>(message)) {
    return absl::InvalidArgumentError("it sent what only others say about checkpoints");
  }
  place->second.awaits_state = true;
  SendLoad(rank);
  return absl::OkStatus();
}

absl::Status NodeCheckpoints::OnOpenRooms(uint64_t worker, const checkpoint::OpenRooms& open) {
  if (rooms_.count(worker) > 0) return absl::InvalidArgumentError("it opened its rooms twice");
  std::vector<SharedFd> fds;
  PHX_ASSIGN_OR_RETURN(const std::shared_ptr<const StateLayout> layout,
                       TakeLayout(worker, open.bytes));
  const auto refuse = [&](const absl::Status& status) {
    logger_.Warning(std::string(status.message()));
    rooms_.erase(worker);
    handlers_.to_worker(worker, checkpoint::Rooms{0}, {});
    return absl::OkStatus();
  };
  if (const absl::Status enough = CheckMemory(open.bytes); !enough.ok()) return refuse(enough);
  Rooms& rooms = rooms_[worker];
  for (size_t i = 0; i < room_count(); ++i) {
    auto memory = SnapshotMemory::Create(open.bytes);
    if (!memory.ok()) return refuse(memory.status());
    fds.push_back((*memory)->fd());
    rooms.push_back(std::make_shared<Room>(
        Room{*std::move(memory), std::nullopt, std::nullopt, false, layout}));
  }
  const auto count = static_cast<uint32_t>(fds.size());
  handlers_.to_worker(worker, checkpoint::Rooms{count}, std::move(fds));
  return absl::OkStatus();
}

absl::Status NodeCheckpoints::OnReached(int rank, const checkpoint::Reached& reached) {
  LocalRank& local = ranks_.at(rank);
  if (rooms_.count(local.worker) == 0) {
    return absl::InvalidArgumentError("it saves without a room");
  }
  local.reached = reached.version;
  if (holder_.VerdictOn(NameOf(reached.version)) == checkpoint::Holder::Verdict::kUndecided) {
    handlers_.to_coordinator(checkpoint::Wants{rank, NameOf(reached.version)});
  }
  GiveVerdict(rank);
  return absl::OkStatus();
}

void NodeCheckpoints::GiveVerdict(int rank) {
  LocalRank& local = ranks_.at(rank);
  if (!local.reached.has_value()) return;
  const checkpoint::VersionName name = NameOf(*local.reached);
  checkpoint::Verdict verdict{name.version, -1};
  switch (holder_.VerdictOn(name)) {
    case checkpoint::Holder::Verdict::kUndecided:
      return;
    case checkpoint::Holder::Verdict::kSkip:
      break;
    case checkpoint::Holder::Verdict::kTake: {
      const Rooms& rooms = rooms_[local.worker];
      const auto room = std::find_if(rooms.begin(), rooms.end(), [](const auto& candidate) {
        return !candidate->holds.has_value() && !candidate->is_read;
      });
      // There are as many rooms as versions that the coordinator lets be at once.
      if (room == rooms.end()) return;
      (*room)->holds = name;
      (*room)->digest.reset();
      shards_[{name, rank}] = *room;
      verdict.room = static_cast<int>(room - rooms.begin());
      break;
    }
  }
  local.reached.reset();
  handlers_.to_worker(local.worker, verdict, {});
}

absl::Status NodeCheckpoints::OnTaken(int rank, const checkpoint::Taken& taken) {
  const checkpoint::VersionName name = NameOf(taken.version);
  // Freed meanwhile: nobody needs it any more.
  if (shards_.count({name, rank}) == 0) return absl::OkStatus();
  Step(checkpoint::ShardBegins{name, rank, 1, std::nullopt});
  Step(checkpoint::ChunkArrived{name, rank, 0, true});
  return absl::OkStatus();
}

absl::Status NodeCheckpoints::OnLoaded(int rank, const checkpoint::Loaded& loaded) {
  const LocalRank& local = ranks_.at(rank);
  if (!local.fetch.has_value() || local.fetch->round != loaded.round || !local.load_sent) {
    return absl::OkStatus();  // it was told of another one since
  }
  if (loaded.result != checkpoint::LoadResult::kCorrupt) {
    EndFetch(rank, loaded.result);
    return absl::OkStatus();
  }
  switch (local.fetch->source.kind) {
    case checkpoint::Source::Kind::kLocal:
      Step(checkpoint::ShardIsBad{local.fetch->name, rank});
      EndFetch(rank, checkpoint::LoadResult::kCorrupt);
      break;
    case checkpoint::Source::Kind::kReplica:
      // Good when it came, and bad here: the one that it came from is asked again.
      Step(checkpoint::ShardIsBad{local.fetch->name, rank});
      EndFetch(rank, checkpoint::LoadResult::kNoAnswer);
      break;
    case checkpoint::Source::Kind::kInitial:
    case checkpoint::Source::Kind::kPersistent:
      // A copy of ours, if there is one, has no part in it.
      EndFetch(rank, checkpoint::LoadResult::kCorrupt);
      break;
  }
  return absl::OkStatus();
}

absl::Status NodeCheckpoints::FromCoordinator(absl::string_view payload) {
  PHX_ASSIGN_OR_RETURN(const checkpoint::Message message, checkpoint::Decode(payload));
  if (const auto* ask = std::get_if<checkpoint::Ask>(&message)) {
    Step(*ask);
  } else if (const auto* orders = std::get_if<checkpoint::Orders>(&message)) {
    Step(*orders);
    for (const auto& [rank, local] : ranks_) GiveVerdict(rank);
  } else if (const auto* fetch = std::get_if<checkpoint::Fetch>(&message)) {
    OnFetch(*fetch);
  } else if (const auto* restored = std::get_if<checkpoint::Restored>(&message)) {
    OnRestored(*restored);
  } else if (const auto* peer = std::get_if<checkpoint::PeerAddress>(&message)) {
    replicas_.Learn(*peer);
  } else if (const auto* copy = std::get_if<checkpoint::Copy>(&message)) {
    OnCopy(*copy);
  } else if (const auto* persist = std::get_if<checkpoint::Persist>(&message)) {
    OnPersist(*persist);
  } else if (tier_ == nullptr || !tier_->FromCoordinator(message)) {
    return absl::InvalidArgumentError("the coordinator sent what only others say of checkpoints");
  }
  return absl::OkStatus();
}

void NodeCheckpoints::OnFetch(const checkpoint::Fetch& fetch) {
  const auto local = ranks_.find(fetch.rank);
  if (local == ranks_.end()) return;
  local->second.fetch = fetch;
  local->second.load_sent = false;
  local->second.load_bytes = 0;
  // Not only when the rank awaits it: its links may take longer than this.
  const bool is_replica = fetch.source.kind == checkpoint::Source::Kind::kReplica;
  if (is_replica && !holder_.Has(fetch.name, fetch.rank)) replicas_.Fetch(fetch);
  SendLoad(fetch.rank);
}

void NodeCheckpoints::SendLoad(int rank) {
  LocalRank& local = ranks_.at(rank);
  if (!local.awaits_state || !local.fetch.has_value() || local.load_sent) return;
  const checkpoint::Fetch& fetch = *local.fetch;
  checkpoint::Load load{fetch.name, fetch.digest, fetch.round, 0, false};
  switch (fetch.source.kind) {
    case checkpoint::Source::Kind::kInitial:
      load.is_initial = true;
      local.load_sent = true;
      handlers_.to_worker(local.worker, load, {});
      return;
    case checkpoint::Source::Kind::kLocal:
      break;
    case checkpoint::Source::Kind::kReplica:
      if (!holder_.Has(fetch.name, rank)) return;  // it is on its way
      break;
    case checkpoint::Source::Kind::kPersistent:
      return ReadFiles(rank);
  }
  const auto shard = shards_.find({fetch.name, rank});
  if (shard == shards_.end()) return EndFetch(rank, checkpoint::LoadResult::kNoAnswer);
  absl::StatusOr<SharedFd> fd = shard->second->memory->ForReading();
  if (!fd.ok()) {
    logger_.Warning(std::string(fd.status().message()));
    return EndFetch(rank, checkpoint::LoadResult::kNoAnswer);
  }
  load.bytes = shard->second->memory->bytes();
  local.load_bytes = load.bytes;
  local.load_sent = true;
  handlers_.to_worker(local.worker, load, {*std::move(fd)});
}

void NodeCheckpoints::EndFetch(int rank, checkpoint::LoadResult result) {
  LocalRank& local = ranks_.at(rank);
  const checkpoint::Fetch fetch = *local.fetch;
  local.fetch.reset();
  handlers_.to_coordinator(
      checkpoint::FetchEnded{rank, fetch.name, fetch.source, result, local.load_bytes});
}

void NodeCheckpoints::OnRestored(const checkpoint::Restored& restored) {
  for (auto& [rank, local] : ranks_) {
    local.fetch.reset();
    local.awaits_state = false;
    handlers_.to_worker(local.worker, restored, {});
  }
}

void NodeCheckpoints::Step(const checkpoint::HolderInput& input) {
  for (const checkpoint::HolderOutput& output : holder_.Step(input)) {
    if (const auto* stored = std::get_if<checkpoint::Stored>(&output)) {
      const ShardKey key{stored->shard.name, stored->shard.rank};
      shards_.at(key)->digest = stored->shard.digest;
      replicas_.Offer(key, shards_.at(key)->memory);
      handlers_.to_coordinator(*stored);
    } else if (const auto* inventory = std::get_if<checkpoint::Inventory>(&output)) {
      handlers_.to_coordinator(*inventory);
    } else if (const auto* digest = std::get_if<checkpoint::DigestShard>(&output)) {
      ComputeDigest({digest->name, digest->rank});
    } else if (const auto* release = std::get_if<checkpoint::Release>(&output)) {
      Release(release->name);
    } else if (const auto* bad = std::get_if<checkpoint::CopyIsBad>(&output)) {
      replicas_.Withdraw({bad->name, bad->rank});
      handlers_.to_coordinator(*bad);
    }
    // Chunks come whole, and what is refused is late.
  }
}

// Reading a shard once takes as long as copying it: not on this thread.
void NodeCheckpoints::ComputeDigest(const ShardKey& key) {
  const auto shard = shards_.find(key);
  if (shard == shards_.end()) return;
  if (const auto known = shard->second->digest; known.has_value()) {
    return Step(checkpoint::ShardDigested{key.first, key.second, *known});
  }
  asio::post(digests_, [this, key, memory = shard->second->memory] {
    const checkpoint::Digest digest = memory->ComputeDigest();
    asio::post(context_, [this, key, digest] {
      Step(checkpoint::ShardDigested{key.first, key.second, digest});
    });
  });
}

void NodeCheckpoints::FlipBit(int rank) {
  for (const auto& [key, room] : shards_) {
    if (key.second != rank || !room->digest.has_value()) continue;
    const absl::Status flipped = room->memory->FlipBit();
    logger_.Warning(
        absl::StrCat("a bit of the copy of rank ", rank, " of ", Describe(key.first),
                     flipped.ok() ? " is flipped" : " can't be flipped: ", flipped.message()));
  }
}

void NodeCheckpoints::Release(const checkpoint::VersionName& name) {
  for (auto shard = shards_.begin(); shard != shards_.end();) {
    if (shard->first.first != name) {
      ++shard;
      continue;
    }
    replicas_.Withdraw(shard->first);
    shard->second->holds.reset();
    shard = shards_.erase(shard);
  }
}

}  // namespace phalanx::control
