#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "device/reduce.h"

namespace phalanx::device {
namespace {

// The divisor is positive, so that no quotient overflows, and may exceed the element type's range.
template <typename T>
void DivideRange(void* destination, int divisor, size_t count) {
  using Wide = std::common_type_t<T, std::conditional_t<std::is_signed_v<T>, int, unsigned>>;
  const Wide by = static_cast<Wide>(divisor);
  auto* at = static_cast<uint8_t*>(destination);
  for (size_t i = 0; i < count; ++i, at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof value);
    value = static_cast<T>(static_cast<Wide>(value) / by);
    std::memcpy(at, &value, sizeof value);
  }
}

}  // namespace

void Divide(DataType type, void* destination, int divisor, size_t count) {
  PHX_CHECK(divisor > 0);
  switch (type) {
    case DataType::kInt8:
      return DivideRange<int8_t>(destination, divisor, count);
    case DataType::kUint8:
      return DivideRange<uint8_t>(destination, divisor, count);
    case DataType::kInt32:
      return DivideRange<int32_t>(destination, divisor, count);
    case DataType::kUint32:
      return DivideRange<uint32_t>(destination, divisor, count);
    case DataType::kInt64:
      return DivideRange<int64_t>(destination, divisor, count);
    case DataType::kUint64:
      return DivideRange<uint64_t>(destination, divisor, count);
    case DataType::kFloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      break;
  }
  PHX_CHECK_MSG(false, "only integers are divided; an average of floats is scaled instead");
}

}  // namespace phalanx::device
