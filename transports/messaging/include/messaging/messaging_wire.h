// A Wire over any Fabric: the lock, the links' handshakes, matching, credits, abort and close. The
// ucx and ofi modules differ in their Fabric alone.
#ifndef PHALANX_MESSAGING_MESSAGING_WIRE_H_
#define PHALANX_MESSAGING_MESSAGING_WIRE_H_

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/logger.h"
#include "messaging/fabric.h"
#include "messaging/hello.h"
#include "messaging/link_core.h"
#include "messaging/waiter.h"
#include "spi/link.h"

namespace phalanx::messaging {

class MessagingWire final : public spi::Wire, private FabricEvents {
 public:
  MessagingWire(std::unique_ptr<Fabric> fabric, Logger logger);
  // Ends hard whatever Close() hasn't ended.
  ~MessagingWire() override;

  absl::string_view name() const override { return fabric_->name(); }
  const std::string& address() const override { return fabric_->address(); }
  void SetIdentity(const spi::Identity& identity) override;
  absl::StatusOr<std::unique_ptr<spi::Link>> Connect(const spi::PeerIdentity& peer,
                                                     const std::string& address) override;
  bool Progress() override;
  void Wait(Clock::duration timeout) override;
  void WakeUp() override { waiter_.WakeUp(); }
  void Abort(const absl::Status& status) override;
  absl::Status Close(Deadline deadline) override;

 private:
  class MessagingLink;

  struct Connection {
    Connection(const spi::PeerIdentity& peer_identity, uint64_t own_key, FabricPeer* way,
               size_t eager_bytes)
        : peer(peer_identity),
          key(own_key),
          fabric_peer(way),
          core(peer_identity.rank, way, eager_bytes) {}

    const spi::PeerIdentity peer;
    const uint64_t key;  // the peer's frames carry it
    FabricPeer* const fabric_peer;
    LinkCore core;
    bool greeted = false;   // its hello was right
    bool welcomed = false;  // it found ours right
    bool bye_sent = false;
    bool bye_answered = false;
    bool peer_closed = false;
  };
  struct EarlyHello {
    HelloPayload hello;
    SourceId source;
  };

  void OnFrame(const FrameHeader& header, absl::Span<const std::byte> payload,
               SourceId source) override;
  bool OnBulk(const FrameHeader& header, size_t bytes, BulkId bulk) override;
  void OnBroken(FabricPeer* peer, const absl::Status& status) override;

  void OnHello(absl::Span<const std::byte> payload, SourceId source);
  // The peer's hello, against what we expect of it.
  void Greet(Connection& connection, const EarlyHello& early);
  void GreetFromEarly(Connection& connection);
  void OnControl(Connection& connection, FrameKind kind, const spi::MessageTag& value);
  void Fail(Connection& connection, const absl::Status& status);
  // The connection that a frame belongs to, if it may be delivered.
  Connection* Addressee(const FrameHeader& header);

  bool SayBye();       // true when all peers that have to have answered
  bool Quiet() const;  // no peer has transfers in flight
  // Progresses with the lock held until `done` or the deadline.
  template <typename Done>
  bool ProgressUntil(Deadline deadline, Done done);
  void ProgressOrPark(Clock::duration at_most);

  const std::unique_ptr<Fabric> fabric_;
  const Logger logger_;
  Waiter waiter_;

  std::mutex mutex_;  // covers all below, and the fabric
  std::mt19937_64 keys_;
  std::optional<spi::Identity> identity_;
  absl::Status ended_;                                      // what Abort() or Close() left behind
  std::map<int, std::unique_ptr<Connection>> connections_;  // by rank
  absl::flat_hash_map<uint64_t, Connection*> by_key_;
  absl::flat_hash_map<FabricPeer*, Connection*> by_peer_;
  std::deque<EarlyHello> early_;  // of peers that we haven't connected to yet
};

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_MESSAGING_WIRE_H_
