// How fast a range is reduced, beside a plain loop, memcpy and Highway. The arguments are the
// number of sources and the bytes of each; "input" counts the bytes of all sources.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device/reduce.h"
#ifdef PHALANX_HAS_HIGHWAY
#include "highway_sum.h"
#endif

namespace phalanx::stress {
namespace {

// Sources and a destination that don't share an offset within their pages, as such would wait for
// each other's stores; the elements are one byte pattern that is an ordinary number in every type.
class Buffers {
 public:
  Buffers(size_t source_count, size_t bytes) {
    for (size_t i = 0; i <= source_count; ++i) {
      memory_.emplace_back(bytes + (i + 1) * kSkewBytes, 0x34);
      pointers_.push_back(memory_.back().data() + i * kSkewBytes);
    }
  }

  const void* const* sources() const { return pointers_.data(); }
  void* destination() { return pointers_.back(); }

 private:
  static constexpr size_t kSkewBytes = 320;

  std::vector<std::vector<uint8_t>> memory_;
  std::vector<void*> pointers_;
};

template <typename Function>
void Measure(benchmark::State& state, Function function) {
  const auto source_count = static_cast<size_t>(state.range(0));
  const auto bytes = static_cast<size_t>(state.range(1));
  Buffers buffers(source_count, bytes);
  for (auto _ : state) {
    function(buffers.sources(), source_count, buffers.destination(), bytes);
    benchmark::ClobberMemory();
  }
  state.counters["input"] = benchmark::Counter(
      static_cast<double>(source_count * bytes) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

void MeasureReduce(benchmark::State& state, DataType type, ReduceOp op) {
  Measure(state, [&](const void* const* sources, size_t source_count, void* to, size_t bytes) {
    device::ReduceMany(type, op, {sources, source_count}, {}, to, bytes / SizeOf(type));
  });
}

[[gnu::noinline]] void PlainSum(const void* const* sources, size_t source_count, void* destination,
                                size_t bytes) {
  const auto* const* const from = reinterpret_cast<const float* const*>(sources);
  auto* const to = static_cast<float*>(destination);
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    float sum = from[0][i];
    for (size_t s = 1; s < source_count; ++s) sum += from[s][i];
    to[i] = sum;
  }
}

void Plain(benchmark::State& state) { Measure(state, PlainSum); }

void Memcpy(benchmark::State& state) {
  Measure(state, [](const void* const* sources, size_t, void* to, size_t bytes) {
    std::memcpy(to, sources[0], bytes);
  });
}

#ifdef PHALANX_HAS_HIGHWAY
void Highway(benchmark::State& state) {
  Measure(state, [](const void* const* sources, size_t source_count, void* to, size_t bytes) {
    HighwaySum(reinterpret_cast<const float* const*>(sources), source_count,
               static_cast<float*>(to), bytes / sizeof(float));
  });
}
BENCHMARK(Highway)->ArgsProduct({{2, 4, 8}, {32 << 10}});
#endif

BENCHMARK(Memcpy)->Args({1, 32 << 10})->Args({1, 16 << 20});
BENCHMARK(Plain)->ArgsProduct({{2, 4, 8}, {32 << 10}});

// float32 sums also of one element, of a tail alone and out of the cache; of the rest 2 sources.
void RegisterReductions() {
  constexpr DataType kTypes[] = {DataType::kInt8,       DataType::kInt32,     DataType::kUint64,
                                 DataType::kFloat16,    DataType::kFloat64,   DataType::kBfloat16,
                                 DataType::kFloat8E4m3, DataType::kFloat8E5m2};
  const auto sum = [](benchmark::State& state) {
    MeasureReduce(state, DataType::kFloat32, ReduceOp::kSum);
  };
  benchmark::RegisterBenchmark("Reduce/float/sum", sum)
      ->ArgsProduct({{2, 3, 4, 5, 8}, {32 << 10}})
      ->ArgsProduct({{2, 8}, {4, 60, 1024, 16 << 20}});
  for (const DataType type : kTypes) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMax}) {
      const std::string name = std::string("Reduce/") + NameOf(type) + "/" + NameOf(op);
      benchmark::RegisterBenchmark(name.c_str(), MeasureReduce, type, op)->Args({2, 32 << 10});
    }
  }
}

}  // namespace
}  // namespace phalanx::stress

int main(int argument_count, char** arguments) {
  phalanx::stress::RegisterReductions();
  benchmark::Initialize(&argument_count, arguments);
  if (benchmark::ReportUnrecognizedArguments(argument_count, arguments)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
