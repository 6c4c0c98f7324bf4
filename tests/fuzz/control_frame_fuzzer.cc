// The frame reader: however a stream is cut into pieces, the same messages come out, none beyond
// the limit. The first byte says how it is cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "control_protocol/frame.h"

namespace {

using phalanx::control::FrameReader;

constexpr size_t kLimit = 64;

std::vector<std::string> Read(absl::string_view stream, size_t piece) {
  FrameReader reader(kLimit);
  std::vector<std::string> messages;
  while (!stream.empty()) {
    const size_t bytes = std::min(piece, stream.size());
    reader.Append(stream.substr(0, bytes));
    stream.remove_prefix(bytes);
    while (true) {
      const absl::StatusOr<std::optional<std::string>> next = reader.Next();
      if (!next.ok()) return messages;
      if (!next->has_value()) break;
      PHX_CHECK((*next)->size() <= kLimit);
      messages.push_back(**next);
    }
  }
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  PHX_CHECK(Read(stream, size_t{data[0]} + 1) == Read(stream, size));
  return 0;
}
