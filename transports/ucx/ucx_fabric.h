// Fabric over UCP active messages, on connections made by socket address: only those end at once,
// seen by the peer, when they are closed by force (UCX 1.13 keeps a TCP connection that was made by
// worker address half open, and may go on in the middle of a message that was cut off). Not the tag
// interface: its matching is per worker, with 64 bits that belong to the engine here; an active
// message names its link in a header, and a large one (UCP rendezvous) costs the receiver no memory
// until it chooses the place.
#ifndef PHALANX_TRANSPORTS_UCX_UCX_FABRIC_H_
#define PHALANX_TRANSPORTS_UCX_UCX_FABRIC_H_

#include <ucp/api/ucp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "messaging/fabric.h"
#include "ucx_context.h"

namespace phalanx::ucx {

class UcxPeer;
struct UcxIncoming;

class UcxFabric final : public messaging::Fabric {
 public:
  explicit UcxFabric(std::unique_ptr<UcxContext> context);
  absl::Status Listen();  // once, before all else
  ~UcxFabric() override;

  const char* name() const override { return "ucx"; }
  const std::string& address() const override { return context_->address(); }
  size_t eager_bytes() const override { return kEagerBytes; }
  messaging::FabricPeer* Open(int rank, const std::string& address, absl::Status* why) override;
  bool Progress(messaging::FabricEvents* events) override;
  int event_fd() const override { return context_->event_fd(); }
  bool Arm() override;

 private:
  friend class UcxPeer;
  friend struct UcxIncoming;

  // Over TCP a rendezvous costs more than the copies that it saves up to here.
  static constexpr size_t kEagerBytes = 64 * 1024;

  // One call into UCX that goes on by itself: what its completion needs. The frame header lives
  // here because UCX reads it until then.
  struct Operation {
    messaging::FrameHeader header;
    std::byte copied[messaging::FabricPeer::kCopiedBytes];
    UcxPeer* peer = nullptr;
    spi::Transfer* transfer = nullptr;
  };
  // A bulk message whose fate was decided inside an UCX callback; carried out after it.
  struct Decision {
    UcxPeer* peer;  // null: drop
    void* description;
    absl::Span<std::byte> destination;
    spi::Transfer* transfer;
  };

  Operation* NewOperation(UcxPeer* peer, spi::Transfer* transfer);
  void EndOperation(Operation* operation, ucs_status_t status);
  void Started(Operation* operation, ucs_status_ptr_t result);
  bool CarryOutDecisions();
  bool ReportBroken(messaging::FabricEvents* events);
  bool BreakRequested();
  bool AcceptRequests();
  bool DropLost();
  messaging::SourceId SourceOf(const ucp_am_recv_param_t& param);

  static void OnRequest(ucp_conn_request_h request, void* self);
  static void OnIncomingError(void* incoming, ucp_ep_h endpoint, ucs_status_t status);

  static ucs_status_t OnMessage(void* self, const void* header, size_t header_length, void* data,
                                size_t length, const ucp_am_recv_param_t* param);
  static void OnSent(void* request, ucs_status_t status, void* operation);
  static void OnReceived(void* request, ucs_status_t status, size_t length, void* operation);

  const std::unique_ptr<UcxContext> context_;
  messaging::FabricEvents* events_ = nullptr;  // during Progress()
  bool inside_ = false;                        // UCX is calling back
  std::vector<std::unique_ptr<UcxPeer>> peers_;
  absl::flat_hash_map<messaging::SourceId, std::unique_ptr<UcxIncoming>> incoming_;
  absl::flat_hash_map<ucp_ep_h, UcxIncoming*> by_endpoint_;  // those that are open
  messaging::SourceId next_source_ = 1;
  std::vector<ucp_conn_request_h> requests_;  // to be accepted
  std::vector<UcxIncoming*> lost_;            // to be dropped, if they are nobody's
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_operations_;
  std::vector<Decision> decisions_;
  std::vector<UcxPeer*> broken_;    // to be reported
  std::vector<UcxPeer*> to_break_;  // asked for inside a callback
};

}  // namespace phalanx::ucx

#endif  // PHALANX_TRANSPORTS_UCX_UCX_FABRIC_H_
