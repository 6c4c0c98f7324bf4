#include "control_etcd/etcd_record.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "keyed_record/etcd_url.h"
#include "keyed_record/key_store.h"

namespace phalanx::control {
namespace {

constexpr char kModule[] = "libphalanx_etcd.so";

// In the folder of all modules: beside this program's bin, as it was built or installed.
std::string ModulePath() {
  if (const char* folder = std::getenv("PHALANX_MODULE_DIR")) {
    return absl::StrCat(folder, "/", kModule);
  }
  std::error_code ignored;
  const std::filesystem::path above =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  const std::filesystem::path built = above / "lib" / "phalanx" / kModule;
  if (access(built.c_str(), F_OK) == 0) return built.string();
  return (above / PHALANX_INSTALLED_LIBRARIES / "phalanx" / kModule).string();
}

absl::StatusOr<std::unique_ptr<KeyStore>> OpenStore(const EtcdRecordOptions& options,
                                                    const std::vector<std::string>& endpoints) {
  const std::string path = ModulePath();
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("can't load the module that speaks to etcd, ", path, ": ", dlerror()));
  }
  auto* const open = reinterpret_cast<OpenKeyStoreFunction*>(dlsym(module, kOpenKeyStoreSymbol));
  if (open == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(path, " doesn't speak to etcd: it lacks ", kOpenKeyStoreSymbol));
  }
  return open({endpoints, absl::StrCat("/phalanx/", options.job, "/record")});
}

struct Opened {
  std::unique_ptr<KeyStore> store;
  KeyedRegisterOptions options;
};

absl::StatusOr<Opened> Open(const EtcdRecordOptions& options) {
  Opened opened;
  PHX_ASSIGN_OR_RETURN(opened.options.endpoints, ParseEtcdUrl(options.url));
  opened.options.patience = options.patience;
  opened.options.logger = options.logger;
  PHX_ASSIGN_OR_RETURN(opened.store, OpenStore(options, opened.options.endpoints));
  return opened;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeyedRegister>> OpenEtcdRecord(const EtcdRecordOptions& options) {
  PHX_ASSIGN_OR_RETURN(Opened opened, Open(options));
  return KeyedRegister::Open(std::move(opened.store), opened.options);
}

absl::Status CreateEtcdRecord(const EtcdRecordOptions& options) {
  PHX_ASSIGN_OR_RETURN(Opened opened, Open(options));
  return CreateRecordKey(std::move(opened.store), opened.options);
}

absl::Status RemoveEtcdRecord(const EtcdRecordOptions& options) {
  PHX_ASSIGN_OR_RETURN(Opened opened, Open(options));
  return RemoveRecordKey(std::move(opened.store), opened.options);
}

}  // namespace phalanx::control
