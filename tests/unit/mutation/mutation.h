// Damages messages, for tests of decoders: what a fuzzer does with guidance, any compiler does here
// for a moment without.
#ifndef PHALANX_TESTS_UNIT_MUTATION_MUTATION_H_
#define PHALANX_TESTS_UNIT_MUTATION_MUTATION_H_

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace phalanx {

// PHALANX_TEST_SEED, to replay, or a random one.
inline uint64_t MutationSeed() {
  const char* given = std::getenv("PHALANX_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

// One to four changes: a byte, a bit, an end cut off, a piece repeated.
inline std::string Mutate(std::string bytes, std::mt19937_64& random) {
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.resize(at + 1);
        break;
      default:
        bytes.insert(at, bytes, random() % bytes.size(), random() % 16);
        break;
    }
  }
  return bytes;
}

}  // namespace phalanx

#endif  // PHALANX_TESTS_UNIT_MUTATION_MUTATION_H_
