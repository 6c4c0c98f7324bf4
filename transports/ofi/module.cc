#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "messaging/messaging_wire.h"
#include "ofi_context.h"
#include "ofi_fabric.h"
#include "spi/link.h"

// C linkage for the name alone; both sides are C++ of one build.
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" __attribute__((visibility("default")))
absl::StatusOr<std::unique_ptr<phalanx::spi::Wire>>
phalanx_open_wire(const phalanx::spi::WireOptions& options) {
  PHX_ASSIGN_OR_RETURN(auto context, phalanx::ofi::OfiContext::Open(options.bind_address));
  auto fabric = std::make_unique<phalanx::ofi::OfiFabric>(std::move(context));
  return std::make_unique<phalanx::messaging::MessagingWire>(std::move(fabric), options.logger);
}
#pragma GCC diagnostic pop
