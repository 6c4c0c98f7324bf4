// What this room's tables share between values and bytes.
#ifndef PHALANX_CONTROL_RECORD_RECORD_BYTES_H_
#define PHALANX_CONTROL_RECORD_RECORD_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "record_generated.h"

namespace phalanx::control {

inline flatbuffers::Offset<flatbuffers::Vector<uint8_t>> PackBytes(
    flatbuffers::FlatBufferBuilder& builder, absl::string_view bytes) {
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

inline std::string UnpackBytes(const flatbuffers::Vector<uint8_t>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <typename Table>
std::string FinishRecord(flatbuffers::FlatBufferBuilder& builder,
                         flatbuffers::Offset<Table> table) {
  builder.Finish(record_wire::CreateEnvelope(builder, record_wire::BodyTraits<Table>::enum_value,
                                             table.Union()),
                 record_wire::EnvelopeIdentifier());
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

// A copy at an address where tables with numbers of 64 bits may lie.
inline std::vector<uint64_t> Aligned(absl::string_view bytes) {
  std::vector<uint64_t> aligned(bytes.size() / sizeof(uint64_t) + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return aligned;
}

// Null: not that. Points into `aligned`.
template <typename Table>
const Table* VerifiedRecord(const std::vector<uint64_t>& aligned, size_t bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  if (bytes < sizeof(uint64_t) || bytes >= FLATBUFFERS_MAX_BUFFER_SIZE) return nullptr;
  flatbuffers::Verifier verifier(data, bytes);
  if (!record_wire::VerifyEnvelopeBuffer(verifier)) return nullptr;
  return record_wire::GetEnvelope(data)->template body_as<Table>();
}

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_RECORD_RECORD_BYTES_H_
