#include "ofi_context.h"

#include <netdb.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "messaging/local_address.h"

namespace phalanx::ofi {
namespace {

// Its message endpoints report a killed peer within milliseconds; its reliable-datagram endpoints,
// and those of other providers over TCP, never do. FI_PROVIDER chooses another.
constexpr char kProvider[] = "tcp";

absl::Status Unimplemented(const char* what, int64_t result) {
  return absl::UnimplementedError(absl::StrCat("ofi: ", Describe(what, result)));
}

}  // namespace

std::string Describe(const char* what, int64_t result) {
  return absl::StrCat(what, ": ", fi_strerror(static_cast<int>(-result)));
}

absl::StatusOr<std::unique_ptr<OfiContext>> OfiContext::Open(const std::string& bind_address) {
  std::unique_ptr<OfiContext> opened(new OfiContext);
  PHX_RETURN_IF_ERROR(opened->FindProvider(bind_address));
  PHX_RETURN_IF_ERROR(opened->OpenObjects());
  PHX_RETURN_IF_ERROR(opened->Listen());
  return opened;
}

absl::Status OfiContext::FindProvider(const std::string& bind_address) {
  PHX_ASSIGN_OR_RETURN(const auto local, messaging::FindLocalAddress(bind_address));
  char host[NI_MAXHOST];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&local.address),
                  messaging::AddressLength(local.address), host, sizeof(host), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return absl::InvalidArgumentError("ofi: the bind address can't be written down");
  }
  std::unique_ptr<fi_info, FreeInfo> hints(fi_allocinfo());
  if (hints == nullptr) return absl::ResourceExhaustedError("ofi: out of memory");
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  hints->addr_format = local.address.ss_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // our lock covers every call
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  // No FI_MR_LOCAL: a provider that wants every buffer registered isn't served.
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  // A message may not overtake the remote write before it: it says that the bytes are there.
  hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
  hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
  if (std::getenv("FI_PROVIDER") == nullptr) hints->fabric_attr->prov_name = strdup(kProvider);
  fi_info* found = nullptr;
  const int result =
      fi_getinfo(FI_VERSION(1, 11), host, nullptr, FI_SOURCE | FI_NUMERICHOST, hints.get(), &found);
  if (result != 0)
    return Unimplemented("no provider of message endpoints with remote writes", result);
  info_.reset(found);
  return absl::OkStatus();
}

absl::Status OfiContext::OpenObjects() {
  fid_fabric* fabric = nullptr;
  int result = fi_fabric(info_->fabric_attr, &fabric, nullptr);
  if (result != 0) return Unimplemented("can't open the fabric", result);
  fabric_.reset(fabric);

  fi_eq_attr event_attributes = {};
  event_attributes.wait_obj = FI_WAIT_FD;
  fid_eq* events = nullptr;
  result = fi_eq_open(fabric, &event_attributes, &events, nullptr);
  if (result != 0) return Unimplemented("can't open an event queue", result);
  events_.reset(events);

  fid_domain* domain = nullptr;
  result = fi_domain(fabric, info_.get(), &domain, nullptr);
  if (result != 0) return Unimplemented("can't open the domain", result);
  domain_.reset(domain);

  fi_cq_attr completion_attributes = {};
  completion_attributes.format = FI_CQ_FORMAT_MSG;
  completion_attributes.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  result = fi_cq_open(domain, &completion_attributes, &completions, nullptr);
  if (result != 0) return Unimplemented("can't open a completion queue", result);
  completions_.reset(completions);

  event_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (event_fd_ < 0) return absl::ResourceExhaustedError("ofi: too many open descriptors");
  PHX_RETURN_IF_ERROR(WatchQueue(&events->fid));
  return WatchQueue(&completions->fid);
}

