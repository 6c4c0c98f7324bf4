#include <memory>

#include "absl/status/statusor.h"
#include "etcd_store.h"
#include "keyed_record/key_store.h"

// C linkage for the name alone; both sides are C++ of one build.
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" __attribute__((visibility("default")))
absl::StatusOr<std::unique_ptr<phalanx::control::KeyStore>>
phalanx_open_key_store(const phalanx::control::KeyStoreOptions& options) {
  return std::make_unique<phalanx::etcd::EtcdStore>(options);
}
#pragma GCC diagnostic pop
