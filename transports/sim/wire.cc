#include "wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::sim {
namespace {

// What a posted receive's buffer holds until its message is there: whoever reads early reads this.
constexpr std::byte kUnreceived{0xA5};

void FailSide(Endpoint* endpoint, Side* side, const absl::Status& status) {
  if (side->failure.ok()) side->failure = status;
  for (const auto& message : side->outgoing) {
    if (message->transfer != nullptr) {
      endpoint->finished.emplace_back(std::exchange(message->transfer, nullptr), side->failure);
    }
  }
  side->outgoing.clear();
  for (const auto& [tag, incoming] : side->posted) {
    endpoint->finished.emplace_back(incoming.transfer, side->failure);
  }
  side->posted.clear();
  side->waiting.clear();
}

class WireLink : public spi::Link {
 public:
  WireLink(Core* core, std::shared_ptr<Endpoint> own, std::shared_ptr<Endpoint> peer)
      : core_(core), own_(std::move(own)), peer_(std::move(peer)) {}
  ~WireLink() override {
    const Core::Lock lock(core_->mutex());
    own_->sides.erase(peer_->address);
  }

  void Send(const spi::Label& label, absl::Span<const std::byte> bytes,
            spi::Transfer* transfer) override;
  void Receive(const spi::Label& label, absl::Span<std::byte> bytes,
               spi::Transfer* transfer) override;

  // A connection takes both sides' greeting, each on its way for a while.
  void Connect();

 private:
  using Ends = std::pair<std::shared_ptr<Endpoint>, std::shared_ptr<Endpoint>>;  // from, to

  static std::shared_ptr<Side> SideOf(const Endpoint& own, const Endpoint& peer) {
    const auto found = own.sides.find(peer.address);
    return found == own.sides.end() ? nullptr : found->second;
  }
  static void TryOpen(Core* core, const Ends& ends);
  static void Dispatch(Core* core, const Ends& ends, std::shared_ptr<Outgoing> message);
  static void Arrive(Core* core, const Ends& ends, const std::shared_ptr<Outgoing>& message);
  static void FinishSend(Core* core, Endpoint* sender, Outgoing* message);
  static void Deliver(Core* core, const Ends& ends, const spi::Label& label,
                      const std::vector<std::byte>& bytes, const Incoming& incoming);

