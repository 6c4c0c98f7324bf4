#include "measure.h"

#include <algorithm>
#include <chrono>

namespace phalanx::stress {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kMinIterations = 5;
constexpr int kMaxIterations = 100'000;

// Mean microseconds of `iterations` operations on this rank.
absl::StatusOr<double> Loop(Communicator& communicator, Trial& trial, int iterations) {
  if (const absl::Status status = communicator.Barrier().Wait(); !status.ok()) return status;
  const auto start = SteadyClock::now();
  for (int i = 0; i < iterations; ++i) {
    if (const absl::Status status = trial.Start().Wait(); !status.ok()) return status;
  }
  const std::chrono::duration<double, std::micro> elapsed = SteadyClock::now() - start;
  return elapsed.count() / iterations;
}

absl::StatusOr<double> Agree(Communicator& communicator, double value, ReduceOp op) {
  const absl::Status status =
      communicator.AllReduce(&value, &value, 1, DataType::kFloat64, op).Wait();
  if (!status.ok()) return status;
  return value;
}

absl::StatusOr<double> SentBytes(const Wire& wire) {
  if (!wire.is_on()) return 0.0;
  return wire.SentBytes();
}

}  // namespace

absl::StatusOr<Measurement> Measure(const BenchmarkSettings& settings, Communicator& communicator,
                                    Trial& trial, const Wire& wire, const Shape& shape,
                                    bool in_place) {
  Measurement result;
  trial.Prepare(shape, in_place);
  if (settings.check) {
    if (const absl::Status status = trial.Start().Wait(); !status.ok()) return status;
    const auto wrong = static_cast<double>(trial.CountWrong());
    const absl::StatusOr<double> all = Agree(communicator, wrong, ReduceOp::kSum);
    if (!all.ok()) return all.status();
    result.wrong = static_cast<uint64_t>(*all);
    trial.Prepare(shape, in_place);
  }
  absl::StatusOr<double> mean = Loop(communicator, trial, std::max(settings.warmup, 1));
  if (mean.ok()) mean = Agree(communicator, *mean, ReduceOp::kMax);
  if (!mean.ok()) return mean.status();
  result.iterations = settings.iterations;
  if (result.iterations <= 0) {
    const double fitting = settings.loop_ms * 1000.0 / std::max(*mean, 0.01);
    result.iterations =
        static_cast<int>(std::clamp<double>(fitting, kMinIterations, kMaxIterations));
  }
  const absl::StatusOr<double> sent_before = SentBytes(wire);
  if (!sent_before.ok()) return sent_before.status();
  mean = Loop(communicator, trial, result.iterations);
  if (mean.ok()) mean = Agree(communicator, *mean, ReduceOp::kMax);
  if (!mean.ok()) return mean.status();
  result.time_us = *mean;
  if (!wire.is_on()) return result;
  absl::StatusOr<double> sent = SentBytes(wire);
  if (sent.ok()) sent = Agree(communicator, *sent - *sent_before, ReduceOp::kMax);
  if (!sent.ok()) return sent.status();
  result.wire_bytes = *sent / result.iterations;
  return result;
}

}  // namespace phalanx::stress
