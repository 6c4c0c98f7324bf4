// A path to one peer: the handshake, the two halves, and how it ends.
#ifndef PHALANX_SHM_LINK_H_
#define PHALANX_SHM_LINK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "inbox.h"
#include "link_area.h"
#include "outbox.h"
#include "peer_segment.h"
#include "segment.h"
#include "spi/link.h"

namespace phalanx::shm {

// One link's state. Every call is made with the wire's lock held.
class LinkState {
 public:
  struct Options {
    Segment* segment = nullptr;
    Incarnation incarnation;  // of our segment
    LinkArea* own = nullptr;  // announced in our WireArea
    const PeerSegment* peer = nullptr;
    spi::Identity identity;
    spi::PeerIdentity expected;
  };
  explicit LinkState(const Options& options);

  const PeerSegment& peer() const { return *peer_; }

  void Send(const spi::Label& label, absl::Span<const std::byte> bytes, spi::Transfer* transfer);
  void Receive(const spi::Label& label, absl::Span<std::byte> bytes, spi::Transfer* transfer);

  bool Progress(size_t budget);
  bool HasNews() const;
  // No transfer and no later one can do anything but fail.
  bool ended() const { return state_ == State::kEnded; }

  // The peer's process has exited: what it sent in order is still taken.
  void PeerExited();
  // Ends what is in flight and what comes later with `status`, and lets the peer know.
  void Break(const absl::Status& status);
  // Tells the peer that no more will come; what it was sent stays readable.
  void Close();

 private:
  enum class State {
    kHandshake,
    kConnected,
    kPeerClosed,  // only messages that came before the end can still be received
    kEnded,
  };

  absl::StatusOr<bool> TryConnect();
  absl::Status Check(const WireArea& area) const;
  absl::StatusOr<bool> ProgressHalves(size_t budget);
  absl::Status Named(const absl::Status& status) const;
  absl::Status PeerHasClosed() const;
  void End(LinkEnd end);
  void Ring();

  const Options options_;
  const PeerSegment* const peer_;
  LinkArea* const own_;
  const WireArea* wire_area_ = nullptr;  // the peer's, once connected
  const LinkArea* theirs_ = nullptr;
  Outbox outbox_;
  Inbox inbox_;
  State state_ = State::kHandshake;
  absl::Status status_;  // when kEnded
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_LINK_H_
