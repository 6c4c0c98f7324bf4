#include "control_bootstrap/unique_id.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_protocol/job.h"

namespace phalanx::control {
namespace {

// Magic with version, port, lengths of job and host, job, host, secret, checksum of all before.
constexpr absl::string_view kMagic("PHX1");
constexpr size_t kMostJobBytes = 12;
constexpr size_t kMostHostBytes = 40;  // every IP address
constexpr size_t kHeaderBytes = 8;
constexpr size_t kChecksumBytes = 4;
static_assert(kHeaderBytes + kMostJobBytes + kMostHostBytes + UniqueId::kSecretBytes +
                  kChecksumBytes <=
              UniqueId::kMostBytes / 4 * 3);  // base64 makes four characters of three bytes

// FNV-1a: against truncated and mistyped ids, not against anybody.
uint32_t Checksum(absl::string_view bytes) {
  uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

void AppendNumber(std::string* bytes, uint32_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

uint32_t NumberAt(absl::string_view bytes, size_t offset, size_t width) {
  uint32_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  }
  return value;
}

absl::Status NoId(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("this is no unique id of a Phalanx job: ", why));
}

}  // namespace

absl::StatusOr<std::string> UniqueId::ToBytes() const {
  if (job.size() > kMostJobBytes || secret.size() != kSecretBytes) {
    return absl::InvalidArgumentError("the job or secret of a unique id has the wrong length");
  }
  if (coordinator.host.empty() || coordinator.host.size() > kMostHostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the host name \"", coordinator.host,
                                                   "\" is longer than ", kMostHostBytes,
                                                   " bytes; use an IP address"));
  }
  std::string bytes(kMagic);
  AppendNumber(&bytes, coordinator.port, 2);
  AppendNumber(&bytes, static_cast<uint32_t>(job.size()), 1);
  AppendNumber(&bytes, static_cast<uint32_t>(coordinator.host.size()), 1);
  absl::StrAppend(&bytes, job, coordinator.host, secret);
  AppendNumber(&bytes, Checksum(bytes), kChecksumBytes);
  return bytes;
}

absl::StatusOr<UniqueId> UniqueId::FromBytes(absl::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) {
    return NoId("it doesn't begin like one, or is another version's");
  }
  const size_t job_bytes = NumberAt(bytes, 6, 1);
  const size_t host_bytes = NumberAt(bytes, 7, 1);
  const size_t checked = kHeaderBytes + job_bytes + host_bytes + kSecretBytes;
  if (job_bytes > kMostJobBytes || host_bytes > kMostHostBytes ||
      bytes.size() < checked + kChecksumBytes) {
    return NoId("it is cut short");
  }
  if (Checksum(bytes.substr(0, checked)) != NumberAt(bytes, checked, kChecksumBytes)) {
    return NoId("it was changed on its way");
  }
  for (const char c : bytes.substr(checked + kChecksumBytes)) {
    if (c != '\0') return NoId("other bytes follow it");
  }
  UniqueId id;
  id.coordinator.port = static_cast<uint16_t>(NumberAt(bytes, 4, 2));
  id.job = std::string(bytes.substr(kHeaderBytes, job_bytes));
  id.coordinator.host = std::string(bytes.substr(kHeaderBytes + job_bytes, host_bytes));
  id.secret = std::string(bytes.substr(kHeaderBytes + job_bytes + host_bytes, kSecretBytes));
  PHX_RETURN_IF_ERROR(ValidateJobId(id.job));
  if (id.coordinator.host.empty()) return NoId("it names no host");
  return id;
}

absl::StatusOr<std::string> UniqueId::ToString() const {
  PHX_ASSIGN_OR_RETURN(const std::string bytes, ToBytes());
  std::string text;
  absl::WebSafeBase64Escape(bytes, &text);
  return text;
}

absl::StatusOr<UniqueId> UniqueId::FromString(absl::string_view text) {
  std::string bytes;
  if (text.size() > kMostBytes || !absl::WebSafeBase64Unescape(text, &bytes)) {
    return NoId("it isn't base64 of at most 128 characters");
  }
  return FromBytes(bytes);
}

}  // namespace phalanx::control
