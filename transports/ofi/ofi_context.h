// The process-side objects of libfabric: one domain with one completion queue, one event queue and
// a listening endpoint.
#ifndef PHALANX_TRANSPORTS_OFI_OFI_CONTEXT_H_
#define PHALANX_TRANSPORTS_OFI_OFI_CONTEXT_H_

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace phalanx::ofi {

struct CloseFid {
  template <typename T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, CloseFid>;

// "WHAT: REASON" for a negative libfabric result.
std::string Describe(const char* what, int64_t result);

class OfiContext {
 public:
  // UNIMPLEMENTED with the reason when libfabric finds no provider of message endpoints with remote
  // writes at `bind_address` (an IP address or interface; empty means loopback).
  static absl::StatusOr<std::unique_ptr<OfiContext>> Open(const std::string& bind_address);
  ~OfiContext();
  OfiContext(const OfiContext&) = delete;
  OfiContext& operator=(const OfiContext&) = delete;

  // An endpoint bound to both queues and enabled, ready to connect to `address` (a sockaddr) …
  absl::StatusOr<Owned<fid_ep>> NewEndpoint(const std::string& address, void* context);
  // … or to accept the request that `requested` describes.
  absl::StatusOr<Owned<fid_ep>> NewEndpoint(fi_info* requested, void* context);

  // Turns away, and frees, the connection requests that nobody will read any more.
  void RejectPending();

  // Lets peers write to `bytes` at `memory` by the returned region's key.
  absl::StatusOr<Owned<fid_mr>> Register(void* memory, size_t bytes);
  // What a peer gives as the address of the first byte of a registered region.
  uint64_t RemoteAddress(const void* memory) const;

  const std::string& address() const { return address_; }  // a sockaddr
  size_t inject_bytes() const { return info_->tx_attr->inject_size; }
  fid_cq* completions() const { return completions_.get(); }
  fid_eq* events() const { return events_.get(); }
  int event_fd() const { return event_fd_; }
  // True when the descriptor will tell of anything new, false when there is something to do now.
  bool Arm();

 private:
  OfiContext() = default;
  absl::Status FindProvider(const std::string& bind_address);
  absl::Status OpenObjects();
  absl::Status Listen();
  absl::Status WatchQueue(fid* queue);

  struct FreeInfo {
    void operator()(fi_info* info) const { fi_freeinfo(info); }
  };

  std::unique_ptr<fi_info, FreeInfo> info_;
  Owned<fid_fabric> fabric_;
  Owned<fid_eq> events_;
  Owned<fid_domain> domain_;
  Owned<fid_cq> completions_;
  Owned<fid_pep> listener_;
  int event_fd_ = -1;  // an epoll set of both queues
  uint64_t next_key_ = 1;
  std::string address_;
};

}  // namespace phalanx::ofi

#endif  // PHALANX_TRANSPORTS_OFI_OFI_CONTEXT_H_
