// What a request looks like to the other members.
#ifndef PHALANX_ENGINE_SIGNATURE_H_
#define PHALANX_ENGINE_SIGNATURE_H_

#include <cstdint>

#include "engine/request.h"
#include "ordering/signature.h"

namespace phalanx::engine {

// Equal on all members of an operation, and on both ends of a message.
ordering::Signature SignatureOf(const Request& request);

// What the operations of one lane have been so far, as a number: members whose numbers differ have
// issued different operations, now or earlier.
class History {
 public:
  // `signature`: ordering::HashOf() of the next operation.
  void Add(uint64_t signature) { state_ = (state_ ^ signature) * kOdd; }
  uint32_t check() const { return static_cast<uint32_t>(state_ >> 32); }

 private:
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;
  uint64_t state_ = 0;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_SIGNATURE_H_
