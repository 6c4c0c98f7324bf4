#include "ucx_context.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "messaging/local_address.h"
#include "ucx_interfaces.h"

namespace phalanx::ucx {
namespace {

// UCX's shared-memory ways are left out: they can't tell that a peer was killed, and a peer that
// was frozen may read our memory after an abort. Processes of one node have transports/shm.
constexpr char kTransports[] = "^shm";

absl::Status Unimplemented(absl::string_view what, ucs_status_t status) {
  return absl::UnimplementedError(absl::StrCat("ucx: ", what, ": ", ucs_status_string(status)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxContext>> UcxContext::Open(const std::string& bind_address) {
  PHX_ASSIGN_OR_RETURN(const Interfaces interfaces, FindInterfaces(bind_address));
  std::unique_ptr<UcxContext> opened(new UcxContext);
  PHX_RETURN_IF_ERROR(opened->Create(interfaces));
  return opened;
}

absl::Status UcxContext::Create(const Interfaces& interfaces) {
  const char* const chosen = std::getenv("UCX_TLS");
  const char* const transports = chosen != nullptr ? chosen : kTransports;
  listen_on_ = interfaces.listen_on;
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return Unimplemented("can't read its configuration", status);
  ucp_config_modify(config, "NET_DEVICES", interfaces.devices.c_str());
  ucp_config_modify(config, "TLS", transports);
  ucp_config_modify(config, "SOCKADDR_TLS_PRIORITY", "tcp");

  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) {
    return Unimplemented(
        absl::StrCat("nothing to use on ", interfaces.devices, " with ", transports), status);
  }

  ucp_worker_params_t worker_params = {};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_worker_create(context_, &worker_params, &worker_);
  if (status != UCS_OK) return Unimplemented("can't create a worker", status);
  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return Unimplemented("no transport here can wake a sleeper", status);
  return absl::OkStatus();
}

absl::Status UcxContext::Listen(ucp_listener_conn_callback_t on_request, void* argument) {
  ucp_listener_params_t params = {};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr.addr = reinterpret_cast<const sockaddr*>(&listen_on_);
  params.sockaddr.addrlen = messaging::AddressLength(listen_on_);
  params.conn_handler.cb = on_request;
  params.conn_handler.arg = argument;
  ucs_status_t status = ucp_listener_create(worker_, &params, &listener_);
  if (status != UCS_OK) return Unimplemented("can't listen", status);
  ucp_listener_attr_t attributes = {};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  status = ucp_listener_query(listener_, &attributes);
  if (status != UCS_OK) return Unimplemented("the listener has no address", status);
  address_.assign(reinterpret_cast<const char*>(&attributes.sockaddr),
                  messaging::AddressLength(attributes.sockaddr));
  return absl::OkStatus();
}

UcxContext::~UcxContext() {
  if (listener_ != nullptr) ucp_listener_destroy(listener_);
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace phalanx::ucx
