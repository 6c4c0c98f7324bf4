#include "spi/module.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "loading_signals.h"

namespace phalanx::spi {

absl::StatusOr<std::unique_ptr<Wire>> OpenWireModule(const std::string& path,
                                                     const WireOptions& options) {
  const LoadingSignals signals;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    return absl::UnimplementedError(absl::StrCat("can't load the module ", path, ": ", dlerror()));
  }
  // Whoever sets this wants UCX's reports.
  if (std::getenv("UCX_HANDLE_ERRORS") == nullptr) signals.GiveBack();
  auto* const open = reinterpret_cast<OpenWireFunction*>(dlsym(module, kOpenWireSymbol));
  if (open == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(path, " isn't a wire: it lacks ", kOpenWireSymbol));
  }
  return open(options);
}

}  // namespace phalanx::spi
