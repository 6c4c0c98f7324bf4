// The loops over a range, for every type and operation. See vector_lanes.h for who may include
// this.
#ifndef PHALANX_DEVICE_VECTOR_KERNELS_H_
#define PHALANX_DEVICE_VECTOR_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "kernel_table.h"
#include "phalanx/types.h"
#include "vector_lanes.h"

namespace phalanx::device {
namespace {

template <class Lanes, ReduceOp kOp>
[[gnu::always_inline]] inline typename Lanes::Wide Combine(typename Lanes::Wide a,
                                                           typename Lanes::Wide b) {
  if constexpr (kOp == ReduceOp::kSum) return Lanes::Sum(a, b);
  if constexpr (kOp == ReduceOp::kProduct) return Lanes::Product(a, b);
  if constexpr (kOp == ReduceOp::kMax) return Lanes::Max(a, b);
  if constexpr (kOp == ReduceOp::kMin) return Lanes::Min(a, b);
}

// kFixedSources is 0 where the number of sources is known at run time only.
template <class Lanes, ReduceOp kOp, bool kTakesFactors, int kFixedSources>
struct RangeKernel {
  using Wide = typename Lanes::Wide;
  static constexpr size_t kStepBytes = Lanes::kLanes * Lanes::kElementBytes;

  [[gnu::always_inline]] static Wide Scaled(Wide value, const uint64_t* factors, size_t source) {
    if constexpr (kTakesFactors) return Lanes::Product(value, Lanes::Factor(factors[source]));
    return value;
  }

  // Everything is read before anything is written, so that destination may be a source.
  template <int kVectors>
  [[gnu::always_inline]] static void Block(const uint8_t* const* sources, const uint64_t* factors,
                                           size_t source_count, uint8_t* destination,
                                           size_t offset) {
    Wide sum[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      sum[i] = Scaled(Load(sources[0] + offset + i * kStepBytes), factors, 0);
    }
    for (size_t s = 1; s < source_count; ++s) {
      const uint8_t* const source = sources[s] + offset;
      for (int i = 0; i < kVectors; ++i) {
        const Wide next = Scaled(Load(source + i * kStepBytes), factors, s);
        sum[i] = Combine<Lanes, kOp>(sum[i], next);
      }
    }
    for (int i = 0; i < kVectors; ++i)
      StoreVector(destination + offset + i * kStepBytes, Lanes::Pack(sum[i]));
  }

  [[gnu::always_inline]] static Wide Load(const uint8_t* from) {
    return Lanes::Unpack(LoadVector<Vector<uint8_t, kStepBytes>>(from));
  }

  [[gnu::always_inline]] static Wide LoadLast(const uint8_t* from, size_t bytes) {
    return Lanes::Unpack(LoadPart<kStepBytes>(from, bytes));
  }

  // The last elements, fewer than a vector holds, are padded and go through the same operations.
  [[gnu::noinline]] static void Part(const uint8_t* const* sources, const uint64_t* factors,
                                     size_t source_count, uint8_t* destination, size_t offset,
                                     size_t bytes) {
    Wide sum = Scaled(LoadLast(sources[0] + offset, bytes), factors, 0);
    for (size_t s = 1; s < source_count; ++s) {
      const Wide next = Scaled(LoadLast(sources[s] + offset, bytes), factors, s);
      sum = Combine<Lanes, kOp>(sum, next);
    }
    StorePart<kStepBytes>(destination + offset, Lanes::Pack(sum), bytes);
  }

  [[gnu::always_inline]] static void Range(const uint8_t* const* sources, const uint64_t* factors,
                                           size_t source_count, uint8_t* destination,
                                           size_t bytes) {
    constexpr int kVectors = 4;
    size_t offset = 0;
    for (; bytes - offset >= kVectors * kStepBytes; offset += kVectors * kStepBytes) {
      Block<kVectors>(sources, factors, source_count, destination, offset);
    }
    for (; bytes - offset >= kStepBytes; offset += kStepBytes) {
      Block<1>(sources, factors, source_count, destination, offset);
    }
    if (offset < bytes) {
      Part(sources, factors, source_count, destination, offset, bytes - offset);
    }
  }

