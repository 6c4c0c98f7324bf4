// The buffers that all ranks bring to one collective, and what must be in them afterwards.
#ifndef PHALANX_TESTS_SIMULATION_BUFFERS_H_
#define PHALANX_TESTS_SIMULATION_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/reduce.h"
#include "plan/collective.h"
#include "reference.h"

namespace phalanx::simulation {

// A buffer between guards, so that a byte written beside it is found.
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(size_t bytes);

  std::byte* data() { return present_ ? bytes_.data() + kGuard : nullptr; }
  const std::byte* data() const { return present_ ? bytes_.data() + kGuard : nullptr; }
  size_t size() const { return present_ ? bytes_.size() - 2 * kGuard : 0; }
  bool GuardsIntact() const;

 private:
  static constexpr size_t kGuard = 64;
  bool present_ = false;
  Bytes bytes_;
};

// The elements of a rank's buffers, and where the smaller one lies in the larger one in place.
struct Extent {
  size_t input = 0;
  size_t output = 0;
  bool has_input = true;
  bool has_output = true;
  bool can_be_in_place = true;
  size_t input_in_output = 0;
  size_t output_in_input = 0;
};
Extent ExtentOf(const plan::Collective& collective, int rank, int size);

// A collective as every rank calls it. The kinds that differ from rank to rank (all-to-all with
// counts, send and receive) have one description per rank.
class Operation {
 public:
  // `by_rank`: one collective per rank, alike where the kind is.
  Operation(std::vector<plan::Collective> by_rank, bool in_place, std::mt19937_64* random);

  int size() const { return static_cast<int>(by_rank_.size()); }
  const plan::Collective& collective(int rank) const { return by_rank_[rank]; }
  const std::byte* input(int rank) const { return inputs_[rank]; }
  std::byte* output(int rank) const { return outputs_[rank]; }
  device::Factor factor(int rank) const;

  // What is wrong after all ranks have completed; nothing if all is well.
  std::string Check() const;
  std::string Describe() const;
  // Every rank's output, in rank order: to compare runs.
  Bytes Outputs() const;

 private:
  void Place(int rank, std::mt19937_64* random);
  std::string CheckRank(int rank) const;
  std::string CheckReductions(int rank) const;
  // That `count` elements of our output are what `from` brought.
  std::string CheckBlock(int rank, size_t output_at, int from, size_t input_at, size_t count) const;

  std::vector<plan::Collective> by_rank_;
  bool in_place_;
  std::vector<double> factors_;
  std::vector<Bytes> originals_;  // inputs as they were
  std::vector<Guarded> memory_;   // two per rank; one where a rank has no other buffer
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

}  // namespace phalanx::simulation

#endif  // PHALANX_TESTS_SIMULATION_BUFFERS_H_
