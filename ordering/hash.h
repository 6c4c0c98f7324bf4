// Hashes that are equal in every process and build, unlike absl::Hash; not for hostile input.
#ifndef PHALANX_ORDERING_HASH_H_
#define PHALANX_ORDERING_HASH_H_

#include <cstdint>
#include <string_view>

namespace phalanx::ordering {

// A bijection that spreads every bit (the finaliser of splitmix64).
constexpr uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

constexpr uint64_t Combine(uint64_t state, uint64_t value) { return Mix(state ^ Mix(value)); }

constexpr uint64_t HashBytes(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return Mix(hash);
}

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_HASH_H_
