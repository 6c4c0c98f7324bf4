#include "peer_client.h"

#include <algorithm>
#include <asio/connect.hpp>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace phalanx::control {
namespace {

using checkpoint::LoadResult;

constexpr Clock::duration kSilence = std::chrono::seconds(5);
// Asked for in advance: enough to keep a link busy, little enough that what an agent queues for
// its readers stays small.
constexpr uint64_t kWindowBytes = uint64_t{4} * checkpoint::kMostPartBytes;
// Parts of one shard that come damaged.
constexpr int kMostDamaged = 3;

}  // namespace

void PeerClient::Pull(const ShardKey& key, const checkpoint::Digest& digest, bool urgent,
                      Done done) {
  Reading reading;
  reading.digest = digest;
  reading.urgent = urgent;
  reading.done = std::move(done);
  // Else the peer may have closed it long ago: then it is tried once more.
  reading.again = channel_ == nullptr;
  const auto place = readings_.emplace(key, std::move(reading)).first;
  if (channel_ != nullptr) {
    AskForMore(key, &place->second);
    Watch();
  } else if (!connecting_) {
    Connect();
  }
}

void PeerClient::Hurry(const ShardKey& key) {
  const auto place = readings_.find(key);
  if (place == readings_.end() || place->second.urgent) return;
  Reading& reading = place->second;
  reading.urgent = true;
  // What was asked for before may come late, or twice.
  reading.asked = reading.received;
  if (channel_ != nullptr) AskForMore(key, &reading);
}

void PeerClient::Connect() {
  connecting_ = true;
  Watch();
  resolver_.async_resolve(
      endpoint_.host, std::to_string(endpoint_.port),
      [self = shared_from_this()](const asio::error_code& error,
                                  const asio::ip::tcp::resolver::results_type& found) {
        if (!self->connecting_) return;
        if (error) return self->OnClosed(absl::UnavailableError(error.message()));
        asio::async_connect(
            self->socket_, found,
            [self](const asio::error_code& failure, const asio::ip::tcp::endpoint&) {
              if (!self->connecting_) return;
              if (failure) return self->OnClosed(absl::UnavailableError(failure.message()));
              self->OnConnected();
            });
      });
}

void PeerClient::OnConnected() {
  connecting_ = false;
  channel_ = std::make_shared<Channel>(std::move(socket_), tls_);
  const auto tell = [weak = weak_from_this()](auto what) {
    if (const std::shared_ptr<PeerClient> self = weak.lock(); self != nullptr) what(self.get());
  };
  channel_->Start({.opened = {},
                   .message =
                       [tell](const Message& message) {
                         tell([&](PeerClient* client) { client->OnMessage(message); });
                       },
                   .closed =
                       [tell](const absl::Status& status) {
                         tell([&](PeerClient* client) { client->OnClosed(status); });
                       }},
                  kSilence, kMaxWorkerMessageBytes);
  for (auto& [key, reading] : readings_) AskForMore(key, &reading);
}

void PeerClient::Say(const checkpoint::Message& message) {
  channel_->Send(message::Checkpoint{checkpoint::Encode(message), 0});
}

// The first part alone tells how long the shard is.
void PeerClient::AskForMore(const ShardKey& key, Reading* reading) {
  const auto ask = [&] {
    Say(checkpoint::ReadPart{key.first, key.second, reading->asked, checkpoint::kMostPartBytes,
                             reading->urgent});
    reading->asked += checkpoint::kMostPartBytes;
  };
  if (reading->memory == nullptr) return ask();
  while (reading->asked < reading->memory->bytes() &&
         reading->asked - reading->received < kWindowBytes) {
    ask();
  }
}

