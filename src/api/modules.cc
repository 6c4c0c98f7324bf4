#include "modules.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "spi/module.h"

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
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<spi::Wire> wire, spi::OpenWireModule(path, options));
  return OpenedWire{name, std::move(wire)};
}

}  // namespace phalanx::api