absl::Status OfiContext::WatchQueue(fid* queue) {
  int fd = -1;
  const int result = fi_control(queue, FI_GETWAIT, &fd);
  if (result != 0) return Unimplemented("a queue can't wake a sleeper", result);
  epoll_event event = {};
  event.events = EPOLLIN;
  if (epoll_ctl(event_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ResourceExhaustedError("ofi: can't watch a queue");
  }
  return absl::OkStatus();
}

absl::Status OfiContext::Listen() {
  fid_pep* listener = nullptr;
  int result = fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr);
  if (result != 0) return Unimplemented("can't make a listener", result);
  listener_.reset(listener);
  result = fi_pep_bind(listener, &events_->fid, 0);
  if (result == 0) result = fi_listen(listener);
  if (result != 0) return Unimplemented("can't listen", result);
  sockaddr_storage name = {};
  size_t bytes = sizeof(name);
  result = fi_getname(&listener->fid, &name, &bytes);
  if (result != 0) return Unimplemented("the listener has no address", result);
  address_.assign(reinterpret_cast<const char*>(&name), messaging::AddressLength(name));
  return absl::OkStatus();
}

absl::StatusOr<Owned<fid_ep>> OfiContext::NewEndpoint(const std::string& address, void* context) {
  std::unique_ptr<fi_info, FreeInfo> wanted(fi_dupinfo(info_.get()));
  if (wanted == nullptr) return absl::ResourceExhaustedError("ofi: out of memory");
  std::free(wanted->dest_addr);
  wanted->dest_addr = std::malloc(address.size());
  if (wanted->dest_addr == nullptr) return absl::ResourceExhaustedError("ofi: out of memory");
  std::memcpy(wanted->dest_addr, address.data(), address.size());
  wanted->dest_addrlen = address.size();
  return NewEndpoint(wanted.get(), context);
}

absl::StatusOr<Owned<fid_ep>> OfiContext::NewEndpoint(fi_info* requested, void* context) {
  fid_ep* endpoint = nullptr;
  int result = fi_endpoint(domain_.get(), requested, &endpoint, context);
  if (result != 0) return Unimplemented("can't make an endpoint", result);
  Owned<fid_ep> owned(endpoint);
  result = fi_ep_bind(endpoint, &events_->fid, 0);
  if (result == 0) {
    result =
        fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
  }
  if (result == 0) result = fi_enable(endpoint);
  if (result != 0) return Unimplemented("can't enable an endpoint", result);
  return owned;
}

void OfiContext::RejectPending() {
  uint32_t what = 0;
  fi_eq_cm_entry entry = {};
  for (;;) {
    const ssize_t bytes = fi_eq_read(events_.get(), &what, &entry, sizeof(entry), 0);
    if (bytes == -FI_EAVAIL) {
      fi_eq_err_entry error = {};
      if (fi_eq_readerr(events_.get(), &error, 0) < 0) return;
    } else if (bytes < 0) {
      return;
    } else if (what == FI_CONNREQ) {
      fi_reject(listener_.get(), entry.info->handle, nullptr, 0);
      fi_freeinfo(entry.info);
    }
  }
}

absl::StatusOr<Owned<fid_mr>> OfiContext::Register(void* memory, size_t bytes) {
  fid_mr* region = nullptr;
  const int result =
      fi_mr_reg(domain_.get(), memory, bytes, FI_REMOTE_WRITE, 0, next_key_++, 0, &region, nullptr);
  if (result != 0)
    return absl::ResourceExhaustedError(Describe("ofi: can't register memory", result));
  return Owned<fid_mr>(region);
}

uint64_t OfiContext::RemoteAddress(const void* memory) const {
  const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  return by_address ? reinterpret_cast<uint64_t>(memory) : 0;
}

bool OfiContext::Arm() {
  fid* queues[] = {&completions_->fid, &events_->fid};
  return fi_trywait(fabric_.get(), queues, 2) == FI_SUCCESS;
}

OfiContext::~OfiContext() {
  if (event_fd_ >= 0) close(event_fd_);
}

}  // namespace phalanx::ofi
