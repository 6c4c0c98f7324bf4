// Shared memory between the processes of one node: the group transport and a point-to-point wire,
// both *pull only* over one memory file per session.
#ifndef PHALANX_SHM_SHM_H_
#define PHALANX_SHM_SHM_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/logger.h"
#include "spi/group.h"
#include "spi/link.h"

namespace phalanx::shm {

struct ShmOptions {
  Incarnation incarnation;
  // The most that Allocate(), scratch and control blocks may take together; 0 means half of the
  // machine's memory. Address space until it is used.
  size_t heap_limit_bytes = 0;
  // Read peers' ordinary buffers straight out of their processes (process_vm_readv) where the
  // system permits it. Without, they are copied through windows.
  bool cross_memory_attach = true;
  Logger logger;
};

// A session's shared memory. Thread-safe as its two faces are; outlives the groups and links made
// of it.
class ShmTransport {
 public:
  virtual ~ShmTransport() = default;

  virtual spi::GroupDomain& domain() = 0;
  // Reaches the peers that the domain has attached: Attach() comes before its Connect(). A message
  // is fetched by its receiver: from memory of Allocate() or by cross-memory attach in one copy.
  virtual spi::Wire& wire() = 0;
};

// RESOURCE_EXHAUSTED when the memory file can't be made or mapped.
absl::StatusOr<std::unique_ptr<ShmTransport>> OpenShm(const ShmOptions& options);

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_SHM_H_
