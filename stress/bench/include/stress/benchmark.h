// `phalanx bench`: times collectives as nccl-tests does, over a range of sizes, and checks the
// results.
#ifndef PHALANX_STRESS_BENCHMARK_H_
#define PHALANX_STRESS_BENCHMARK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phalanx/options.h"
#include "phalanx/types.h"

namespace phalanx::stress {

struct BenchmarkSettings {
  std::string collective = "all_reduce";
  size_t min_bytes = 8;
  size_t max_bytes = size_t{64} << 20;
  size_t factor = 2;
  // 0: as many as fill about loop_ms, at least 5.
  int iterations = 0;
  int warmup = 5;
  int loop_ms = 20;
  bool check = false;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  // "allocated" (Session::Allocate), "ordinary" (the program's own memory) or "both".
  std::string buffers = "allocated";
  std::string json_path;  // empty: none
};

// The names that BenchmarkSettings::collective takes.
const std::vector<std::string>& BenchmarkNames();

// "float32" or nccl-tests' "float"; "sum", "prod" …. INVALID_ARGUMENT lists what there is.
absl::StatusOr<DataType> ParseDataType(const std::string& name);
absl::StatusOr<ReduceOp> ParseReduceOp(const std::string& name);
// Bytes, with a suffix K, M or G.
absl::StatusOr<size_t> ParseSize(const std::string& text);

// Joins the job as `options` say and runs the benchmark; every rank of the job calls it. Rank 0
// prints the table and writes the JSON file. DATA_LOSS when an element was wrong.
absl::Status RunBenchmark(const BenchmarkSettings& settings, const Options& options);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCHMARK_H_
