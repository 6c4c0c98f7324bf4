// What this agent copies from others: which shard from whom, and who is told of it.
#ifndef PHALANX_CONTROL_AGENT_NODE_REPLICAS_H_
#define PHALANX_CONTROL_AGENT_NODE_REPLICAS_H_

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/logger.h"
#include "checkpoint_wire/codec.h"
#include "control_protocol/endpoint.h"
#include "peer_links.h"
#include "shard_shelf.h"

namespace phalanx::control {

// How a copy ended.
struct Pulled {
  ShardKey key;
  checkpoint::AgentId from = 0;
  checkpoint::Digest digest;
  bool is_ordered = false;  // by a Copy; else a rank here waits for it, and maybe as well
  PullEnd end;
};

// On the agent's thread only.
class NodeReplicas {
 public:
  struct Handlers {
    std::function<void(const Pulled&)> pulled;   // later, once for each key that was begun
    std::function<void(const ShardKey&)> doubt;  // see PeerLinks
  };

  NodeReplicas(asio::io_context& context, Handlers handlers, Logger logger)
      : context_(context), handlers_(std::move(handlers)), logger_(std::move(logger)) {}

  // Before everything else.
  absl::Status Open(const PeerLinks::Settings& settings);
  // Where other agents reach this one, at that address; the same when it is called again. Port 0:
  // nowhere, as the log says.
  Endpoint Listen(const std::string& address);

  void Learn(const checkpoint::PeerAddress& peer);
  // In the background.
  void Copy(const checkpoint::Copy& copy);
  // A rank of this node waits for it. One copy of a shard at a time: if one is on its way from
  // another agent, that one is waited for.
  void Fetch(const checkpoint::Fetch& fetch);

  // See PeerLinks.
  void Probe(const Endpoint& peer, Clock::duration wait, std::function<void(bool)> done) {
    links_->Probe(peer, wait, std::move(done));
  }

  // What others may read.
  void Offer(const ShardKey& key, std::shared_ptr<const SnapshotMemory> memory) {
    links_->shelf().Put(key, std::move(memory));
  }
  void Withdraw(const ShardKey& key) { links_->shelf().Remove(key); }

 private:
  void Begin(const ShardKey& key, Pulled pulled, bool urgent);

  asio::io_context& context_;
  const Handlers handlers_;
  const Logger logger_;
  Endpoint endpoint_;
  std::map<checkpoint::AgentId, Endpoint> addresses_;
  std::map<ShardKey, Pulled> under_way_;
  std::unique_ptr<PeerLinks> links_;  // last: its handlers use the above
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_NODE_REPLICAS_H_
