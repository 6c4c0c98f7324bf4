// What the bytes of a checkpoint are told by: a digest of a whole shard, a checksum of each chunk.
//
// Both find damage by accident, not by intent: neither is cryptographic. Both are the same on
// every machine, so they may be stored and sent.
#ifndef PHALANX_CHECKPOINT_DIGEST_DIGEST_H_
#define PHALANX_CHECKPOINT_DIGEST_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/version.h"

namespace phalanx::checkpoint {

// The XXH3 digest of 128 bits (seed 0) of all bytes added so far; how they were cut into pieces
// makes no difference. A shard's digest is that of its regions' bytes, in the order in which the
// program names them, with nothing between. One thread at a time.
class StreamingDigest {
 public:
  StreamingDigest();
  ~StreamingDigest();
  StreamingDigest(StreamingDigest&&) noexcept;
  StreamingDigest& operator=(StreamingDigest&&) noexcept;

  void Add(const void* data, size_t bytes);
  // Of what was added until now; more may be added afterwards.
  Digest Value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest DigestOf(const void* data, size_t bytes);

// CRC32C (Castagnoli, as iSCSI has it). `before` is the checksum of what stands in front of `data`:
// Crc32c(b, n, Crc32c(a, m)) is that of a and b together.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t before = 0);

// 32 hexadecimal digits, the most significant first, as `xxh128sum` prints it.
std::string ToHex(const Digest& digest);
// Takes exactly what ToHex gives, lower case alone.
std::optional<Digest> DigestFromHex(std::string_view hex);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_DIGEST_DIGEST_H_
