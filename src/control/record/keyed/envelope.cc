#include "keyed_record/envelope.h"

#include <cstddef>

#include "absl/status/status.h"

namespace phalanx::control {
namespace {

constexpr absl::string_view kMagic = "phxkey01";
constexpr size_t kNumberBytes = sizeof(uint64_t);
constexpr size_t kHeaderBytes = 3 * kNumberBytes;

// Least significant byte first, whatever the machine.
void AppendNumber(uint64_t number, std::string* to) {
  for (size_t byte = 0; byte < kNumberBytes; ++byte) {
    to->push_back(static_cast<char>(number >> (8 * byte) & 0xff));
  }
}

uint64_t NumberAt(absl::string_view bytes, size_t offset) {
  uint64_t number = 0;
  for (size_t byte = 0; byte < kNumberBytes; ++byte) {
    number |= uint64_t{static_cast<unsigned char>(bytes[offset + byte])} << (8 * byte);
  }
  return number;
}

}  // namespace

std::string Seal(const WriteTag& tag, absl::string_view value) {
  std::string bytes(kMagic);
  AppendNumber(tag.writer, &bytes);
  AppendNumber(tag.number, &bytes);
  bytes.append(value.data(), value.size());
  return bytes;
}

absl::StatusOr<Envelope> Unseal(absl::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("these bytes are no sealed record");
  }
  return Envelope{{NumberAt(bytes, kNumberBytes), NumberAt(bytes, 2 * kNumberBytes)},
                  std::string(bytes.substr(kHeaderBytes))};
}

}  // namespace phalanx::control
