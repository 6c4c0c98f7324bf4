// Of the node's part of checkpoints: copies of other agents' shards, and what others say of ours.
#include <asio/post.hpp>
#include <utility>

#include "node_checkpoints.h"

namespace phalanx::control {

using checkpoint::LoadResult;

void NodeCheckpoints::OnCopy(const checkpoint::Copy& copy) {
  const ShardKey key{copy.name, copy.rank};
  if (!holder_.Has(copy.name, copy.rank)) return replicas_.Copy(copy);
  // Said before, but it may not have been heard.
  handlers_.to_coordinator(
      checkpoint::CopyEnded{copy.name, copy.rank, copy.from, LoadResult::kLoaded, 0});
  handlers_.to_coordinator(checkpoint::Stored{0, {copy.name, copy.rank, *shards_.at(key)->digest}});
}

void NodeCheckpoints::FromPeers(const Pulled& pulled) {
  const auto& [name, rank] = pulled.key;
  LoadResult result = pulled.end.result;
  if (pulled.is_ordered) {
    const uint64_t bytes = result == LoadResult::kLoaded ? pulled.end.memory->bytes() : 0;
    handlers_.to_coordinator(checkpoint::CopyEnded{name, rank, pulled.from, result, bytes});
  }
  if (result == LoadResult::kLoaded && !Adopt(pulled)) result = LoadResult::kNoAnswer;
  const auto local = ranks_.find(rank);
  if (local == ranks_.end() || !local->second.fetch.has_value()) return;
  const checkpoint::Fetch fetch = *local->second.fetch;
  const bool waits = fetch.name == name && !local->second.load_sent &&
                     fetch.source.kind == checkpoint::Source::Kind::kReplica;
  if (!waits) return;
  if (result == LoadResult::kLoaded) {
    SendLoad(rank);
  } else if (fetch.source.agent == pulled.from) {
    EndFetch(rank, result);
  } else {
    replicas_.Fetch(fetch);  // it was told of another source since
  }
}

// False: nobody needs it any more.
bool NodeCheckpoints::Adopt(const Pulled& pulled) {
  const auto& [name, rank] = pulled.key;
  if (holder_.Has(name, rank)) return true;
  std::shared_ptr<Room>& room = shards_[pulled.key];
  if (room != nullptr) room->holds.reset();  // what it holds was found corrupt
  room = std::make_shared<Room>(Room{pulled.end.memory, name, pulled.digest, false, nullptr});
  Step(checkpoint::ShardBegins{name, rank, 1, pulled.digest});
  Step(checkpoint::ChunkArrived{name, rank, 0, true});
  if (holder_.Has(name, rank)) return true;
  shards_.erase(pulled.key);
  return false;
}

// Whoever says so may be wrong.
void NodeCheckpoints::OnDoubt(const ShardKey& key) {
  if (!holder_.Has(key.first, key.second) || !doubted_.insert(key).second) return;
  asio::post(digests_, [this, key, room = shards_.at(key)] {
    const checkpoint::Digest digest = room->memory->ComputeDigest();
    asio::post(context_, [this, key, room, digest] { OnChecked(key, room, digest); });
  });
}

void NodeCheckpoints::OnChecked(const ShardKey& key, const std::shared_ptr<Room>& room,
                                const checkpoint::Digest& digest) {
  doubted_.erase(key);
  const auto shard = shards_.find(key);
  if (shard == shards_.end() || shard->second != room || !room->digest.has_value()) return;
  if (*room->digest != digest) {
    Step(checkpoint::ShardIsBad{key.first, key.second});
  } else if (holder_.Has(key.first, key.second)) {
    // The coordinator may believe what was said of it.
    handlers_.to_coordinator(checkpoint::Stored{0, {key.first, key.second, digest}});
  }
}

}  // namespace phalanx::control
