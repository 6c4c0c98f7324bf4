// Point to point: a Wire is one session's endpoint on one vendor's network, a Link its path to one
// peer. Every implementation passes tests/conformance/link_conformance.h.
#ifndef PHALANX_SPI_LINK_H_
#define PHALANX_SPI_LINK_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/logger.h"
#include "spi/transfer.h"

namespace phalanx::spi {

// Names a message between two members. Chosen by the engine, equal on both sides, never used for
// two messages in flight in the same direction of one link. All 128 bits belong to the engine.
struct MessageTag {
  uint64_t number = 0;
  // Numbers of different spaces are different names: a hash, where there is no room for one in
  // `number` that could be trusted.
  uint64_t space = 0;

  auto operator<=>(const MessageTag&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const MessageTag& tag) {
    return H::combine(std::move(state), tag.number, tag.space);
  }
};

// What a message is sent and received as.
struct Label {
  Label(uint64_t number) : tag{number, 0} {}  // implicit: most tags are a number
  Label(const MessageTag& message_tag, uint32_t message_check)
      : tag(message_tag), check(message_check) {}

  MessageTag tag;
  // What the message is part of, as the sender sees it. A receive that has another check than the
  // message of its tag is refused.
  uint32_t check = 0;
};

// What a wire proves in its handshake and demands of its peers.
struct Identity {
  uint64_t job_token = 0;  // shared secret of the job's data links, from the control plane
  Epoch epoch;
  int rank = -1;
  Incarnation incarnation;
};

struct PeerIdentity {
  int rank = -1;
  Incarnation incarnation;
};

// The status of a receive whose check isn't the message's.
absl::Status OtherOperation(int peer);

// A path to one peer. Thread-safe. Destroying a link abandons nothing: the caller destroys it only
// when none of its transfers is in flight (Wire::Abort ends them).
//
// Messages with different tags may overtake each other; each is matched by its tag alone, whether
// the send or the receive is posted first. A sender that runs ahead of its receiver occupies a
// bounded amount of the receiver's memory (credits); beyond that its sends stay in flight.
class Link {
 public:
  virtual ~Link() = default;

  // Starts sending `bytes` (any length, zero included). Returns at once; never fails by itself:
  // what goes wrong is told through `transfer`, with one of:
  //   UNAVAILABLE          the peer is gone; names its rank
  //   FAILED_PRECONDITION  the handshake found another epoch, incarnation or job
  //   INVALID_ARGUMENT     (receive) the message's check isn't the label's, or its length isn't
  //                        bytes.size(); nothing is written
  //   the status given to Wire::Abort
  // After any of these the link is dead and further transfers end the same way.
  virtual void Send(const Label& label, absl::Span<const std::byte> bytes, Transfer* transfer) = 0;

  // Starts receiving the message of that tag into `bytes`, which has exactly its length.
  virtual void Receive(const Label& label, absl::Span<std::byte> bytes, Transfer* transfer) = 0;
};

// A session's endpoint. Thread-safe: it has one lock of its own.
class Wire {
 public:
  virtual ~Wire() = default;

  // "shm", "ucx", "ofi", "sim".
  virtual absl::string_view name() const = 0;

  // Opaque bytes by which peers reach this endpoint; at most 1,024. Known from construction on and
  // handed to the peers by the control plane.
  virtual const std::string& address() const = 0;

  // Sets who we are. Called once, when the view is known, before the first Connect(). Peers may
  // have begun to connect before; a wire keeps them waiting until then.
  virtual void SetIdentity(const Identity& identity) = 0;

  // The path to `peer`, who calls Connect() for us as well, perhaps much later. Returns at once;
  // connecting and the handshake (both sides' job token, epoch, rank and incarnation) go on during
  // Progress(). At most one link per peer and wire. The wire outlives its links.
  virtual absl::StatusOr<std::unique_ptr<Link>> Connect(const PeerIdentity& peer,
                                                        const std::string& address) = 0;

  // Moves messages without blocking. True if anything moved. When another thread is inside, it
  // returns false at once: that thread does the work, and listeners tell.
  virtual bool Progress() = 0;

  // Blocks until Progress() would have something to do, WakeUp() is called, or `timeout` passes.
  // Spurious returns are allowed.
  virtual void Wait(Clock::duration timeout) = 0;

  // Makes a Wait() in another thread return, or the next one return at once. Takes no lock.
  virtual void WakeUp() = 0;

  // Ends every transfer in flight, and every later one, with `status`; no buffer is touched once it
  // has returned. Bounded (1 s) even when a peer is frozen. Idempotent; the first status stays.
  virtual void Abort(const absl::Status& status) = 0;

  // Orderly end: sends already finished reach their peers, peers see an end that isn't a failure.
  // No transfer may be in flight. Bounded by `deadline`, after which it ends hard.
  virtual absl::Status Close(Deadline deadline) = 0;
};

// What a module (libphalanx_ucx.so, libphalanx_ofi.so) exports under the name
// "phalanx_open_wire". `bind_address` is an IP address or interface; empty means loopback. Returns
// UNIMPLEMENTED with the reason when the machine lacks what the wire needs.
struct WireOptions {
  std::string bind_address;
  Logger logger;
};
using OpenWireFunction = absl::StatusOr<std::unique_ptr<Wire>>(const WireOptions& options);
inline constexpr char kOpenWireSymbol[] = "phalanx_open_wire";

}  // namespace phalanx::spi

#endif  // PHALANX_SPI_LINK_H_
