// Opens the wires that are modules.
#ifndef PHALANX_SPI_MODULE_H_
#define PHALANX_SPI_MODULE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "spi/link.h"

namespace phalanx::spi {

// Loads the module at `path` (once per process; it stays loaded, since vendor libraries don't
// stand being unloaded) and opens a wire. Signals that a library takes over while it is loaded are
// given back to the program, unless UCX_HANDLE_ERRORS is set. UNIMPLEMENTED, with the reason, when
// the module or a library that it needs is missing, or as its own open function says.
absl::StatusOr<std::unique_ptr<Wire>> OpenWireModule(const std::string& path,
                                                     const WireOptions& options);

}  // namespace phalanx::spi

#endif  // PHALANX_SPI_MODULE_H_
