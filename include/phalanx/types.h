// The vocabulary of a collective: element types and reductions.
//
// The numbers are NCCL's (ncclDataType_t, ncclRedOp_t), so that the drop-in library can cast.
#ifndef PHALANX_TYPES_H_
#define PHALANX_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace phalanx {

enum class DataType : uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,      // IEEE 754 binary16
  kFloat32 = 7,      // IEEE 754 binary32
  kFloat64 = 8,      // IEEE 754 binary64
  kBfloat16 = 9,     // upper half of a binary32
  kFloat8E4m3 = 10,  // OCP 8-bit float, 4 exponent bits, no infinity
  kFloat8E5m2 = 11,  // OCP 8-bit float, 5 exponent bits
};
inline constexpr int kDataTypeCount = 12;

enum class ReduceOp : uint8_t {
  kSum = 0,
  kProduct = 1,
  kMax = 2,
  kMin = 3,
  // Floats: every input is multiplied by 1/n, then summed. Integers: the wrapped sum divided by n,
  // truncating towards zero.
  kAverage = 4,
  // Every rank multiplies its own input by its own scalar, then the products are summed.
  kPreMultipliedSum = 5,
};
inline constexpr int kReduceOpCount = 6;

// A reduction and, for kPreMultipliedSum, this rank's factor. Converts from a plain ReduceOp, so
// callers write `comm.AllReduce(…, ReduceOp::kSum)`.
//
// A factor is kept exactly when it is an integer and as a double otherwise; it is converted to the
// collective's type (for the types narrower than float32: to float32) when the operation is issued.
class Reduction {
 public:
  constexpr Reduction(ReduceOp op) : op_(op) {}  // implicit on purpose

  static constexpr Reduction PreMultipliedSum(double factor) {
    return Reduction(factor, static_cast<int64_t>(0), false);
  }
  static constexpr Reduction PreMultipliedSum(float factor) {
    return PreMultipliedSum(static_cast<double>(factor));
  }
  static constexpr Reduction PreMultipliedSum(int64_t factor) {
    return Reduction(static_cast<double>(factor), factor, true);
  }
  static constexpr Reduction PreMultipliedSum(int factor) {
    return PreMultipliedSum(static_cast<int64_t>(factor));
  }

  constexpr ReduceOp op() const { return op_; }
  constexpr double factor() const { return factor_; }
  // Meaningful when factor_is_integer().
  constexpr int64_t integer_factor() const { return integer_factor_; }
  constexpr bool factor_is_integer() const { return factor_is_integer_; }

 private:
  constexpr Reduction(double factor, int64_t integer_factor, bool is_integer)
      : op_(ReduceOp::kPreMultipliedSum),
        factor_(factor),
        integer_factor_(integer_factor),
        factor_is_integer_(is_integer) {}

  ReduceOp op_;
  double factor_ = 1.0;
  int64_t integer_factor_ = 1;
  bool factor_is_integer_ = true;
};

// Bytes of one element; 0 for a value outside the enumeration.
constexpr size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
}

constexpr bool IsInteger(DataType type) { return type <= DataType::kUint64; }

// Lower-case names as nccl-tests prints them ("int8" … "float", "bfloat16", "f8e4m3"; "sum",
// "prod", "max", "min", "avg", "mulsum"); "unknown" for a value outside the enumeration.
constexpr const char* NameOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return "int8";
    case DataType::kUint8:
      return "uint8";
    case DataType::kInt32:
      return "int32";
    case DataType::kUint32:
      return "uint32";
    case DataType::kInt64:
      return "int64";
    case DataType::kUint64:
      return "uint64";
    case DataType::kFloat16:
      return "half";
    case DataType::kFloat32:
      return "float";
    case DataType::kFloat64:
      return "double";
    case DataType::kBfloat16:
      return "bfloat16";
    case DataType::kFloat8E4m3:
      return "f8e4m3";
    case DataType::kFloat8E5m2:
      return "f8e5m2";
  }
  return "unknown";
}

constexpr const char* NameOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProduct:
      return "prod";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kAverage:
      return "avg";
    case ReduceOp::kPreMultipliedSum:
      return "mulsum";
  }
  return "unknown";
}

}  // namespace phalanx

#endif  // PHALANX_TYPES_H_
