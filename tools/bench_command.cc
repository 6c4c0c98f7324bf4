#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "command_line.h"
#include "stress/benchmark.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Times are microseconds of one operation, the mean of a loop, on the slowest rank. algbw is size / time;
busbw corrects it for the number of ranks, as nccl-tests does. #wrong counts elements, with --check.

Without a job it starts one on this machine; inside of one (`phalanx run -- phalanx bench …`) it is a rank
of that.

Examples:
  phalanx bench all_reduce --ranks 4 --min 8 --max 64M --check
  phalanx bench all_gather --ranks 2 --transport ucx --json gather.json)";

struct BenchOptions {
  stress::BenchmarkSettings settings;
  int ranks = 2;
  std::string min = "8";
  std::string max = "64M";
  std::string type = "float32";
  std::string op = "sum";
  std::string transport = "auto";
};

void AddOptions(CLI::App& command, BenchOptions* options) {
  stress::BenchmarkSettings& settings = options->settings;
  command
      .add_option("COLLECTIVE", settings.collective,
                  absl::StrCat("One of ", absl::StrJoin(stress::BenchmarkNames(), ", ")))
      ->check(CLI::IsMember(stress::BenchmarkNames()))
      ->required();
  command.add_option("--ranks", options->ranks, "Processes to start on this machine")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("-b,--min", options->min, "Smallest size, in bytes")->capture_default_str();
  command.add_option("-e,--max", options->max, "Largest size")->capture_default_str();
  command.add_option("-f,--factor", settings.factor, "From one size to the next")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  command
      .add_option("-n,--iters", settings.iterations,
                  "Operations a measurement; default: as many as fill --loop-ms")
      ->check(CLI::Range(1, 100'000'000));
  command.add_option("-w,--warmup", settings.warmup, "Operations before a measurement")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--loop-ms", settings.loop_ms, "How long a measurement should take")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  command.add_option("-d,--type", options->type, "Element type")->capture_default_str();
  command.add_option("-o,--op", options->op, "Reduction")->capture_default_str();
  command.add_option("-r,--root", settings.root, "Root, where there is one")->capture_default_str();
  command.add_option("--transport", options->transport, "auto, shm, ucx or ofi")
      ->check(CLI::IsMember({"auto", "shm", "ucx", "ofi"}))
      ->capture_default_str();
  command
      .add_option("--buffers", settings.buffers, "allocated (by the library), ordinary, or both")
      ->check(CLI::IsMember({"allocated", "ordinary", "both"}))
      ->capture_default_str();
  command.add_flag("-c,--check", settings.check, "Check the results");
  command.add_option("--json", settings.json_path, "Write the figures there")->type_name("FILE");
  command.footer(kFooter);
}

absl::Status Complete(BenchOptions* options) {
  stress::BenchmarkSettings& settings = options->settings;
  absl::StatusOr<size_t> min = stress::ParseSize(options->min);
  if (!min.ok()) return min.status();
  absl::StatusOr<size_t> max = stress::ParseSize(options->max);
  if (!max.ok()) return max.status();
  if (*min == 0 || *max < *min) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min ", options->min, " must be positive and at most --max ", options->max));
  }
  absl::StatusOr<DataType> type = stress::ParseDataType(options->type);
  if (!type.ok()) return type.status();
  absl::StatusOr<ReduceOp> op = stress::ParseReduceOp(options->op);
  if (!op.ok()) return op.status();
  settings.min_bytes = *min;
  settings.max_bytes = *max;
  settings.type = *type;
  settings.op = *op;
  return absl::OkStatus();
}

int Fail(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "phalanx: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

}  // namespace

int BenchCommand(const std::vector<std::string>& arguments) {
  BenchOptions options;
  CLI::App command("Time a collective over a range of sizes.", "phalanx bench");
  AddOptions(command, &options);
  int exit_code = 0;
  if (!Parse(command, arguments, &exit_code)) return exit_code;
  if (const absl::Status status = Complete(&options); !status.ok()) {
    return Fail(status, kExitUsage);
  }
  absl::StatusOr<Options> job = Options::FromEnvironment();
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->world_size == 0) {
    std::vector<std::string> run = {
        "-n", absl::StrCat(options.ranks), "--no-label", "--", "/proc/self/exe", "bench"};
    run.insert(run.end(), arguments.begin(), arguments.end());
    return RunCommand(run);
  }
  if (options.transport != "auto") job->transport = options.transport;
  const absl::Status status = stress::RunBenchmark(options.settings, *job);
  return status.ok() ? 0 : Fail(status, kExitFailure);
}

}  // namespace phalanx::tools
