#include "transports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::api {
namespace {

constexpr char kShmWire[] = "shm";

}  // namespace

absl::StatusOr<std::unique_ptr<Transports>> Transports::Open(const Options& options,
                                                             Incarnation incarnation, bool one_node,
                                                             const Logger& logger) {
  auto transports = std::unique_ptr<Transports>(new Transports);
  if (options.transport == "shm") transports->mode_ = Mode::kShm;
  if (options.transport == "ucx") transports->mode_ = Mode::kUcx;
  if (options.transport == "ofi") transports->mode_ = Mode::kOfi;
  shm::ShmOptions shm_options;
  shm_options.incarnation = incarnation;
  shm_options.heap_limit_bytes = options.shared_memory_limit;
  shm_options.cross_memory_attach = options.cross_memory_attach;
  shm_options.logger = logger;
  PHX_ASSIGN_OR_RETURN(transports->shm_, shm::OpenShm(shm_options));
  PHX_RETURN_IF_ERROR(transports->OpenWires(options, one_node, logger));
  return transports;
}

absl::Status Transports::OpenWires(const Options& options, bool one_node, const Logger& logger) {
  const spi::WireOptions wire_options{options.bind_address, logger};
  switch (mode_) {
    case Mode::kShm:
      return absl::OkStatus();
    case Mode::kUcx:
    case Mode::kOfi: {
      PHX_ASSIGN_OR_RETURN(OpenedWire wire, OpenModule(options.transport, wire_options));
      network_.push_back(std::move(wire));
      return absl::OkStatus();
    }
    case Mode::kAuto:
      break;
  }
  if (one_node) return absl::OkStatus();
  for (const char* name : {"ucx", "ofi"}) {
    absl::StatusOr<OpenedWire> wire = OpenModule(name, wire_options);
    if (wire.ok()) {
      network_.push_back(*std::move(wire));
      return absl::OkStatus();
    }
    logger.Info(std::string(wire.status().message()));
  }
  // Enough for a job of one node; Connect() says so if it isn't.
  return absl::OkStatus();
}

std::map<std::string, std::string> Transports::Addresses() const {
  std::map<std::string, std::string> addresses;
  if (shares_memory()) addresses[kShmWire] = shm_->wire().address();

  for (const OpenedWire& opened : network_) addresses[opened.name] = opened.wire->address();
  return addresses;
}

std::vector<spi::Wire*> Transports::wires() const {
  std::vector<spi::Wire*> wires;
  if (shares_memory()) wires.push_back(&shm_->wire());

  for (const OpenedWire& opened : network_) wires.push_back(opened.wire.get());
  return wires;
}

absl::StatusOr<engine::Route> Transports::RouteTo(const control::Member& peer,
                                                  bool same_node) const {
  const auto address_of = [&](const std::string& name) -> const std::string* {
    const auto found = peer.addresses.find(name);
    return found == peer.addresses.end() ? nullptr : &found->second;
  };
  const spi::PeerIdentity identity{peer.rank, peer.incarnation};
  if (same_node && shares_memory()) {
    if (const std::string* address = address_of(kShmWire)) {
      return engine::Route{&shm_->wire(), identity, *address};
    }
  }
  for (const OpenedWire& opened : network_) {
    if (const std::string* address = address_of(opened.name)) {
      return engine::Route{opened.wire.get(), identity, *address};
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "rank ", peer.rank, " on node ", peer.node,
      same_node ? " shares no transport with this rank; give all ranks the same PHALANX_TRANSPORT"
                : " can't be reached: between nodes PHALANX_TRANSPORT must be auto, ucx or ofi on "
                  "every rank, and the module of ucx or ofi installed on every node"));
}

absl::StatusOr<std::vector<engine::Route>> Transports::Connect(
    const control::ViewDescription& view, int rank, const std::vector<int>& segment_fds) {
  const control::Member& self = view.members[static_cast<size_t>(rank)];
  const spi::Identity identity{view.job_token, view.epoch, rank, self.incarnation};
  for (spi::Wire* wire : wires()) wire->SetIdentity(identity);
  std::vector<engine::Route> routes(view.members.size());
  std::vector<spi::NodePeer> node_peers;
  for (const control::Member& member : view.members) {
    if (member.rank == rank) continue;
    const auto index = static_cast<size_t>(member.rank);
    const bool same_node = member.node == self.node;
    PHX_ASSIGN_OR_RETURN(routes[index], RouteTo(member, same_node));
    if (same_node && shares_memory()) {
      node_peers.push_back({member.rank, member.incarnation, member.pid, segment_fds[index]});
    }
  }
  PHX_RETURN_IF_ERROR(domain().Attach(rank, node_peers));
  return routes;
}

absl::Status Transports::Close(Deadline deadline) {
  absl::Status status;
  for (spi::Wire* wire : wires()) status.Update(wire->Close(deadline));
  return status;
}

}  // namespace phalanx::api
