#include "sim/network.h"

#include "core.h"

namespace phalanx::sim {

Network::Network(const Options& options) : core_(std::make_unique<Core>(options)) {}
Network::~Network() = default;

std::unique_ptr<spi::Wire> Network::OpenWire() {
  const Core::Lock lock(core_->mutex());
  return sim::OpenWire(core_.get());
}

std::unique_ptr<spi::GroupDomain> Network::OpenDomain() { return sim::OpenDomain(core_.get()); }

bool Network::Step() {
  const Core::Lock lock(core_->mutex());
  return core_->Step();
}

std::chrono::nanoseconds Network::now() const {
  const Core::Lock lock(core_->mutex());
  return core_->now();
}

void Network::Kill(int rank) {
  const Core::Lock lock(core_->mutex());
  core_->Kill(rank);
}

std::vector<std::string> Network::violations() const {
  const Core::Lock lock(core_->mutex());
  return core_->violations();
}

}  // namespace phalanx::sim
