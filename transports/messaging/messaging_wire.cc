#include "messaging/messaging_wire.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::messaging {
namespace {

using std::chrono::milliseconds;

// Hellos of peers to whom we haven't connected: one per rank in a sane job.
constexpr size_t kMaxEarlyHellos = 16 * 1024;
constexpr milliseconds kAbortBound{900};
constexpr milliseconds kFlushBound{200};

spi::Label LabelOf(const FrameHeader& header) {
  return {spi::MessageTag{header.value, header.space}, header.check};
}

std::mt19937_64 SeededFromTheSystem() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

}  // namespace

// A handle: what lies behind it belongs to the wire, which outlives it.
class MessagingWire::MessagingLink final : public spi::Link {
 public:
  MessagingLink(MessagingWire* wire, LinkCore* core) : wire_(wire), core_(core) {}

  void Send(const spi::Label& label, absl::Span<const std::byte> bytes,
            spi::Transfer* transfer) override {
    {
      std::lock_guard<std::mutex> lock(wire_->mutex_);
      core_->Send(label, bytes, transfer);
    }
    wire_->waiter_.Kick();  // a parked thread must look again: the fabric was armed before this
  }

  void Receive(const spi::Label& label, absl::Span<std::byte> bytes,
               spi::Transfer* transfer) override {
    {
      std::lock_guard<std::mutex> lock(wire_->mutex_);
      core_->Receive(label, bytes, transfer);
    }
    wire_->waiter_.Kick();
  }

 private:
  MessagingWire* const wire_;
  LinkCore* const core_;
};

MessagingWire::MessagingWire(std::unique_ptr<Fabric> fabric, Logger logger)
    : fabric_(std::move(fabric)), logger_(std::move(logger)), keys_(SeededFromTheSystem()) {}

MessagingWire::~MessagingWire() {
  if (ended_.ok()) Abort(absl::CancelledError("the wire was destroyed before Close()"));
}

void MessagingWire::SetIdentity(const spi::Identity& identity) {
  std::lock_guard<std::mutex> lock(mutex_);
  PHX_CHECK_MSG(!identity_.has_value(), "SetIdentity() is called once");
  identity_ = identity;
}

absl::StatusOr<std::unique_ptr<spi::Link>> MessagingWire::Connect(const spi::PeerIdentity& peer,
                                                                  const std::string& address) {
  std::unique_ptr<spi::Link> link;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!ended_.ok()) return ended_;
    if (!identity_.has_value()) {
      return absl::FailedPreconditionError("Connect() comes after SetIdentity()");
    }
    if (peer.rank == identity_->rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", peer.rank, " can't have a link to itself"));
    }
    if (connections_.contains(peer.rank)) {
      return absl::AlreadyExistsError(
          absl::StrCat("there is a link to rank ", peer.rank, " already"));
    }
    absl::Status why;
    FabricPeer* const way = fabric_->Open(peer.rank, address, &why);
    if (way == nullptr) return why;
    const uint64_t key = keys_();
    auto owned = std::make_unique<Connection>(peer, key, way, fabric_->eager_bytes());
    Connection& connection = *owned;
    connections_.emplace(peer.rank, std::move(owned));
    by_key_.emplace(key, &connection);
    by_peer_.emplace(way, &connection);

    const HelloPayload hello = MakeHello(*identity_, peer, key);
    FrameHeader header;
    header.kind = static_cast<uint8_t>(FrameKind::kHello);
    way->SendEager(header,
                   absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&hello), sizeof(hello)),
                   nullptr);
    GreetFromEarly(connection);
    link = std::make_unique<MessagingLink>(this, &connection.core);
  }
  waiter_.Kick();
  return link;
}

bool MessagingWire::Progress() {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  return fabric_->Progress(this);
}

void MessagingWire::Wait(Clock::duration timeout) {
  waiter_.Enter();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!fabric_->Arm()) {
      waiter_.Leave();
      return;
    }
  }
  waiter_.Wait(fabric_->event_fd(), timeout);
}

void MessagingWire::Abort(const absl::Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!ended_.ok()) return;
    ended_ = status;
    for (auto& [rank, connection] : connections_) {
      connection->core.Fail(status);
      connection->fabric_peer->Break(status);
    }
    const bool quiet = ProgressUntil(Deadline::After(kAbortBound), [this] { return Quiet(); });
    if (!quiet) logger_.Error(absl::StrCat(fabric_->name(), ": transfers outlived an abort"));
  }
  waiter_.WakeUp();
}

absl::Status MessagingWire::Close(Deadline deadline) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_.ok()) return absl::OkStatus();
  ended_ = absl::FailedPreconditionError("the wire is closed");
  const bool answered = ProgressUntil(deadline, [this] { return SayBye(); });
  // Whoever closes as well waits for an answer of ours that may not have left yet.
  ProgressUntil(Deadline::After(kFlushBound), [this] { return Quiet(); });
  for (auto& [rank, connection] : connections_) Fail(*connection, ended_);
  if (answered) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat(fabric_->name(), ": a peer didn't answer our close by its deadline"));
}

bool MessagingWire::SayBye() {
  bool done = true;
  for (auto& [rank, connection] : connections_) {
    if (!connection->core.open() || !connection->core.status().ok()) continue;
    if (!connection->bye_sent) {
      connection->core.SendControl(FrameKind::kBye);
      connection->bye_sent = true;
    }
    done = done && connection->bye_answered;
  }
  return done;
}

bool MessagingWire::Quiet() const {
  return std::none_of(connections_.begin(), connections_.end(),
                      [](const auto& entry) { return entry.second->fabric_peer->busy(); });
}

