#include "shm/shm.h"

#include <utility>

#include "base/status_macros.h"
#include "domain.h"
#include "memory_limits.h"
#include "node.h"
#include "segment.h"

namespace phalanx::shm {
namespace {

class Transport : public ShmTransport {
 public:
  explicit Transport(std::shared_ptr<Node> node) : domain_(std::move(node)) {}

  spi::GroupDomain& domain() override { return domain_; }

 private:
  ShmDomain domain_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ShmTransport>> OpenShm(const ShmOptions& options) {
  const uint64_t limit =
      options.heap_limit_bytes != 0 ? options.heap_limit_bytes : PhysicalMemory() / 2;
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                       Segment::Create(options.incarnation, limit));
  return std::make_unique<Transport>(std::make_shared<Node>(
      std::move(segment), options.incarnation, options.cross_memory_attach, options.logger));
}

}  // namespace phalanx::shm
