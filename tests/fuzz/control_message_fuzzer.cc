// Every message decoder of the control plane: any bytes are safe to pass, and what is accepted is a
// value that survives the wire again.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "control_protocol/message.h"

using phalanx::control::Decode;
using phalanx::control::Encode;
using phalanx::control::Message;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<Message> message =
      Decode(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!message.ok()) return 0;
  const absl::StatusOr<Message> again = Decode(Encode(*message));
  PHX_CHECK(again.ok() && *again == *message);
  return 0;
}
