// One link's bookkeeping: which receive fits which message, and how far a sender may run ahead.
// Pure: it moves bytes only from a frame into a posted buffer, and speaks to the network through a
// FabricPeer. Not thread-safe; its wire's lock covers it.
//
// Credits. Each side may have kWindowBytes of messages at the other that no receive has asked for;
// a message costs kMessageCost plus, if eager, its length. Beyond that, sends queue here and the
// peer is told (kStalled); it then names the receives that it has posted (kWanted), and those
// messages go without credit, since they are consumed on arrival. So a receiver gets any message it
// asks for, in whatever order, and its memory stays bounded.
#ifndef PHALANX_MESSAGING_LINK_CORE_H_
#define PHALANX_MESSAGING_LINK_CORE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "messaging/fabric.h"
#include "spi/link.h"
#include "spi/transfer.h"

namespace phalanx::messaging {

class LinkCore {
 public:
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;
  static constexpr uint64_t kMessageCost = 256;

  // `peer` outlives this. Messages above `eager_bytes` go as bulk.
  LinkCore(int rank, FabricPeer* peer, size_t eager_bytes);

  // The link's calls. Before Open() sends queue.
  void Send(const spi::Label& label, absl::Span<const std::byte> bytes, spi::Transfer* transfer);
  void Receive(const spi::Label& label, absl::Span<std::byte> bytes, spi::Transfer* transfer);

  void SetKey(uint64_t key);  // frames to the peer carry it from now on
  void Open();                // the handshake is done, on both sides
  bool open() const { return open_; }

  // What arrives, only while open. OnBulk() is false if the message isn't kept.
  void OnEager(const spi::Label& label, absl::Span<const std::byte> payload, bool credited);
  bool OnBulk(const spi::Label& label, size_t bytes, BulkId bulk, bool credited);
  void OnControl(FrameKind kind, const spi::MessageTag& value);

  // Ends what is held here (transfers that the fabric holds are ended by it), and everything later,
  // with `status`. The first end counts.
  void Fail(const absl::Status& status);
  // The peer has ended in order: messages that are here can still be received, nothing else.
  void PeerClosed();

  // OK while the link is alive.
  const absl::Status& status() const { return status_; }

  // `value`: what the kind says, a tag or a number.
  void SendControl(FrameKind kind, const spi::MessageTag& value = {});

 private:
  struct Posted {
    uint32_t check;
    absl::Span<std::byte> bytes;
    spi::Transfer* transfer;
  };
  struct Unexpected {
    uint32_t check = 0;
    size_t bytes = 0;
    bool credited = false;
    bool bulk = false;
    BulkId id = 0;
    std::vector<std::byte> payload;
  };
  struct Queued {
    spi::Label label;
    absl::Span<const std::byte> bytes;
    spi::Transfer* transfer;
  };

  uint64_t Cost(size_t bytes) const { return kMessageCost + (bytes <= eager_bytes_ ? bytes : 0); }
  void Start(const Queued& message, bool credited);
  void StartQueued();
  void OnWanted(const spi::MessageTag& tag);
  void ReturnCredit(size_t bytes, bool credited);
  // Ends the link if a message hasn't the check or the length of its receive.
  bool Refuse(uint32_t message_check, size_t message_bytes, const Posted& posted);
  bool RefuseDuplicate(const spi::MessageTag& tag);
  void EndRefused(RefusalReason reason, const absl::Status& status);

  const int rank_;
  FabricPeer* const peer_;
  const size_t eager_bytes_;

  absl::Status status_;
  absl::Status closed_;  // not OK once the peer has ended in order
  bool open_ = false;
  uint64_t key_ = 0;

  absl::flat_hash_map<spi::MessageTag, Posted> posted_;
  absl::flat_hash_map<spi::MessageTag, Unexpected> unexpected_;
  uint64_t owed_ = 0;  // credit to give back to the peer
  bool peer_stalled_ = false;

  uint64_t outstanding_ = 0;  // of our window
  std::list<Queued> queue_;
  absl::flat_hash_map<spi::MessageTag, std::list<Queued>::iterator> queued_;
  bool stalled_ = false;
  absl::flat_hash_set<spi::MessageTag> wanted_;  // by the peer, not yet sent; while stalled
};

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_LINK_CORE_H_