template <typename Done>
bool MessagingWire::ProgressUntil(Deadline deadline, Done done) {
  while (!done()) {
    const Clock::time_point now = Clock::now();
    if (deadline.Passed(now)) return false;
    ProgressOrPark(std::min<Clock::duration>(deadline.Left(now), milliseconds(10)));
  }
  return true;
}

void MessagingWire::ProgressOrPark(Clock::duration at_most) {
  if (fabric_->Progress(this) || !fabric_->Arm()) return;
  waiter_.Enter();
  waiter_.Wait(fabric_->event_fd(), at_most);
}

void MessagingWire::Fail(Connection& connection, const absl::Status& status) {
  connection.core.Fail(status);
  connection.fabric_peer->Break(status);
}

MessagingWire::Connection* MessagingWire::Addressee(const FrameHeader& header) {
  const auto found = by_key_.find(header.key);
  if (found == by_key_.end()) {
    logger_.Warning(absl::StrCat(fabric_->name(), ": dropped a frame of an unknown sender"));
    return nullptr;
  }
  Connection* const connection = found->second;
  if (!connection->core.status().ok()) return nullptr;
  if (static_cast<FrameKind>(header.kind) == FrameKind::kWelcome) return connection;
  // It sends after our welcome, which we send after its hello.
  if (!connection->greeted) {
    Fail(*connection, absl::FailedPreconditionError(absl::StrCat(
                          "rank ", connection->peer.rank, " sent a message before its handshake")));
    return nullptr;
  }
  return connection;
}

void MessagingWire::OnFrame(const FrameHeader& header, absl::Span<const std::byte> payload,
                            SourceId source) {
  const auto kind = static_cast<FrameKind>(header.kind);
  if (kind == FrameKind::kHello) return OnHello(payload, source);
  Connection* const connection = Addressee(header);
  if (connection == nullptr) return;
  if (kind == FrameKind::kEager) {
    connection->core.OnEager(LabelOf(header), payload, header.credited != 0);
  } else {
    OnControl(*connection, kind, LabelOf(header).tag);
  }
}

bool MessagingWire::OnBulk(const FrameHeader& header, size_t bytes, BulkId bulk) {
  Connection* const connection = Addressee(header);
  if (connection == nullptr || static_cast<FrameKind>(header.kind) != FrameKind::kBulk) {
    return false;
  }
  return connection->core.OnBulk(LabelOf(header), bytes, bulk, header.credited != 0);
}

void MessagingWire::OnControl(Connection& connection, FrameKind kind,
                              const spi::MessageTag& value) {
  if (kind == FrameKind::kBye) {
    connection.peer_closed = true;
    connection.core.SendControl(FrameKind::kByeSeen);
    connection.core.PeerClosed();
  } else if (kind == FrameKind::kWelcome) {
    connection.welcomed = true;
    if (connection.greeted && !connection.core.open()) connection.core.Open();
  } else if (kind == FrameKind::kByeSeen) {
    connection.bye_answered = true;
  } else {
    connection.core.OnControl(kind, value);
    // Ours in flight end with it; the peer sees the connection end and does the same.
    if (kind == FrameKind::kRefused) Fail(connection, connection.core.status());
  }
}

void MessagingWire::OnBroken(FabricPeer* peer, const absl::Status& status) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return;
  Connection& connection = *found->second;
  connection.bye_answered = true;  // nobody is left to answer
  if (connection.peer_closed) {
    connection.fabric_peer->Break(status);  // messages that arrived before stay receivable
  } else {
    if (connection.core.status().ok()) logger_.Warning(std::string(status.message()));
    Fail(connection, status);
  }
}

void MessagingWire::OnHello(absl::Span<const std::byte> payload, SourceId source) {
  const std::optional<HelloPayload> hello = ParseHello(payload);
  if (!hello.has_value()) {
    logger_.Warning(absl::StrCat(fabric_->name(), ": dropped a malformed handshake"));
    return;
  }
  const auto found = connections_.find(hello->rank);
  if (found != connections_.end()) return Greet(*found->second, {*hello, source});
  if (early_.size() == kMaxEarlyHellos) early_.pop_front();
  early_.push_back({*hello, source});
}

void MessagingWire::GreetFromEarly(Connection& connection) {
  const auto is_of_peer = [&](const EarlyHello& early) {
    return early.hello.rank == connection.peer.rank;
  };
  // A hello of another epoch or incarnation only counts when there is no right one beside it.
  auto chosen = early_.end();
  for (auto it = early_.begin(); it != early_.end(); ++it) {
    if (!is_of_peer(*it)) continue;
    chosen = it;
    if (CheckHello(*identity_, connection.peer, it->hello).ok()) break;
  }
  if (chosen == early_.end()) return;
  const EarlyHello early = *chosen;
  early_.erase(std::remove_if(early_.begin(), early_.end(), is_of_peer), early_.end());
  Greet(connection, early);
}

void MessagingWire::Greet(Connection& connection, const EarlyHello& early) {
  if (!connection.core.status().ok()) return;
  if (connection.greeted) {
    logger_.Warning(absl::StrCat(fabric_->name(), ": dropped a second handshake of rank ",
                                 connection.peer.rank));
    return;
  }
  const absl::Status checked = CheckHello(*identity_, connection.peer, early.hello);
  if (!checked.ok()) return Fail(connection, checked);
  connection.fabric_peer->BindSource(early.source);
  connection.core.SetKey(early.hello.key);
  connection.core.SendControl(FrameKind::kWelcome);
  connection.greeted = true;
  if (connection.welcomed) connection.core.Open();
}

}  // namespace phalanx::messaging
