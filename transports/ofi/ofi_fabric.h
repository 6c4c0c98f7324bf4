// Fabric over libfabric's message endpoints, which know no tags. Each side connects to the other
// and sends on its own connection. A bulk message is announced; the receiver answers with the key
// of the buffer that it has chosen; the sender writes there and then says that it has.
#ifndef PHALANX_TRANSPORTS_OFI_OFI_FABRIC_H_
#define PHALANX_TRANSPORTS_OFI_OFI_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "messaging/fabric.h"
#include "ofi_context.h"

namespace phalanx::ofi {

class OfiPeer;
struct OfiIncoming;

// What a completion of the queue belongs to. Kept until the fabric ends, since completions may
// come after their connection was closed.
class OfiOperation {
 public:
  virtual ~OfiOperation() = default;
  // `error` is 0 or one of fi_errno.h.
  virtual void Ended(size_t bytes, int error) = 0;
};

// Messages up to here travel as one frame and are copied once by their receiver; above it they are
// announced, and written straight to their place.
inline constexpr size_t kEagerBytes = 128 * 1024;

class OfiFabric final : public messaging::Fabric {
 public:
  explicit OfiFabric(std::unique_ptr<OfiContext> context);
  ~OfiFabric() override;

  const char* name() const override { return "ofi"; }
  const std::string& address() const override { return context_->address(); }
  size_t eager_bytes() const override { return kEagerBytes; }
  messaging::FabricPeer* Open(int rank, const std::string& address, absl::Status* why) override;
  bool Progress(messaging::FabricEvents* events) override;
  int event_fd() const override { return context_->event_fd(); }
  bool Arm() override;

  // Told by the connections during Progress(): a whole frame, and the end of one.
  void OnConnectionEnd(fid* endpoint, const std::string& reason);
  void OnFrame(OfiIncoming* incoming, absl::Span<const std::byte> bytes);

 private:
  friend class OfiPeer;
  friend struct OfiIncoming;

  // An announced message that waits for its receive.
  struct Announced {
    messaging::SourceId source;
    uint64_t sender_number;
  };

  bool ReadCompletions();
  bool ReadEvents();
  void OnConnectionRequest(fi_info* info);
  void OnAnnounced(OfiIncoming* incoming, const messaging::FrameHeader& header,
                   absl::Span<const std::byte> payload);
  bool ReportBroken();

  const std::unique_ptr<OfiContext> context_;
  messaging::FabricEvents* sink_ = nullptr;  // during Progress()
  std::vector<std::unique_ptr<OfiPeer>> peers_;
  absl::flat_hash_map<messaging::SourceId, std::unique_ptr<OfiIncoming>> incoming_;
  absl::flat_hash_map<fid*, OfiPeer*> peer_by_endpoint_;          // open connections of ours
  absl::flat_hash_map<fid*, OfiIncoming*> incoming_by_endpoint_;  // open ones of peers
  messaging::SourceId next_source_ = 1;
  absl::flat_hash_map<messaging::BulkId, Announced> announced_;
  messaging::BulkId next_bulk_ = 1;
  std::vector<OfiPeer*> broken_;  // to be reported
};

}  // namespace phalanx::ofi

#endif  // PHALANX_TRANSPORTS_OFI_OFI_FABRIC_H_
