#include "spi/module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "loading_signals.h"

namespace phalanx::spi {
namespace {

// One load at a time: of two side by side, either would take the libraries that the other brings in
// for its own or for ones that were there, and so take or leave the wrong signals.
std::mutex loading;

absl::StatusOr<void*> Load(const std::string& path) {
  const std::lock_guard lock(loading);
  const LoadingSignals signals;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    return absl::UnimplementedError(absl::StrCat("can't load the module ", path, ": ", dlerror()));
  }
  // Whoever sets this wants UCX's reports.
  if (std::getenv("UCX_HANDLE_ERRORS") == nullptr) signals.GiveBack();
  return module;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Wire>> OpenWireModule(const std::string& path,
                                                     const WireOptions& options) {
  const absl::StatusOr<void*> module = Load(path);
  if (!module.ok()) return module.status();
  auto* const open = reinterpret_cast<OpenWireFunction*>(dlsym(*module, kOpenWireSymbol));
  if (open == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(path, " isn't a wire: it lacks ", kOpenWireSymbol));
  }
  return open(options);
}

}  // namespace phalanx::spi
