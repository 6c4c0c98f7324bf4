#include "peer_links.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "base/status_macros.h"
#include "control_process/listen.h"
#include "peer_probe.h"

namespace phalanx::control {

PeerLinks::PeerLinks(asio::io_context& agent, const Settings& settings, Handlers handlers,
                     Logger logger)
    : agent_(agent),
      most_at_once_(settings.most_at_once),
      handlers_(std::move(handlers)),
      logger_(std::move(logger)),
      guard_(context_.get_executor()) {}

absl::StatusOr<std::unique_ptr<PeerLinks>> PeerLinks::Create(asio::io_context& context,
                                                             const Settings& settings,
                                                             Handlers handlers, Logger logger) {
  auto links = std::unique_ptr<PeerLinks>(
      new PeerLinks(context, settings, std::move(handlers), std::move(logger)));
  PHX_ASSIGN_OR_RETURN(links->server_tls_,
                       TlsContext::Make(TlsContext::Side::kServer, settings.job, settings.key));
  PHX_ASSIGN_OR_RETURN(links->client_tls_,
                       TlsContext::Make(TlsContext::Side::kClient, settings.job, settings.key));
  PeerLinks* const self = links.get();
  const auto doubt = [self](const ShardKey& key) {
    asio::post(self->agent_, [self, key] { self->handlers_.doubt(key); });
  };
  links->server_ = std::make_unique<PeerServer>(
      links->context_, links->server_tls_.get(), &links->shelf_,
      SendBudget(settings.background_bytes_per_second), doubt, links->logger_);
  links->thread_ = std::thread([self] { self->context_.run(); });
  return links;
}

PeerLinks::~PeerLinks() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<Endpoint> PeerLinks::Listen(const std::string& address) {
  PHX_ASSIGN_OR_RETURN(Listener listener, control::Listen({address, 0}));
  Endpoint endpoint = listener.endpoint;
  asio::post(context_, [this, shared = std::make_shared<Listener>(std::move(listener))] {
    server_->Start(std::move(*shared));
  });
  return endpoint;
}

void PeerLinks::Pull(const ShardKey& key, const Endpoint& from, const checkpoint::Digest& digest,
                     bool urgent, Done done) {
  asio::post(context_, [this, waiting = Waiting{key, from, digest, urgent, std::move(done)}] {
    Enqueue(waiting);
  });
}

void PeerLinks::Probe(const Endpoint& peer, Clock::duration wait, std::function<void(bool)> done) {
  asio::post(context_, [this, peer, wait, done = std::move(done)] {
    std::make_shared<PeerProbe>(context_, client_tls_.get(), [this, done](bool answered) {
      asio::post(agent_, [done, answered] { done(answered); });
    })->Start(peer, wait);
  });
}

void PeerLinks::Hurry(const ShardKey& key) {
  asio::post(context_, [this, key] {
    if (const auto active = active_.find(key); active != active_.end()) {
      active->second.urgent = true;
      active->second.client->Hurry(key);
      return StartSome();
    }
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Waiting& waiting) { return waiting.key == key; });
    if (found == waiting_.end() || found->urgent) return;
    Waiting waiting = std::move(*found);
    waiting_.erase(found);
    waiting.urgent = true;
    Enqueue(std::move(waiting));
  });
}

void PeerLinks::Enqueue(Waiting waiting) {
  const auto place = waiting.urgent
                         ? std::find_if(waiting_.begin(), waiting_.end(),
                                        [](const Waiting& other) { return !other.urgent; })
                         : waiting_.end();
  waiting_.insert(place, std::move(waiting));
  StartSome();
}

bool PeerLinks::HasPlaceFor(const Waiting& waiting) const {
  const auto taken = std::count_if(active_.begin(), active_.end(), [&](const auto& active) {
    return active.second.urgent == waiting.urgent;
  });
  return static_cast<size_t>(taken) < most_at_once_;
}

void PeerLinks::StartSome() {
  for (;;) {
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(),
                     [this](const Waiting& waiting) { return HasPlaceFor(waiting); });
    if (found == waiting_.end()) return;
    const Waiting next = std::move(*found);
    waiting_.erase(found);
    std::shared_ptr<PeerClient>& client = clients_[ToString(next.from)];
    if (client == nullptr) {
      client =
          std::make_shared<PeerClient>(context_, next.from, client_tls_.get(), memory_, logger_);
    }
    active_[next.key] = {client, next.urgent};
    client->Pull(next.key, next.digest, next.urgent, [this, next](PullEnd end) {
      active_.erase(next.key);
      asio::post(agent_, [done = next.done, end = std::move(end)] { done(end); });
      asio::post(context_, [this] { StartSome(); });
    });
  }
}

}  // namespace phalanx::control
