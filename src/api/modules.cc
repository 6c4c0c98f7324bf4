#include "modules.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::api {
namespace {

std::string ModuleFolder() {
  if (const char* folder = std::getenv("PHALANX_MODULE_DIR")) return folder;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&ModuleFolder), &info) == 0) return "phalanx";
  const std::string library = info.dli_fname;
  const size_t slash = library.rfind('/');
  return slash == std::string::npos ? "phalanx"
                                    : absl::StrCat(library.substr(0, slash), "/phalanx");
}

}  // namespace

absl::StatusOr<OpenedWire> OpenModule(const std::string& name, const spi::WireOptions& options) {
  const std::string path = absl::StrCat(ModuleFolder(), "/libphalanx_", name, ".so");
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("transport ", name, " isn't available: ", dlerror()));
  }
  auto* const open = reinterpret_cast<spi::OpenWireFunction*>(dlsym(module, spi::kOpenWireSymbol));
  if (open == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("transport ", name, " isn't available: ", path, " is no Phalanx module"));
  }
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<spi::Wire> wire, open(options));
  return OpenedWire{name, std::move(wire)};
}

}  // namespace phalanx::api