void PeerClient::OnMessage(const Message& message) {
  const auto* outer = std::get_if<message::Checkpoint>(&message);
  if (outer != nullptr) {
    const absl::StatusOr<checkpoint::Message> inner = checkpoint::Decode(outer->payload);
    if (inner.ok()) {
      if (const auto* part = std::get_if<checkpoint::ShardPart>(&*inner)) return OnPart(*part);
      if (std::holds_alternative<checkpoint::PartsLater>(*inner)) {
        if (!readings_.empty()) Watch();
        return;
      }
      if (const auto* none = std::get_if<checkpoint::NoShard>(&*inner)) {
        const auto reading = readings_.find({none->name, none->rank});
        if (reading != readings_.end()) End(reading, {});
        return;
      }
    }
  }
  channel_->Close(absl::InvalidArgumentError("it sent nonsense"));
}

bool PeerClient::Begin(Reading* reading, uint64_t total) {
  absl::StatusOr<std::shared_ptr<SnapshotMemory>> memory = memory_->Take(total);
  if (!memory.ok()) {
    logger_.Warning(std::string(memory.status().message()));
    return false;
  }
  reading->memory = *std::move(memory);
  return true;
}

void PeerClient::OnPart(const checkpoint::ShardPart& part) {
  const ShardKey key{part.name, part.rank};
  const auto place = readings_.find(key);
  if (place == readings_.end()) return;
  Reading& reading = place->second;
  Watch();
  if (reading.memory == nullptr && !Begin(&reading, part.total)) return End(place, {});
  // After a damaged one those that follow are asked for again, too.
  if (part.offset != reading.received) return;
  const bool intact = checkpoint::Crc32c(part.bytes.data(), part.bytes.size()) == part.crc;
  const uint64_t left = reading.memory->bytes() - reading.received;
  const bool makes_sense =
      part.total == reading.memory->bytes() &&
      part.bytes.size() == std::min<uint64_t>(left, checkpoint::kMostPartBytes);
  if (!makes_sense || (!intact && ++reading.damaged > kMostDamaged)) return End(place, {});
  if (intact) {
    std::byte* const to = reading.memory->data() + reading.received;
    if (!part.bytes.empty()) std::memcpy(to, part.bytes.data(), part.bytes.size());
    // Of what lies here now, not of what came.
    reading.so_far.Add(to, part.bytes.size());
    reading.received += part.bytes.size();
    if (reading.received == part.total) return Finish(place);
    reading.asked = std::max(reading.asked, reading.received);
  } else {
    reading.asked = reading.received;
  }
  AskForMore(key, &reading);
}

void PeerClient::Finish(Readings::iterator reading) {
  if (reading->second.so_far.Value() == reading->second.digest) {
    auto memory = std::exchange(reading->second.memory, nullptr);
    return End(reading, {LoadResult::kLoaded, std::move(memory)});
  }
  Say(checkpoint::CheckShard{reading->first.first, reading->first.second});
  End(reading, {LoadResult::kCorrupt, nullptr});
}

void PeerClient::End(Readings::iterator reading, PullEnd end) {
  const Done done = std::move(reading->second.done);
  readings_.erase(reading);
  if (readings_.empty()) timer_.cancel();
  done(std::move(end));
}

void PeerClient::OnClosed(const absl::Status& status) {
  connecting_ = false;
  channel_.reset();
  timer_.cancel();
  resolver_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
  Readings readings = std::exchange(readings_, {});
  for (auto& [key, reading] : readings) {
    if (reading.again || reading.memory != nullptr) {
      logger_.Warning(absl::StrCat("the agent at ", ToString(endpoint_),
                                   " doesn't give its copy of rank ", key.second, ": ",
                                   status.ok() ? "it closed the connection" : status.message()));
      reading.done({});
    } else {
      Pull(key, reading.digest, reading.urgent, std::move(reading.done));
    }
  }
}

// Each part lets the peer be silent again.
void PeerClient::Watch() {
  timer_.expires_after(kSilence);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    // A part may have come at the same moment.
    if (error || self->readings_.empty() || Clock::now() < self->timer_.expiry()) return;
    const absl::Status status = absl::DeadlineExceededError("it is silent");
    if (self->channel_ != nullptr) {
      self->channel_->Close(status);
    } else {
      self->OnClosed(status);
    }
  });
}

}  // namespace phalanx::control
