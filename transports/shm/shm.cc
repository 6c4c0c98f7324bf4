#include "shm/shm.h"

#include <utility>

#include "base/status_macros.h"
#include "domain.h"
#include "memory_limits.h"
#include "node.h"
#include "segment.h"
#include "wire.h"

namespace phalanx::shm {
namespace {

class Transport : public ShmTransport {
 public:
  Transport(std::shared_ptr<Node> node, std::unique_ptr<ShmWire> wire)
      : domain_(std::move(node)), wire_(std::move(wire)) {}

  spi::GroupDomain& domain() override { return domain_; }
  spi::Wire& wire() override { return *wire_; }

 private:
  ShmDomain domain_;
  const std::unique_ptr<ShmWire> wire_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ShmTransport>> OpenShm(const ShmOptions& options) {
  const uint64_t limit =
      options.heap_limit_bytes != 0 ? options.heap_limit_bytes : PhysicalMemory() / 2;
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                       Segment::Create(options.incarnation, limit));
  auto node = std::make_shared<Node>(std::move(segment), options.incarnation,
                                     options.cross_memory_attach, options.logger);
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<ShmWire> wire, ShmWire::Create(node));
  return std::make_unique<Transport>(std::move(node), std::move(wire));
}

}  // namespace phalanx::shm
