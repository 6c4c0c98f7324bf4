// Where etcd is, as people write it.
#ifndef PHALANX_KEYED_RECORD_ETCD_URL_H_
#define PHALANX_KEYED_RECORD_ETCD_URL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// etcd://HOST:PORT[,HOST:PORT…] as HOST:PORT each; a host of IPv6 stands in brackets. At least one.
// INVALID_ARGUMENT says what is wrong with the text.
absl::StatusOr<std::vector<std::string>> ParseEtcdUrl(absl::string_view url);

}  // namespace phalanx::control

#endif  // PHALANX_KEYED_RECORD_ETCD_URL_H_
