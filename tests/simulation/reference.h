// What a collective means, computed in the plainest way and independently of the library's own
// arithmetic: integers in 64 bits that wrap, floats in float64.
#ifndef PHALANX_TESTS_SIMULATION_REFERENCE_H_
#define PHALANX_TESTS_SIMULATION_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "phalanx/types.h"

namespace phalanx::simulation {

using Bytes = std::vector<std::byte>;

// One element, and one element's bytes as the bits of an integer.
double DecodeFloat(DataType type, uint64_t bits);
uint64_t EncodeFloat(DataType type, double value);  // of values that the type has exactly
uint64_t LoadBits(DataType type, const std::byte* element);
void StoreBits(DataType type, uint64_t bits, std::byte* element);

// `count` elements by chance, such that no float sum or product of theirs overflows. `rank` is who
// brings them.
Bytes RandomElements(DataType type, ReduceOp op, int rank, size_t count, std::mt19937_64* random);

// Checks `result` to be the reduction of `inputs` (one per rank, in rank order, each of
// result.size() bytes): integers exactly, floats as near as the type's rounding allows. `factors`:
// of a pre-multiplied sum, per rank. Returns what is wrong, or nothing.
std::string CheckReduction(DataType type, ReduceOp op, const std::vector<const std::byte*>& inputs,
                           const std::vector<double>& factors, const std::byte* result,
                           size_t count);

}  // namespace phalanx::simulation

#endif  // PHALANX_TESTS_SIMULATION_REFERENCE_H_
