// How agents reach each other's shards: one reads what another one has, as fast as it can take it.
#ifndef PHALANX_CONTROL_AGENT_PEER_LINKS_H_
#define PHALANX_CONTROL_AGENT_PEER_LINKS_H_

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/logger.h"
#include "checkpoint/version.h"
#include "control_channel/job_key.h"
#include "control_channel/tls.h"
#include "control_protocol/endpoint.h"
#include "peer_client.h"
#include "peer_server.h"
#include "replica_memory.h"
#include "shard_shelf.h"

namespace phalanx::control {

// Calls on the agent's thread, and handlers too; the bytes go through a thread of its own, so that
// a large shard delays nothing that the agent has to do for its workers.
//
// A shard is read in parts, each with a checksum, the whole with the digest that it must have. The
// reader asks for each part, a few in advance, so neither side ever queues more than those.
class PeerLinks {
 public:
  struct Settings {
    std::string job;
    JobKey key;
    size_t most_at_once = 2;  // shards, and as many urgent ones; the others wait
    // What it sends of shards that nobody waits for; 0: without limit.
    uint64_t background_bytes_per_second = 0;
  };
  struct Handlers {
    // A peer has read a shard of this agent's and found that it doesn't have its digest.
    std::function<void(const ShardKey& key)> doubt;
  };
  // Called later; with kNoAnswer a few seconds after the peer has become silent at the latest.
  using Done = std::function<void(PullEnd)>;

  // `context` is the agent's; it has stopped before the links are destroyed.
  static absl::StatusOr<std::unique_ptr<PeerLinks>> Create(asio::io_context& context,
                                                           const Settings& settings,
                                                           Handlers handlers, Logger logger);
  ~PeerLinks();  // waits for the thread; what isn't done by then is never told
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  // Where other agents reach this one from now on: at that address of this machine, any free port.
  // Once. Errors as of control::Listen().
  absl::StatusOr<Endpoint> Listen(const std::string& address);

  // What others may read.
  ShardShelf& shelf() { return shelf_; }

  // Urgent ones go before all others and wait for none of them, and no rate limits them. Of each
  // shard one at a time.
  void Pull(const ShardKey& key, const Endpoint& from, const checkpoint::Digest& digest,
            bool urgent, Done done);
  // Whether the agent there answers, for `wait` of time in which this one runs itself; over a
  // connection of its own, so that nothing else that is under way matters. `done` is called later.
  void Probe(const Endpoint& peer, Clock::duration wait, std::function<void(bool)> done);
  // As if it had been urgent from the beginning, whether it waits or is under way.
  void Hurry(const ShardKey& key);

 private:
  struct Waiting {
    ShardKey key;
    Endpoint from;
    checkpoint::Digest digest;
    bool urgent = false;
    Done done;
  };

  struct Active {
    std::shared_ptr<PeerClient> client;
    bool urgent = false;
  };

  PeerLinks(asio::io_context& agent, const Settings& settings, Handlers handlers, Logger logger);
  // On the links' own thread.
  void Enqueue(Waiting waiting);
  void StartSome();
  bool HasPlaceFor(const Waiting& waiting) const;

  asio::io_context& agent_;
  const size_t most_at_once_;
  const Handlers handlers_;
  const Logger logger_;
  ShardShelf shelf_;
  const std::shared_ptr<ReplicaMemory> memory_ = std::make_shared<ReplicaMemory>();
  std::unique_ptr<TlsContext> server_tls_;
  std::unique_ptr<TlsContext> client_tls_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::unique_ptr<PeerServer> server_;
  std::map<std::string, std::shared_ptr<PeerClient>> clients_;  // by endpoint
  std::deque<Waiting> waiting_;
  std::map<ShardKey, Active> active_;
  std::thread thread_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_PEER_LINKS_H_
