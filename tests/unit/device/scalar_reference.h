// The reductions again, one element at a time and as plainly as their contract says them.
#ifndef PHALANX_TESTS_UNIT_DEVICE_SCALAR_REFERENCE_H_
#define PHALANX_TESTS_UNIT_DEVICE_SCALAR_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "device/reduce.h"
#include "phalanx/types.h"

namespace phalanx::device {

inline constexpr DataType kAllTypes[] = {
    DataType::kInt8,    DataType::kUint8,    DataType::kInt32,      DataType::kUint32,
    DataType::kInt64,   DataType::kUint64,   DataType::kFloat16,    DataType::kFloat32,
    DataType::kFloat64, DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2};

inline constexpr ReduceOp kAllOps[] = {ReduceOp::kSum,     ReduceOp::kProduct,
                                       ReduceOp::kMax,     ReduceOp::kMin,
                                       ReduceOp::kAverage, ReduceOp::kPreMultipliedSum};

using Bytes = std::vector<uint8_t>;

// ReduceMany's result, NaNs included.
Bytes ReferenceReduceMany(DataType type, ReduceOp op, const std::vector<Bytes>& sources,
                          const std::vector<Factor>& factors);

// Elements of which most are of ordinary size, so that sums round, and some are zeros of both
// signs, infinities, NaNs, subnormals or any pattern at all.
Bytes RandomElements(DataType type, size_t count, std::mt19937& random);

// A factor that is exact and small in any type.
Factor SmallFactor(DataType type, std::mt19937& random);

// From PHALANX_TEST_SEED, else random; printed.
uint32_t TestSeed();

}  // namespace phalanx::device

#endif  // PHALANX_TESTS_UNIT_DEVICE_SCALAR_REFERENCE_H_
