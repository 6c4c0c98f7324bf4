#include "node_replicas.h"

#include <asio/post.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {

absl::Status NodeReplicas::Open(const PeerLinks::Settings& settings) {
  PHX_ASSIGN_OR_RETURN(links_,
                       PeerLinks::Create(context_, settings, {.doubt = handlers_.doubt}, logger_));
  return absl::OkStatus();
}

Endpoint NodeReplicas::Listen(const std::string& address) {
  if (endpoint_.port != 0) return endpoint_;
  const absl::StatusOr<Endpoint> endpoint = links_->Listen(address);
  if (endpoint.ok()) {
    endpoint_ = *endpoint;
  } else {
    logger_.Warning(
        absl::StrCat("no agent can copy this one's checkpoints: ", endpoint.status().message()));
  }
  return endpoint_;
}

void NodeReplicas::Learn(const checkpoint::PeerAddress& peer) {
  addresses_[peer.agent] = {peer.host, peer.port};
}

void NodeReplicas::Copy(const checkpoint::Copy& copy) {
  const ShardKey key{copy.name, copy.rank};
  Begin(key, {key, copy.from, copy.digest, /*is_ordered=*/true, {}}, /*urgent=*/false);
}

void NodeReplicas::Fetch(const checkpoint::Fetch& fetch) {
  const ShardKey key{fetch.name, fetch.rank};
  Begin(key, {key, fetch.source.agent, fetch.digest, /*is_ordered=*/false, {}}, /*urgent=*/true);
}

void NodeReplicas::Begin(const ShardKey& key, Pulled pulled, bool urgent) {
  const auto [found, is_new] = under_way_.emplace(key, pulled);
  if (!is_new) {
    found->second.is_ordered = found->second.is_ordered || pulled.is_ordered;
    if (urgent) links_->Hurry(key);
    return;
  }
  const auto done = [this, key](PullEnd end) {
    auto node = under_way_.extract(key);
    node.mapped().end = std::move(end);
    handlers_.pulled(node.mapped());
  };
  const auto peer = addresses_.find(pulled.from);
  if (peer == addresses_.end() || peer->second.port == 0) {
    // As if it had been asked: handlers are called later.
    asio::post(context_, [done] { done({}); });
    return;
  }
  links_->Pull(key, peer->second, pulled.digest, urgent, done);
}

}  // namespace phalanx::control
