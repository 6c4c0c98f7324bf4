// Reads shards from one other agent.
#ifndef PHALANX_CONTROL_AGENT_PEER_CLIENT_H_
#define PHALANX_CONTROL_AGENT_PEER_CLIENT_H_

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "checkpoint_digest/digest.h"
#include "checkpoint_wire/codec.h"
#include "control_channel/channel.h"
#include "control_protocol/endpoint.h"
#include "replica_memory.h"
#include "shard_shelf.h"

namespace phalanx::control {

// How reading a shard ended.
struct PullEnd {
  checkpoint::LoadResult result = checkpoint::LoadResult::kNoAnswer;
  std::shared_ptr<const SnapshotMemory> memory;  // if kLoaded: all of it, and it has the digest
};

// On the thread that runs `context`. Made by std::make_shared; lives on while it is connecting or
// connected. One connection, made when it is first needed and kept.
class PeerClient : public std::enable_shared_from_this<PeerClient> {
 public:
  using Done = std::function<void(PullEnd)>;

  // `tls` (of a client) outlives it.
  PeerClient(asio::io_context& context, Endpoint endpoint, TlsContext* tls,
             std::shared_ptr<ReplicaMemory> memory, Logger logger)
      : endpoint_(std::move(endpoint)),
        tls_(tls),
        memory_(std::move(memory)),
        logger_(std::move(logger)),
        resolver_(context),
        socket_(context),
        timer_(context) {}

  // Part by part, a few in advance, into memory of its own. Calls `done` once, later: when a peer
  // hasn't said anything for five seconds at the latest. Of one shard at a time. What isn't
  // `urgent` the peer sends as it finds time.
  void Pull(const ShardKey& key, const checkpoint::Digest& digest, bool urgent, Done done);
  // From now on it is urgent.
  void Hurry(const ShardKey& key);

 private:
  struct Reading {
    checkpoint::Digest digest;  // what it must have
    bool urgent = false;
    Done done;
    std::shared_ptr<SnapshotMemory> memory;  // null: nothing has come
    checkpoint::StreamingDigest so_far;
    uint64_t asked = 0;     // up to there
    uint64_t received = 0;  // up to there
    int damaged = 0;
    bool again = false;  // over a connection that was made for it
  };
  using Readings = std::map<ShardKey, Reading>;

  void Connect();
  void OnConnected();
  void OnMessage(const Message& message);
  void OnPart(const checkpoint::ShardPart& part);
  void OnClosed(const absl::Status& status);
  bool Begin(Reading* reading, uint64_t total);
  void AskForMore(const ShardKey& key, Reading* reading);
  void Finish(Readings::iterator reading);
  void End(Readings::iterator reading, PullEnd end);
  void Say(const checkpoint::Message& message);
  void Watch();

  const Endpoint endpoint_;
  TlsContext* const tls_;
  const std::shared_ptr<ReplicaMemory> memory_;
  const Logger logger_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;  // while connecting or reading
  std::shared_ptr<Channel> channel_;
  bool connecting_ = false;
  Readings readings_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_PEER_CLIENT_H_
