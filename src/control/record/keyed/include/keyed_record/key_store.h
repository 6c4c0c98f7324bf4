// A store with revisions, at one key of it. The module of etcd is one, tests have another.
#ifndef PHALANX_KEYED_RECORD_KEY_STORE_H_
#define PHALANX_KEYED_RECORD_KEY_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "keyed_record/key_writer.h"

namespace phalanx::control {

// For one thread.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  // Returns within the call's time-out.
  virtual StoreAnswer Perform(const StoreCall& call) = 0;
};

struct KeyStoreOptions {
  std::vector<std::string> endpoints;  // HOST:PORT each, of one store
  std::string key;
};

// What a module exports. Connects to nothing yet.
using OpenKeyStoreFunction =
    absl::StatusOr<std::unique_ptr<KeyStore>>(const KeyStoreOptions& options);
inline constexpr char kOpenKeyStoreSymbol[] = "phalanx_open_key_store";

}  // namespace phalanx::control

#endif  // PHALANX_KEYED_RECORD_KEY_STORE_H_
