// The two connections of a peer: ours, by which we send, and the one that it opened.
#ifndef PHALANX_TRANSPORTS_OFI_OFI_PEER_H_
#define PHALANX_TRANSPORTS_OFI_OFI_PEER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ofi_fabric.h"

namespace phalanx::ofi {

// Frames of the fabric itself, beside those of messaging::FrameKind.
inline constexpr uint8_t kClearFrame = 64;   // payload: ClearPayload; write the announced message
inline constexpr uint8_t kLandedFrame = 65;  // value: receiver's number; it is written

// Follows the header of an announced message.
struct AnnouncePayload {
  uint64_t number;  // of the send, at its sender
  uint64_t bytes;
};

struct ClearPayload {
  uint64_t sender_number;
  uint64_t receiver_number;
  uint64_t address;
  uint64_t key;
};

// A connection that a peer has opened to us. Belongs to its fabric.
struct OfiIncoming {
  OfiIncoming(OfiFabric* owner, messaging::SourceId number) : fabric(owner), id(number) {}

  // Posts the receive buffers, once the endpoint is there. False when the endpoint is broken.
  bool Start();
  void Close();  // without waiting; no completion of it counts from now on

  OfiFabric* const fabric;
  const messaging::SourceId id;
  Owned<fid_ep> endpoint;
  OfiPeer* peer = nullptr;  // whose it is, once its hello has been found right
  bool said_hello = false;
  bool lost = false;
  std::vector<std::unique_ptr<OfiOperation>> buffers;
};

class OfiPeer final : public messaging::FabricPeer {
 public:
  OfiPeer(OfiFabric* fabric, int rank);
  ~OfiPeer() override;

  absl::Status Connect(const std::string& address);

  void SendEager(const messaging::FrameHeader& header, absl::Span<const std::byte> payload,
                 spi::Transfer* transfer) override;
  void SendBulk(const messaging::FrameHeader& header, absl::Span<const std::byte> payload,
                spi::Transfer* transfer) override;
  void AcceptBulk(messaging::BulkId bulk, absl::Span<std::byte> destination,
                  spi::Transfer* transfer) override;
  void DropBulk(messaging::BulkId bulk) override;
  void BindSource(messaging::SourceId source) override;
  void Break(const absl::Status& status) override;
  bool busy() const override;

 private:
  friend class OfiFabric;
  class Outgoing;

  struct BulkSend {
    absl::Span<const std::byte> payload;
    spi::Transfer* transfer;
  };
  struct BulkReceive {
    Owned<fid_mr> region;
    spi::Transfer* transfer;
  };

  void OnConnected();
  void Lost(const std::string& reason);
  // What the peer answers, on the connection that is bound to it.
  void OnClear(absl::Span<const std::byte> payload);
  void OnLanded(uint64_t receiver_number);

  Outgoing* NewOutgoing();
  void Enqueue(Outgoing* outgoing);
  bool Flush();  // true if anything was handed over
  // Queued with no completion to come that would tell when to try again.
  bool stuck() const { return connected_ && !queue_.empty() && posted_ == 0; }

  OfiFabric* const fabric_;
  const int rank_;
  Owned<fid_ep> endpoint_;  // null once the peer has ended
  bool connected_ = false;
  OfiIncoming* incoming_ = nullptr;
  absl::Status status_;  // why the peer has ended

  std::vector<std::unique_ptr<Outgoing>> operations_;
  std::vector<Outgoing*> free_operations_;
  std::deque<Outgoing*> queue_;  // not yet handed to libfabric
  int posted_ = 0;               // handed over, completion to come

  uint64_t next_number_ = 1;
  absl::flat_hash_map<uint64_t, BulkSend> bulk_sends_;        // announced, not yet cleared
  absl::flat_hash_map<uint64_t, BulkReceive> bulk_receives_;  // cleared, not yet landed
};

}  // namespace phalanx::ofi

#endif  // PHALANX_TRANSPORTS_OFI_OFI_PEER_H_
