#include "peer_server.h"

#include <algorithm>
#include <chrono>
#include <set>
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
// And one that asks for so much in advance neither.
constexpr size_t kMostHeld = 65536;
// Well before a reader takes silence for the end.
constexpr Clock::duration kSayHeldEvery = std::chrono::seconds(1);

absl::Status AsksTooMuch() {
  return absl::ResourceExhaustedError("it doesn't read what it asks for");
}

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
        return OnRead(id, *read);
      }
      if (const auto* check = std::get_if<checkpoint::CheckShard>(&*inner)) {
        return doubt_({check->name, check->rank});
      }
    }
  }
  logger_.Warning(absl::StrCat("dropped an agent at ", channel->peer(), ": it sent nonsense"));
  channel->Close(absl::InvalidArgumentError("it sent nonsense"));
}

void PeerServer::OnRead(uint64_t id, const checkpoint::ReadPart& read) {
  const std::shared_ptr<Channel> channel = channels_.at(id);
  if (read.urgent || !budget_.is_limited()) {
    // What it asked for in the background it asks for again.
    std::erase_if(held_, [&](const Held& held) {
      return held.id == id && held.read.name == read.name && held.read.rank == read.rank;
    });
    Answer(channel.get(), read);
    return;
  }
  if (held_.size() >= kMostHeld) return channel->Close(AsksTooMuch());
  if (held_.empty()) say_held_at_ = Clock::now() + kSayHeldEvery;
  held_.push_back({id, read});
  SendHeld();
}

void PeerServer::SendHeld() {
  const Clock::time_point now = Clock::now();
  while (!held_.empty() && budget_.free_at() <= now) {
    const Held next = held_.front();
    held_.pop_front();
    const auto channel = channels_.find(next.id);
    if (channel == channels_.end()) continue;
    // It may close, which takes it out of the map.
    const std::shared_ptr<Channel> open = channel->second;
    budget_.Spend(Answer(open.get(), next.read), now);
  }
  held_timer_.cancel();
  if (held_.empty()) return;
  if (say_held_at_ <= now) SayHeld();
  held_timer_.expires_at(std::min(budget_.free_at(), say_held_at_));
  held_timer_.async_wait([this](const asio::error_code& stopped) {
    if (!stopped) SendHeld();
  });
}

void PeerServer::SayHeld() {
  say_held_at_ = Clock::now() + kSayHeldEvery;
  std::set<uint64_t> waiting;
  for (const Held& held : held_) waiting.insert(held.id);
  for (const uint64_t id : waiting) {
    const auto channel = channels_.find(id);
    if (channel == channels_.end()) continue;
    const std::shared_ptr<Channel> open = channel->second;
    open->Send(message::Checkpoint{checkpoint::Encode(checkpoint::PartsLater{}), 0});
  }
}

size_t PeerServer::Answer(Channel* channel, const checkpoint::ReadPart& read) {
  if (channel->queued_bytes() > kMostQueuedBytes) {
    channel->Close(AsksTooMuch());
    return 0;
  }
  const auto say = [&](const checkpoint::Message& message) {
    channel->Send(message::Checkpoint{checkpoint::Encode(message), 0});
  };
  const std::shared_ptr<const SnapshotMemory> memory = shelf_->Find({read.name, read.rank});
  if (memory == nullptr || read.offset > memory->bytes()) {
    say(checkpoint::NoShard{read.name, read.rank});
    return 0;
  }
  const auto bytes =
      static_cast<size_t>(std::min<uint64_t>(read.bytes, memory->bytes() - read.offset));
  checkpoint::ShardPart part{read.name, read.rank, read.offset, memory->bytes(), 0, {}};
  part.bytes.assign(reinterpret_cast<const char*>(memory->data() + read.offset), bytes);
  part.crc = checkpoint::Crc32c(part.bytes.data(), bytes);
  say(part);
  return bytes;
}

}  // namespace phalanx::control