  Core* const core_;
  const std::shared_ptr<Endpoint> own_;
  const std::shared_ptr<Endpoint> peer_;
};

absl::Status CheckIdentity(const Endpoint& own, const Endpoint& peer, const Side& side) {
  const spi::Identity& theirs = peer.identity;
  if (own.identity.job_token != theirs.job_token || own.identity.epoch != theirs.epoch ||
      side.expected.rank != theirs.rank || side.expected.incarnation != theirs.incarnation) {
    return absl::FailedPreconditionError(absl::StrCat("rank ", own.identity.rank,
                                                      ": the peer isn't rank ", side.expected.rank,
                                                      " of our job, epoch and incarnation"));
  }
  return absl::OkStatus();
}

void WireLink::Connect() {
  core_->After(core_->Delay(), [core = core_, ends = Ends(own_, peer_)] {
    const std::shared_ptr<Side> side = SideOf(*ends.first, *ends.second);
    if (side == nullptr) return;
    side->hello = true;
    TryOpen(core, ends);
  });
}

void WireLink::TryOpen(Core* core, const Ends& ends) {
  const std::shared_ptr<Side> own = SideOf(*ends.first, *ends.second);
  const std::shared_ptr<Side> peer = SideOf(*ends.second, *ends.first);
  if (own == nullptr || peer == nullptr || !own->hello || !peer->hello) return;
  if (!own->failure.ok() || !peer->failure.ok() || own->open) return;
  const absl::Status own_check = CheckIdentity(*ends.first, *ends.second, *own);
  const absl::Status peer_check = CheckIdentity(*ends.second, *ends.first, *peer);
  if (!own_check.ok() || !peer_check.ok()) {
    FailSide(ends.first.get(), own.get(), own_check.ok() ? peer_check : own_check);
    FailSide(ends.second.get(), peer.get(), peer_check.ok() ? own_check : peer_check);
    return;
  }
  own->open = true;
  peer->open = true;
  for (const auto& message : own->outgoing) Dispatch(core, ends, message);
  for (const auto& message : peer->outgoing) Dispatch(core, Ends(ends.second, ends.first), message);
}

void WireLink::Dispatch(Core* core, const Ends& ends, std::shared_ptr<Outgoing> message) {
  core->After(core->Delay(),
              [core, ends, message = std::move(message)] { Arrive(core, ends, message); });
}

void WireLink::Arrive(Core* core, const Ends& ends, const std::shared_ptr<Outgoing>& message) {
  const std::shared_ptr<Side> side = SideOf(*ends.second, *ends.first);
  if (message->transfer == nullptr || side == nullptr || !side->failure.ok()) return;
  if (core->Dead(ends.first->identity.rank) || core->Dead(ends.second->identity.rank)) return;
  const auto posted = side->posted.find(message->label.tag);
  if (posted != side->posted.end()) {
    const Incoming incoming = posted->second;
    side->posted.erase(posted);
    FinishSend(core, ends.first.get(), message.get());
    Deliver(core, ends, message->label, message->bytes, incoming);
  } else if (side->arrived_bytes + message->bytes.size() <= core->options().unexpected_bytes) {
    FinishSend(core, ends.first.get(), message.get());
    side->arrived_bytes += message->bytes.size();
    side->arrived[message->label.tag] = {message->label.check, message->bytes};
  } else {
    side->waiting[message->label.tag] = message;
  }
}

void WireLink::FinishSend(Core* core, Endpoint* sender, Outgoing* message) {
  if (!message->bytes.empty() &&
      std::memcmp(message->live, message->bytes.data(), message->bytes.size()) != 0) {
    core->Violation(absl::StrCat("rank ", sender->identity.rank,
                                 " changed a send buffer in flight, tag ",
                                 message->label.tag.number));
  }
  sender->finished.emplace_back(std::exchange(message->transfer, nullptr), absl::OkStatus());
  for (auto& [address, side] : sender->sides) {
    side->outgoing.remove_if([message](const auto& other) { return other.get() == message; });
  }
}

void WireLink::Deliver(Core* core, const Ends& ends, const spi::Label& label,
                       const std::vector<std::byte>& bytes, const Incoming& incoming) {
  Endpoint* const receiver = ends.second.get();
  const int rank = receiver->identity.rank;
  if (label.check != incoming.check || bytes.size() != incoming.buffer.size()) {
    const absl::Status status =
        label.check != incoming.check
            ? spi::OtherOperation(ends.first->identity.rank)
            : absl::InvalidArgumentError(absl::StrCat(
                  "rank ", rank, " expects ", incoming.buffer.size(), " bytes of rank ",
                  ends.first->identity.rank, ", which sent ", bytes.size()));
    receiver->finished.emplace_back(incoming.transfer, status);
    if (const auto side = SideOf(*ends.second, *ends.first)) FailSide(receiver, side.get(), status);
    if (const auto side = SideOf(*ends.first, *ends.second)) {
      FailSide(ends.first.get(), side.get(), status);
    }
    return;
  }
  if (std::any_of(incoming.buffer.begin(), incoming.buffer.end(),
                  [](std::byte byte) { return byte != kUnreceived; })) {
    core->Violation(absl::StrCat("rank ", rank, " wrote to the buffer of a posted receive, tag ",
                                 label.tag.number));
  }
  std::copy(bytes.begin(), bytes.end(), incoming.buffer.begin());
  receiver->finished.emplace_back(incoming.transfer, absl::OkStatus());
}

void WireLink::Send(const spi::Label& label, absl::Span<const std::byte> bytes,
                    spi::Transfer* transfer) {
  const Core::Lock lock(core_->mutex());
  transfer->Begin();
  const std::shared_ptr<Side> side = SideOf(*own_, *peer_);
  if (!side->failure.ok()) {
    own_->finished.emplace_back(transfer, side->failure);
    return;
  }
  auto message = std::make_shared<Outgoing>();
  message->label = label;
  message->live = bytes.data();
  message->bytes.assign(bytes.begin(), bytes.end());
  message->transfer = transfer;
  side->outgoing.push_back(message);
  if (side->open) Dispatch(core_, Ends(own_, peer_), std::move(message));
}

void WireLink::Receive(const spi::Label& label, absl::Span<std::byte> bytes,
                       spi::Transfer* transfer) {
  const Core::Lock lock(core_->mutex());
  transfer->Begin();
  const std::shared_ptr<Side> side = SideOf(*own_, *peer_);
  const spi::MessageTag tag = label.tag;
  const Incoming incoming{label.check, bytes, transfer};
  const Ends ends(peer_, own_);
  std::fill(bytes.begin(), bytes.end(), kUnreceived);
  if (const auto arrived = side->arrived.find(tag); arrived != side->arrived.end()) {
    const Arrived message = std::move(arrived->second);
    side->arrived.erase(arrived);
    side->arrived_bytes -= message.bytes.size();
    Deliver(core_, ends, {tag, message.check}, message.bytes, incoming);
  } else if (!side->failure.ok()) {
    own_->finished.emplace_back(transfer, side->failure);
  } else if (const auto waiting = side->waiting.find(tag); waiting != side->waiting.end()) {
    const std::shared_ptr<Outgoing> message = waiting->second;
    side->waiting.erase(waiting);
    side->posted[tag] = incoming;
    Arrive(core_, ends, message);
  } else {
    side->posted[tag] = incoming;
  }
}

class SimWire : public spi::Wire {
 public:
  explicit SimWire(Core* core) : core_(core), endpoint_(core->AddEndpoint()) {}
  ~SimWire() override { Abort(absl::CancelledError("the wire was destroyed")); }

