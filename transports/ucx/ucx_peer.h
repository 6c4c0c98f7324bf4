// The two endpoints of a peer: ours, by which we send, and the one that it opened.
#ifndef PHALANX_TRANSPORTS_UCX_UCX_PEER_H_
#define PHALANX_TRANSPORTS_UCX_UCX_PEER_H_

#include <ucp/api/ucp.h>

#include "ucx_fabric.h"

namespace phalanx::ucx {

// A connection that a peer has opened to us. Belongs to its fabric.
struct UcxIncoming {
  void Close();

  UcxFabric* fabric = nullptr;
  messaging::SourceId id = 0;
  ucp_ep_h endpoint = nullptr;
  UcxPeer* peer = nullptr;  // whose it is, once its hello has been found right
  bool said_hello = false;
  bool lost = false;
};

class UcxPeer final : public messaging::FabricPeer {
 public:
  UcxPeer(UcxFabric* fabric, int rank) : fabric_(fabric), rank_(rank) {}

  absl::Status Create(const std::string& address);

  void SendEager(const messaging::FrameHeader& header, absl::Span<const std::byte> payload,
                 spi::Transfer* transfer) override;
  void SendBulk(const messaging::FrameHeader& header, absl::Span<const std::byte> payload,
                spi::Transfer* transfer) override;
  void AcceptBulk(messaging::BulkId bulk, absl::Span<std::byte> destination,
                  spi::Transfer* transfer) override;
  void DropBulk(messaging::BulkId bulk) override;
  void BindSource(messaging::SourceId source) override;
  void Break(const absl::Status& status) override;
  bool busy() const override { return in_flight_ > 0; }

 private:
  friend class UcxFabric;

  void Lost(ucs_status_t reason);
  void Send(const messaging::FrameHeader& header, absl::Span<const std::byte> payload,
            spi::Transfer* transfer, unsigned flags);
  static void OnEndpointError(void* self, ucp_ep_h endpoint, ucs_status_t status);

  UcxFabric* const fabric_;
  const int rank_;
  ucp_ep_h endpoint_ = nullptr;      // null once it is being closed
  UcxIncoming* incoming_ = nullptr;  // once its hello has come
  absl::Status status_;              // why the peer has ended
  int in_flight_ = 0;
};

}  // namespace phalanx::ucx

#endif  // PHALANX_TRANSPORTS_UCX_UCX_PEER_H_
