#include "device/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "kernel_choice.h"

namespace phalanx::device {
namespace {

// The operation that the kernels have for `op`.
ReduceOp ArithmeticOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
    case ReduceOp::kPreMultipliedSum:
      return ReduceOp::kSum;
    case ReduceOp::kProduct:
    case ReduceOp::kMax:
    case ReduceOp::kMin:
      return op;
  }
  PHX_CHECK_MSG(false, "unknown reduction");
}

// Multiplying by it changes nothing, so a source without a factor can stand among others with one.
uint64_t OneBits(DataType type) {
  if (IsInteger(type)) return 1;
  return type == DataType::kFloat64 ? std::bit_cast<uint64_t>(1.0) : std::bit_cast<uint32_t>(1.0f);
}

void Run(DataType type, ReduceOp op, absl::Span<const void* const> sources,
         absl::Span<const Factor> factors, void* destination, size_t count) {
  if (count == 0) return;
  const KernelTable& table = ChosenKernels();
  const bool scales = std::any_of(factors.begin(), factors.end(),
                                  [](const Factor& factor) { return !factor.is_one(); });
  if (!scales) {
    if (sources.size() == 1) {
      if (destination != sources[0]) std::memcpy(destination, sources[0], count * SizeOf(type));
      return;
    }
    return table.Of(type, op, false)(sources.data(), nullptr, sources.size(), destination, count);
  }
  absl::InlinedVector<uint64_t, 16> bits;
  for (const Factor& factor : factors) {
    bits.push_back(factor.is_one() ? OneBits(type) : factor.bits());
  }
  table.Of(type, op, true)(sources.data(), bits.data(), sources.size(), destination, count);
}

}  // namespace

void Reduce(DataType type, ReduceOp op, const void* first, const void* second, void* destination,
            size_t count) {
  const void* const sources[] = {first, second};
  Run(type, ArithmeticOp(op), sources, {}, destination, count);
}

void ReduceMany(DataType type, ReduceOp op, absl::Span<const void* const> sources,
                absl::Span<const Factor> factors, void* destination, size_t count) {
  PHX_CHECK(!sources.empty());
  PHX_CHECK(factors.empty() || factors.size() == sources.size());
  Run(type, ArithmeticOp(op), sources, factors, destination, count);
  if (op == ReduceOp::kAverage && IsInteger(type)) {
    Divide(type, destination, static_cast<int>(sources.size()), count);
  }
}

void Scale(DataType type, const void* source, const Factor& factor, void* destination,
           size_t count) {
  Run(type, ReduceOp::kSum, {&source, 1}, {&factor, 1}, destination, count);
}

}  // namespace phalanx::device
