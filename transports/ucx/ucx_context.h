// The process-side objects of UCX: one context with one worker, limited to the wanted interfaces.
#ifndef PHALANX_TRANSPORTS_UCX_UCX_CONTEXT_H_
#define PHALANX_TRANSPORTS_UCX_UCX_CONTEXT_H_

#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ucx_interfaces.h"

namespace phalanx::ucx {

class UcxContext {
 public:
  // UNIMPLEMENTED with the reason when UCX finds nothing to use on the interfaces of
  // `bind_address` (see ucx_interfaces.h).
  static absl::StatusOr<std::unique_ptr<UcxContext>> Open(const std::string& bind_address);
  ~UcxContext();
  UcxContext(const UcxContext&) = delete;
  UcxContext& operator=(const UcxContext&) = delete;

  ucp_worker_h worker() const { return worker_; }
  int event_fd() const { return event_fd_; }

  // Starts to listen: `on_request` is called inside ucp_worker_progress(). Once.
  absl::Status Listen(ucp_listener_conn_callback_t on_request, void* argument);
  const std::string& address() const { return address_; }  // a sockaddr; known after Listen()

 private:
  UcxContext() = default;
  absl::Status Create(const Interfaces& interfaces);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_listener_h listener_ = nullptr;
  sockaddr_storage listen_on_ = {};
  int event_fd_ = -1;
  std::string address_;
};

}  // namespace phalanx::ucx

#endif  // PHALANX_TRANSPORTS_UCX_UCX_CONTEXT_H_
