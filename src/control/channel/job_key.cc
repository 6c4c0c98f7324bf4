#include "control_channel/job_key.h"

#include <openssl/evp.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control_protocol/job.h"

namespace phalanx::control {

absl::StatusOr<JobKey> DeriveKey(absl::string_view secret) {
  if (secret.size() < kMinSecretBytes || secret.size() > kMaxSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the job's secret has ", secret.size(),
                                                   " bytes; wanted ", kMinSecretBytes, " to ",
                                                   kMaxSecretBytes));
  }
  // The label keeps the key apart from whatever else somebody derives from the same file.
  const std::string labelled = absl::StrCat("phalanx control plane key, version 1\n", secret);
  JobKey key;
  unsigned int length = 0;
  if (EVP_Digest(labelled.data(), labelled.size(), key.bytes.data(), &length, EVP_sha256(),
                 nullptr) != 1 ||
      length != key.bytes.size()) {
    return absl::InternalError("SHA-256 failed");
  }
  return key;
}

}  // namespace phalanx::control
