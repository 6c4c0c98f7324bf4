// Frames: a message's length (4 bytes, little endian) and its bytes.
#ifndef PHALANX_CONTROL_PROTOCOL_FRAME_H_
#define PHALANX_CONTROL_PROTOCOL_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// Longest message that a receiver takes, by who sends it.
inline constexpr size_t kMaxWorkerMessageBytes = size_t{1} << 20;
inline constexpr size_t kMaxControlMessageBytes = size_t{256} << 20;
inline constexpr size_t kMaxHandshakeMessageBytes = size_t{64} << 10;

std::string Frame(absl::string_view message);

// Cuts a stream of bytes into messages. Holds at most one message more than what was appended last,
// and never allocates for a length that it refuses.
class FrameReader {
 public:
  explicit FrameReader(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void set_limit(size_t limit_bytes) { limit_bytes_ = limit_bytes; }
  void Append(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }
  // The next whole message; nothing when more bytes are needed. INVALID_ARGUMENT when the announced
  // length is beyond the limit; the stream can't be read on then.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  size_t limit_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_FRAME_H_
