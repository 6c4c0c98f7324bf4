// The memory that one rank brings to one operation.
#ifndef PHALANX_BASE_REGION_H_
#define PHALANX_BASE_REGION_H_

#include <cstdint>

namespace phalanx {

enum class Region : uint8_t {
  kInput = 0,    // the caller's send buffer
  kOutput = 1,   // the caller's receive buffer; may be the input, or a part of it
  kScratch = 2,  // the library's own, for the length of the operation
};
inline constexpr int kRegionCount = 3;

}  // namespace phalanx

#endif  // PHALANX_BASE_REGION_H_
