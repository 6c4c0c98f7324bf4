// The decoders of the ordering service: any bytes are safe to pass, and what is accepted is a value
// that survives the wire again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "ordering_wire/codec.h"

namespace {

template <typename Decoder>
void Try(absl::string_view bytes, const Decoder& decode) {
  const auto message = decode(bytes);
  if (!message.ok()) return;
  const std::string encoded = Encode(*message);
  const auto again = decode(encoded);
  PHX_CHECK(again.ok() && Encode(*again) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  Try(bytes, phalanx::ordering::DecodeUplink);
  Try(bytes, phalanx::ordering::DecodeDownlink);
  return 0;
}
