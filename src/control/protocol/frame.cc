#include "control_protocol/frame.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::control {
namespace {

constexpr size_t kHeaderBytes = 4;

uint32_t ReadLength(const char* bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

std::string Frame(absl::string_view message) {
  PHX_CHECK(message.size() <= kMaxControlMessageBytes);
  std::string frame;
  frame.reserve(kHeaderBytes + message.size());
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    frame.push_back(static_cast<char>((message.size() >> (8 * i)) & 0xff));
  }
  frame.append(message.data(), message.size());
  return frame;
}

absl::StatusOr<std::optional<std::string>> FrameReader::Next() {
  const size_t held = buffer_.size() - begin_;
  if (held < kHeaderBytes) return std::nullopt;
  const size_t length = ReadLength(buffer_.data() + begin_);
  if (length > limit_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", length, " bytes is over the limit of ", limit_bytes_));
  }
  if (held < kHeaderBytes + length) {
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    return std::nullopt;
  }
  std::string message = buffer_.substr(begin_ + kHeaderBytes, length);
  begin_ += kHeaderBytes + length;
  return message;
}

}  // namespace phalanx::control
