// Transports that are opened with dlopen, so that a machine without their libraries still runs.
#ifndef PHALANX_API_MODULES_H_
#define PHALANX_API_MODULES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "spi/link.h"

namespace phalanx::api {

// A wire and the transport that it belongs to.
struct OpenedWire {
  std::string name;
  std::unique_ptr<spi::Wire> wire;
};

// Opens module `name` ("ucx", "ofi"): PHALANX_MODULE_DIR, else the folder "phalanx" beside this
// library. UNIMPLEMENTED with the reason when the module, its vendor library or the hardware isn't
// there.
absl::StatusOr<OpenedWire> OpenModule(const std::string& name, const spi::WireOptions& options);

}  // namespace phalanx::api

#endif  // PHALANX_API_MODULES_H_
