// What a vendor's network must offer so that MessagingWire makes a Wire of it: frames to a peer,
// and bulk messages whose receiver chooses the place. Until a frame from the peer has answered one
// of ours, frames may overtake each other; from then on they come in order. A fabric is called with
// the wire's lock held, hence never from two threads at once, and calls back only from inside
// Progress().
#ifndef PHALANX_MESSAGING_FABRIC_H_
#define PHALANX_MESSAGING_FABRIC_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "spi/transfer.h"

namespace phalanx::messaging {

enum class FrameKind : uint8_t {
  kHello = 1,     // who I am and whom I expect; payload: HelloPayload
  kEager = 2,     // value, space: tag; payload: the message
  kBulk = 3,      // value, space: tag; announces a message whose bytes come once it is accepted
  kCredit = 4,    // value: bytes of the sender's window that are free again
  kStalled = 5,   // messages wait for credit: tell which ones are wanted most
  kWanted = 6,    // value, space: tag of a posted receive; may be sent without credit
  kFlowing = 7,   // no message waits for credit any more
  kRefused = 8,   // value: a RefusalReason; the link is dead
  kBye = 9,       // orderly end: no message follows
  kByeSeen = 10,  // answers kBye: everything before it has arrived
  kWelcome = 11,  // answers a hello that was found right: send
};

// Why a message was refused.
enum class RefusalReason : uint64_t {
  kLength = 1,     // not its receive's
  kCheck = 2,      // the same
  kDuplicate = 3,  // its tag is taken
};

// Begins every frame. Native byte order: all ranks of a job are machines of one kind.
struct FrameHeader {
  uint8_t kind = 0;
  uint8_t credited = 0;  // 1: counts against the sender's window
  uint8_t reserved[2] = {};
  uint32_t check = 0;  // of a message's label
  uint64_t key = 0;    // what the receiver's hello gave us; 0 in a hello
  uint64_t value = 0;
  uint64_t space = 0;
};
static_assert(sizeof(FrameHeader) == 32 && std::is_trivially_copyable_v<FrameHeader>);
static_assert(std::endian::native == std::endian::little);

// A bulk message that was announced and is neither accepted nor dropped. Opaque; made by a fabric.
using BulkId = uint64_t;
// The connection on which a frame arrived, where the fabric knows it; else 0.
using SourceId = uint64_t;

// The way to one peer. Owned by its fabric, and valid until that is destroyed.
//
// A transfer that is handed over is finished by the fabric exactly once: with OK, or with the
// status of the peer's end (the first of what the fabric found and what Break() was given).
class FabricPeer {
 public:
  virtual ~FabricPeer() = default;

  // Sends a frame with its payload, which is at most Fabric::eager_bytes(). Without a transfer the
  // payload is copied (at most kCopiedBytes).
  virtual void SendEager(const FrameHeader& header, absl::Span<const std::byte> payload,
                         spi::Transfer* transfer) = 0;
  static constexpr size_t kCopiedBytes = 128;

  // Announces `payload` with `header` and sends it once the peer accepts it; the transfer ends OK
  // when the buffer may be reused.
  virtual void SendBulk(const FrameHeader& header, absl::Span<const std::byte> payload,
                        spi::Transfer* transfer) = 0;

  // Lets an announced message come into `destination`, which has its length.
  virtual void AcceptBulk(BulkId bulk, absl::Span<std::byte> destination,
                          spi::Transfer* transfer) = 0;
  virtual void DropBulk(BulkId bulk) = 0;

  // Says that `source` brings this peer's frames: it ends with the peer, and the peer with it.
  virtual void BindSource(SourceId source) = 0;

  // Hard end, without waiting: transfers in flight end with `status` during the next calls of
  // Progress(), and once busy() is false no buffer is touched. Idempotent.
  virtual void Break(const absl::Status& status) = 0;
  virtual bool busy() const = 0;
};

// Told by Fabric::Progress(). The peer and payload pointers are valid during the call.
class FabricEvents {
 public:
  virtual void OnFrame(const FrameHeader& header, absl::Span<const std::byte> payload,
                       SourceId source) = 0;
  // An announced message. True: it will be accepted or dropped through the peer of its link. False:
  // nobody wants it, the fabric forgets it.
  virtual bool OnBulk(const FrameHeader& header, size_t bytes, BulkId bulk) = 0;
  // The peer is gone, or the network to it. `status` is UNAVAILABLE and names the rank.
  virtual void OnBroken(FabricPeer* peer, const absl::Status& status) = 0;

 protected:
  ~FabricEvents() = default;
};

class Fabric {
 public:
  // Hard end for what is still open. Bounded by 1 s.
  virtual ~Fabric() = default;

  virtual const char* name() const = 0;
  virtual const std::string& address() const = 0;  // at most 1,024 bytes
  // Messages up to this size are sent as one frame, larger ones as bulk.
  virtual size_t eager_bytes() const = 0;

  // Begins to connect to rank `rank` at `address`; frames sent meanwhile wait. What fails is told
  // by OnBroken(). Null and a reason when the address can't be used at all.
  virtual FabricPeer* Open(int rank, const std::string& address, absl::Status* why) = 0;

  // Moves what can be moved without blocking; true if anything did.
  virtual bool Progress(FabricEvents* events) = 0;

  // Readable when Progress() would have something to do, provided that Arm() returned true before.
  // Arm() returns false when there is something to do now.
  virtual int event_fd() const = 0;
  virtual bool Arm() = 0;
};

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_FABRIC_H_
