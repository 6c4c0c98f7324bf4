// The sending half of a link.
#ifndef PHALANX_SHM_OUTBOX_H_
#define PHALANX_SHM_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "link_area.h"
#include "peer_segment.h"
#include "segment.h"
#include "spi/link.h"

namespace phalanx::shm {

// Called with the wire's lock held.
class Outbox {
 public:
  Outbox(Segment* segment, LinkArea* own) : segment_(segment), own_(own) {}

  // The handshake is done; messages may be listed.
  void Connect(const PeerSegment* peer, const LinkArea* theirs);

  void Send(const spi::Label& label, absl::Span<const std::byte> bytes, spi::Transfer* transfer);

  // Takes acknowledgements, lists what waits, fills the window. True if anything moved. INTERNAL
  // when the peer acknowledges what was never sent; RESOURCE_EXHAUSTED when there is no memory for
  // the window.
  absl::StatusOr<bool> Progress();
  // Whether Progress() would find news from the peer.
  bool HasNews() const;
  // Something was shown to the peer since the last call.
  bool TakePublished() { return std::exchange(published_, false); }

  // No transfer is in flight; copied messages may not have been fetched yet.
  bool idle() const { return waiting_.empty() && transfers_ == 0; }
  // Finishes every transfer in flight.
  void Fail(const absl::Status& status);

 private:
  struct Waiting {
    spi::Label label;
    absl::Span<const std::byte> bytes;
    spi::Transfer* transfer;
  };
  struct Listed {
    bool used = false;
    bool copied = false;
    int box = -1;
    absl::Span<const std::byte> bytes;
    spi::Transfer* transfer = nullptr;  // null once it has finished
  };

  bool CanList() const;
  void List(const Waiting& message);
  // Copies the bytes to where the peer reads them; false when they stay with their owner.
  bool Copy(absl::Span<const std::byte> bytes, Listed* listed, MessageDescriptor* descriptor);
  absl::StatusOr<bool> TakeAcknowledgements();
  absl::StatusOr<bool> FillWindow();
  absl::Status StartStream(uint64_t request);

  Segment* const segment_;
  LinkArea* const own_;
  const PeerSegment* peer_ = nullptr;
  const LinkArea* theirs_ = nullptr;

  std::deque<Waiting> waiting_;  // for the handshake or a place in the list
  std::vector<Listed> listed_;   // by id
  std::vector<uint32_t> free_ids_;
  std::vector<int> free_boxes_;
  uint32_t transfers_ = 0;  // of listed messages
  uint32_t copied_ = 0;     // messages not acknowledged
  uint32_t listed_count_ = 0;
  uint32_t acknowledged_count_ = 0;

  // The message that passes through the window.
  std::byte* window_ = nullptr;
  uint64_t request_seen_ = 0;
  absl::Span<const std::byte> stream_;
  uint32_t filled_ = 0;

  bool published_ = false;
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_OUTBOX_H_
