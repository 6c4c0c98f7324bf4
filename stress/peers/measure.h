// How every peer's all-reduce is measured, so that the figures mean the same thing: float32, sum,
// in place; the mean time of an operation over an inner loop, on the slowest rank.
#ifndef PHALANX_STRESS_PEERS_MEASURE_H_
#define PHALANX_STRESS_PEERS_MEASURE_H_

#include <cstddef>

namespace phalanx::stress {

// One rank of a library under test. All calls are collective.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The operations that follow work on these elements, in place.
  virtual void Prepare(float* data, size_t count) = 0;
  virtual void AllReduce() = 0;
  // Outside of the timed loops: rank 0's value; the largest over the ranks.
  virtual double FromRankZero(double value) = 0;
  virtual double Maximum(double value) = 0;
};

// From `min_bytes`, times `factor`, up to `max_bytes`.
struct Sweep {
  size_t min_bytes = 8;
  size_t max_bytes = size_t{64} << 20;
  size_t factor = 2;
  double loop_seconds = 0.02;  // how long the timed loop of a size should take
  int min_iterations = 5;
};

// Takes --min BYTES, --max BYTES, --factor N, --loop-ms N; anything else is left to the caller.
// Returns false for a flag without a proper number.
bool ParseSweep(int argc, char** argv, Sweep* sweep);

// The value behind `flag`, or `otherwise`.
const char* Flag(int argc, char** argv, const char* flag, const char* otherwise);

// Rank 0 prints one JSON object a line:
//   {"ranks": 2, "bytes": 1024, "microseconds": 1.25, "iterations": 16000, "wrong": 0}
void MeasureAllReduce(Peer& peer, const Sweep& sweep);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_PEERS_MEASURE_H_