  static void Run(const void* const* sources, const uint64_t* factors, size_t source_count,
                  void* destination, size_t count) {
    const auto from = reinterpret_cast<const uint8_t* const*>(sources);
    const auto to = static_cast<uint8_t*>(destination);
    const size_t bytes = count * Lanes::kElementBytes;
    if constexpr (kFixedSources == 0) {
      Range(from, factors, source_count, to, bytes);
    } else {
      // A copy that nothing else can point to: it stays in registers across the stores.
      const uint8_t* own[kFixedSources];
      for (int s = 0; s < kFixedSources; ++s) own[s] = from[s];
      Range(own, factors, kFixedSources, to, bytes);
    }
  }
};

template <class Lanes, ReduceOp kOp, bool kTakesFactors>
void RunKernel(const void* const* sources, const uint64_t* factors, size_t source_count,
               void* destination, size_t count) {
  constexpr bool kCommon = kOp == ReduceOp::kSum && Lanes::kElementBytes == 4 && !kTakesFactors;
  if (source_count == 2) {
    return RangeKernel<Lanes, kOp, kTakesFactors, 2>::Run(sources, factors, 2, destination, count);
  }
  if constexpr (kCommon) {
    using K3 = RangeKernel<Lanes, kOp, false, 3>;
    using K4 = RangeKernel<Lanes, kOp, false, 4>;
    using K8 = RangeKernel<Lanes, kOp, false, 8>;
    if (source_count == 3) return K3::Run(sources, factors, 3, destination, count);
    if (source_count == 4) return K4::Run(sources, factors, 4, destination, count);
    if (source_count == 8) return K8::Run(sources, factors, 8, destination, count);
  }
  RangeKernel<Lanes, kOp, kTakesFactors, 0>::Run(sources, factors, source_count, destination,
                                                 count);
}

template <class Lanes, ReduceOp kOp>
constexpr void AddOp(KernelTable& table, DataType type) {
  auto& entry = table.kernels[static_cast<int>(type)][static_cast<int>(kOp)];
  entry[0] = RunKernel<Lanes, kOp, false>;
  entry[1] = RunKernel<Lanes, kOp, true>;
}

template <class Lanes>
constexpr void AddType(KernelTable& table, DataType type) {
  AddOp<Lanes, ReduceOp::kSum>(table, type);
  AddOp<Lanes, ReduceOp::kProduct>(table, type);
  AddOp<Lanes, ReduceOp::kMax>(table, type);
  AddOp<Lanes, ReduceOp::kMin>(table, type);
}

constexpr KernelTable MakeKernelTable(const char* name) {
  KernelTable table{name, {}};
  AddType<IntegerLanes<uint8_t, int8_t>>(table, DataType::kInt8);
  AddType<IntegerLanes<uint8_t, uint8_t>>(table, DataType::kUint8);
  AddType<IntegerLanes<uint32_t, int32_t>>(table, DataType::kInt32);
  AddType<IntegerLanes<uint32_t, uint32_t>>(table, DataType::kUint32);
  AddType<IntegerLanes<uint64_t, int64_t>>(table, DataType::kInt64);
  AddType<IntegerLanes<uint64_t, uint64_t>>(table, DataType::kUint64);
  AddType<Float16Lanes>(table, DataType::kFloat16);
  AddType<Float32Lanes>(table, DataType::kFloat32);
  AddType<Float64Lanes>(table, DataType::kFloat64);
  AddType<Bfloat16Lanes>(table, DataType::kBfloat16);
  AddType<Float8E4m3Lanes>(table, DataType::kFloat8E4m3);
  AddType<Float8E5m2Lanes>(table, DataType::kFloat8E5m2);
  return table;
}

}  // namespace
}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_VECTOR_KERNELS_H_
