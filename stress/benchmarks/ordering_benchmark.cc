// What ordering costs an operation whose order is known: its launch and its completion in the
// launch queue of one rank, with a schedule of the given length.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ordering/launch_queue.h"

namespace phalanx::stress {
namespace {

using ordering::CertifiedRun;
using ordering::Certify;
using ordering::Completed;
using ordering::FromNode;
using ordering::Issue;
using ordering::Lane;
using ordering::LaunchQueue;
using ordering::OpKind;
using ordering::Schedule;
using ordering::Signature;

constexpr Signature kSum = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};

void CertifiedOperation(benchmark::State& state) {
  LaunchQueue queue({.rank = 0, .slots = 2});
  const auto lanes = static_cast<uint16_t>(state.range(0));
  auto schedule = std::make_shared<Schedule>();
  std::vector<uint32_t> indices;
  for (uint16_t i = 0; i < lanes; ++i) {
    schedule->entries.push_back({Lane::Of({i}), kSum});
    schedule->bases.push_back({Lane::Of({i}), 0});
    indices.push_back(queue.LaneOf(Lane::Of({i})));
  }
  queue.Step(FromNode{{{0, 1}, Certify{schedule}}}, 0);
  // The first goes the long way and makes the stream known.
  uint64_t id = 1;
  queue.Step(Issue{id, indices[0], kSum, 0, false, ""}, 0);
  queue.Step(Completed{id}, 0);
  const uint64_t hash = HashOf(kSum);
  size_t at = lanes > 1 ? 1 : 0;
  for (auto _ : state) {
    const int64_t position = queue.TryLaunch(indices[at], hash, 0, ++id);
    benchmark::DoNotOptimize(position);
    if (position == CertifiedRun::kNotLaunched || !queue.CompleteLaunched(position)) {
      state.SkipWithError("it left the certified path");
      break;
    }
    if (++at == lanes) at = 0;
  }
}
BENCHMARK(CertifiedOperation)->Arg(1)->Arg(16)->Arg(1024);

}  // namespace
}  // namespace phalanx::stress

BENCHMARK_MAIN();
