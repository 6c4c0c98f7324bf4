// The composition root: which concrete transports a process opens, and by which a peer is reached.
#ifndef PHALANX_API_TRANSPORTS_H_
#define PHALANX_API_TRANSPORTS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/logger.h"
#include "control_client/client.h"
#include "engine/engine.h"
#include "modules.h"
#include "phalanx/options.h"
#include "shm/shm.h"
#include "spi/group.h"
#include "spi/link.h"

namespace phalanx::api {

class Transports {
 public:
  // Opens what `options.transport` asks for. `one_node`: it is already known that all ranks are on
  // this node. UNIMPLEMENTED when a transport that was asked for by name can't be had here; "auto"
  // goes on without, with a log line.
  static absl::StatusOr<std::unique_ptr<Transports>> Open(const Options& options,
                                                          Incarnation incarnation, bool one_node,
                                                          const Logger& logger);

  spi::GroupDomain& domain() { return shm_->domain(); }
  // May communicators within a node use shared memory?
  bool shares_memory() const { return mode_ == Mode::kAuto || mode_ == Mode::kShm; }

  // What peers need to reach this process: transport → address.
  std::map<std::string, std::string> Addresses() const;

  // Once the view is known: tells the wires who we are and finds every peer's route. UNAVAILABLE
  // names a peer that no common transport reaches, and what would help.
  absl::StatusOr<std::vector<engine::Route>> Connect(const control::ViewDescription& view, int rank,
                                                     const std::vector<int>& segment_fds);
  std::vector<spi::Wire*> wires() const;

  absl::Status Close(Deadline deadline);

 private:
  enum class Mode { kAuto, kShm, kUcx, kOfi };

  Transports() = default;
  absl::Status OpenWires(const Options& options, bool one_node, const Logger& logger);
  absl::StatusOr<engine::Route> RouteTo(const control::Member& peer, bool same_node) const;

  Mode mode_ = Mode::kAuto;
  std::unique_ptr<shm::ShmTransport> shm_;
  std::vector<OpenedWire> network_;  // in order of preference
};

}  // namespace phalanx::api

#endif  // PHALANX_API_TRANSPORTS_H_