  absl::string_view name() const override { return "sim"; }
  const std::string& address() const override { return endpoint_->address; }
  void SetIdentity(const spi::Identity& identity) override {
    const Core::Lock lock(core_->mutex());
    endpoint_->identity = identity;
    endpoint_->has_identity = true;
  }

  absl::StatusOr<std::unique_ptr<spi::Link>> Connect(const spi::PeerIdentity& peer,
                                                     const std::string& address) override {
    const Core::Lock lock(core_->mutex());
    const std::shared_ptr<Endpoint> found = core_->FindEndpoint(address);
    if (!endpoint_->has_identity) {
      return absl::FailedPreconditionError("Connect() before SetIdentity()");
    }
    if (found == nullptr || found == endpoint_) {
      return absl::InvalidArgumentError(absl::StrCat("no peer has the address '", address, "'"));
    }
    auto side = std::make_shared<Side>();
    side->expected = peer;
    side->failure = endpoint_->ended;
    if (!endpoint_->sides.emplace(address, side).second) {
      return absl::AlreadyExistsError(absl::StrCat("there is a link to rank ", peer.rank));
    }
    auto link = std::make_unique<WireLink>(core_, endpoint_, found);
    link->Connect();
    return link;
  }

  bool Progress() override {
    const Core::Lock lock(core_->mutex());
    return endpoint_->TellFinished();
  }
  void Wait(Clock::duration timeout) override {
    {
      const Core::Lock lock(core_->mutex());
      if (!endpoint_->finished.empty() || std::exchange(woken_, false)) return;
    }
    core_->StepOrWait(timeout);
  }
  void WakeUp() override {
    const Core::Lock lock(core_->mutex());
    woken_ = true;
    core_->Changed();
  }

  void Abort(const absl::Status& status) override {
    const Core::Lock lock(core_->mutex());
    if (endpoint_->ended.ok()) endpoint_->ended = status;
    for (auto& [address, side] : endpoint_->sides) FailSide(endpoint_.get(), side.get(), status);
    endpoint_->TellFinished();
    TellPeers();
  }

  absl::Status Close(Deadline) override {
    Abort(absl::FailedPreconditionError("the wire is closed"));
    return absl::OkStatus();
  }

 private:
  // Whoever still wants something of us hears that we have gone.
  void TellPeers() {
    for (auto& [address, side] : endpoint_->sides) {
      core_->After(core_->Delay(), [core = core_, own = endpoint_, address = address] {
        const std::shared_ptr<Endpoint> peer = core->FindEndpoint(address);
        const auto theirs = peer->sides.find(own->address);
        if (theirs == peer->sides.end()) return;
        FailSide(peer.get(), theirs->second.get(),
                 absl::UnavailableError(
                     absl::StrCat("rank ", own->identity.rank, " has closed its wire")));
      });
    }
  }

  Core* const core_;
  const std::shared_ptr<Endpoint> endpoint_;
  bool woken_ = false;
};

}  // namespace

bool Endpoint::TellFinished() {
  bool any = false;
  while (!finished.empty()) {
    auto [transfer, status] = std::move(finished.front());
    finished.pop_front();
    transfer->Finish(std::move(status));
    any = true;
  }
  return any;
}

void Core::Kill(int rank) {
  dead_.insert(rank);
  After(options_.detection + Delay(), [this, rank] {
    known_dead_.insert(rank);
    for (const auto& [address, endpoint] : endpoints_) {
      if (endpoint->identity.rank != rank) continue;
      for (const auto& [peer_address, side] : endpoint->sides) {
        const std::shared_ptr<Endpoint>& peer = endpoints_[peer_address];
        const auto theirs = peer->sides.find(address);
        if (theirs == peer->sides.end()) continue;
        FailSide(peer.get(), theirs->second.get(),
                 absl::UnavailableError(absl::StrCat("rank ", rank, " is gone")));
      }
    }
  });
}

std::unique_ptr<spi::Wire> OpenWire(Core* core) { return std::make_unique<SimWire>(core); }

}  // namespace phalanx::sim
