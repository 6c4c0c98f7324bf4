// The receiving half of a link: matches messages by tag and fetches them from their sender.
#ifndef PHALANX_SHM_INBOX_H_
#define PHALANX_SHM_INBOX_H_

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "link_area.h"
#include "peer_segment.h"
#include "spi/link.h"

namespace phalanx::shm {

// Called with the wire's lock held.
class Inbox {
 public:
  Inbox(LinkArea* own, int peer_rank) : own_(own), peer_rank_(peer_rank) {}

  void Connect(const PeerSegment* peer, const LinkArea* theirs);

  // An error is the link's, as in Progress().
  absl::Status Receive(const spi::Label& label, absl::Span<std::byte> bytes,
                       spi::Transfer* transfer);

  // Takes what is listed and fetches what is matched, at most `budget` bytes of it. True if
  // anything moved. INVALID_ARGUMENT when a message hasn't the check or the length that its
  // receiver expects (that transfer has ended so), UNAVAILABLE when the peer's memory is gone,
  // INTERNAL when what it lists makes no sense.
  absl::StatusOr<bool> Progress(size_t budget);
  // Whether Progress() would find something to do.
  bool HasNews() const;
  bool TakePublished() { return std::exchange(published_, false); }

  bool fetching() const { return !fetches_.empty(); }
  // Whether a message of that tag has come before its receive.
  bool Holds(const spi::MessageTag& tag) const { return unexpected_.contains(tag); }

  // Finishes every transfer in flight, or those only that no message has come for.
  void Fail(const absl::Status& status);
  void FailUnmatched(const absl::Status& status);

 private:
  struct Message {
    uint32_t check;
    uint32_t id;
    MessageKind kind;
    uint64_t length;
    uint64_t where;
    std::byte tiny[kTinyBytes];
  };
  struct Posted {
    uint32_t check;
    absl::Span<std::byte> bytes;
    spi::Transfer* transfer;
  };
  struct Fetch {
    Message message;
    Posted posted;
    size_t done;
  };

  absl::StatusOr<bool> TakeListed();
  absl::Status Match(const Message& message, const Posted& posted);
  absl::StatusOr<bool> Advance(Fetch* fetch, size_t* budget);
  absl::Status Copy(const Message& message, size_t from, absl::Span<std::byte> to) const;
  bool DrainWindow(Fetch* fetch, size_t* budget);
  absl::Status StillIntact() const;
  void Acknowledge(uint32_t id);
  bool ShowAcknowledgements();

  LinkArea* const own_;
  const int peer_rank_;
  const PeerSegment* peer_ = nullptr;
  const LinkArea* theirs_ = nullptr;

  uint32_t taken_count_ = 0;
  uint32_t acknowledged_count_ = 0;
  std::deque<uint32_t> done_ids_;  // not yet shown as acknowledged
  absl::flat_hash_map<spi::MessageTag, Message> unexpected_;
  absl::flat_hash_map<spi::MessageTag, Posted> posted_;
  std::deque<Fetch> fetches_;

  // One message at a time passes through the window.
  bool streaming_ = false;
  uint32_t streaming_id_ = 0;
  uint32_t requests_ = 0;
  uint32_t drained_ = 0;

  bool published_ = false;
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_INBOX_H_
