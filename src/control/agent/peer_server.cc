#include "peer_server.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "checkpoint_digest/digest.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kHandshakeTimeout = std::chrono::seconds(5);
// More agents than read from one at a time.
constexpr size_t kMostConnections = 1024;
// A peer that asks for more than it reads is not one of ours.
constexpr size_t kMostQueuedBytes = size_t{16} << 20;

}  // namespace

void PeerServer::Start(Listener listener) {
  asio::error_code error;
  const bool is_v6 = listener.endpoint.host.find(':') != std::string::npos;
  acceptor_.assign(is_v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), listener.fd.Release(), error);
  if (error) {
    logger_.Error(absl::StrCat("other agents can't reach this one: ", error.message()));
    return;
  }
  Accept();
}

void PeerServer::Accept() {
  acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      OnAccepted(std::move(socket));
      return Accept();
    }
    logger_.Warning(absl::StrCat("cannot accept another agent: ", error.message()));
    // Out of descriptors, most likely: a moment's pause keeps this from spinning.
    constexpr auto kPause = std::chrono::milliseconds(100);
    pause_.expires_after(kPause);
    pause_.async_wait([this](const asio::error_code& stopped) {
      if (!stopped) Accept();
    });
  });
}

void PeerServer::OnAccepted(asio::ip::tcp::socket socket) {
  if (channels_.size() >= kMostConnections) return;
  const uint64_t id = ++last_id_;
  auto channel = std::make_shared<Channel>(std::move(socket), tls_);
  channels_.emplace(id, channel);
  channel->Start({.opened = {},
                  .message = [this, id](const Message& message) { OnMessage(id, message); },
                  .closed = [this, id](const absl::Status&) { channels_.erase(id); }},
                 kHandshakeTimeout, kMaxHandshakeMessageBytes);
}

void PeerServer::OnMessage(uint64_t id, const Message& message) {
  const std::shared_ptr<Channel> channel = channels_.at(id);
  if (std::holds_alternative<message::Probe>(message)) {
    return channel->Send(message::ProbeAnswer{});
  }
  const auto* outer = std::get_if<message::Checkpoint>(&message);
  if (outer != nullptr) {
    const absl::StatusOr<checkpoint::Message> inner = checkpoint::Decode(outer->payload);
    if (inner.ok()) {
      if (const auto* read = std::get_if<checkpoint::ReadPart>(&*inner)) {
        return Answer(channel.get(), *read);
      }
      if (const auto* check = std::get_if<checkpoint::CheckShard>(&*inner)) {
        return doubt_({check->name, check->rank});
      }
    }
  }
  logger_.Warning(absl::StrCat("dropped an agent at ", channel->peer(), ": it sent nonsense"));
  channel->Close(absl::InvalidArgumentError("it sent nonsense"));
}

void PeerServer::Answer(Channel* channel, const checkpoint::ReadPart& read) {
  if (channel->queued_bytes() > kMostQueuedBytes) {
    return channel->Close(absl::ResourceExhaustedError("it doesn't read what it asks for"));
  }
  const auto say = [&](const checkpoint::Message& message) {
    channel->Send(message::Checkpoint{checkpoint::Encode(message), 0});
  };
  const std::shared_ptr<const SnapshotMemory> memory = shelf_->Find({read.name, read.rank});
  if (memory == nullptr || read.offset > memory->bytes()) {
    return say(checkpoint::NoShard{read.name, read.rank});
  }
  const auto bytes =
      static_cast<size_t>(std::min<uint64_t>(read.bytes, memory->bytes() - read.offset));
  checkpoint::ShardPart part{read.name, read.rank, read.offset, memory->bytes(), 0, {}};
  part.bytes.assign(reinterpret_cast<const char*>(memory->data() + read.offset), bytes);
  part.crc = checkpoint::Crc32c(part.bytes.data(), bytes);
  say(part);
}

}  // namespace phalanx::control
