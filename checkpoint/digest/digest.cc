#include "checkpoint_digest/digest.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "isa-l/crc.h"
#include "xxhash.h"

namespace phalanx::checkpoint {

struct StreamingDigest::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* const xxh;
};

StreamingDigest::StreamingDigest() : state_(std::make_unique<State>()) {}
StreamingDigest::~StreamingDigest() = default;
StreamingDigest::StreamingDigest(StreamingDigest&&) noexcept = default;
StreamingDigest& StreamingDigest::operator=(StreamingDigest&&) noexcept = default;

void StreamingDigest::Add(const void* data, size_t bytes) {
  if (bytes != 0) XXH3_128bits_update(state_->xxh, data, bytes);
}

Digest StreamingDigest::Value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return {.high = hash.high64, .low = hash.low64};
}

Digest DigestOf(const void* data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {.high = hash.high64, .low = hash.low64};
}

uint32_t Crc32c(const void* data, size_t bytes, uint32_t before) {
  // crc32_iscsi counts in `int`, and leaves the inversion at both ends to its caller.
  constexpr size_t kPiece = size_t{1} << 30;
  const auto* next = static_cast<const unsigned char*>(data);
  uint32_t crc = ~before;
  while (bytes > 0) {
    const size_t piece = std::min(bytes, kPiece);
    crc = crc32_iscsi(const_cast<unsigned char*>(next), static_cast<int>(piece), crc);
    next += piece;
    bytes -= piece;
  }
  return ~crc;
}

std::string ToHex(const Digest& digest) {
  return absl::StrCat(absl::Hex(digest.high, absl::kZeroPad16),
                      absl::Hex(digest.low, absl::kZeroPad16));
}

std::optional<Digest> DigestFromHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  uint64_t halves[2] = {0, 0};
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const bool letter = c >= 'a' && c <= 'f';
    if (!letter && !(c >= '0' && c <= '9')) return std::nullopt;
    halves[i / 16] = halves[i / 16] << 4 | static_cast<uint64_t>(letter ? c - 'a' + 10 : c - '0');
  }
  return Digest{.high = halves[0], .low = halves[1]};
}

}  // namespace phalanx::checkpoint
