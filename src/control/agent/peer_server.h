// Lets other agents of the job read the shards that this one has, and tells them that it is there.
#ifndef PHALANX_CONTROL_AGENT_PEER_SERVER_H_
#define PHALANX_CONTROL_AGENT_PEER_SERVER_H_

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/logger.h"
#include "checkpoint_wire/codec.h"
#include "control_channel/channel.h"
#include "control_process/listen.h"
#include "shard_shelf.h"

namespace phalanx::control {

// On the thread that runs `context`; that has stopped before the server is destroyed.
class PeerServer {
 public:
  // A peer has read a shard whose bytes don't have their digest.
  using Doubt = std::function<void(const ShardKey& key)>;

  // `tls` (of a server) and `shelf` outlive it.
  PeerServer(asio::io_context& context, TlsContext* tls, const ShardShelf* shelf, Doubt doubt,
             Logger logger)
      : tls_(tls),
        shelf_(shelf),
        doubt_(std::move(doubt)),
        logger_(std::move(logger)),
        acceptor_(context),
        pause_(context) {}

  void Start(Listener listener);

 private:
  void Accept();
  void OnAccepted(asio::ip::tcp::socket socket);
  void OnMessage(uint64_t id, const Message& message);
  void Answer(Channel* channel, const checkpoint::ReadPart& read);

  TlsContext* const tls_;
  const ShardShelf* const shelf_;
  const Doubt doubt_;
  const Logger logger_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::map<uint64_t, std::shared_ptr<Channel>> channels_;
  uint64_t last_id_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_PEER_SERVER_H_
