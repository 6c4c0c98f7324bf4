// The table that users of nccl-tests know, and the same figures as JSON.
#ifndef PHALANX_STRESS_BENCH_REPORT_H_
#define PHALANX_STRESS_BENCH_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "measure.h"
#include "nlohmann/json_fwd.hpp"
#include "trial.h"
#include "wire.h"

namespace phalanx::stress {

struct Row {
  std::string buffers;
  Shape shape;
  Measurement out_of_place;
  std::optional<Measurement> in_place;
};

// Prints to standard output as rows come.
class Report {
 public:
  Report(const BenchmarkSettings& settings, std::string transport, int ranks, const Wire& wire);

  void Header(const std::string& buffers);
  void Add(const Row& row);
  void Footer() const;
  uint64_t wrong() const;
  // UNAVAILABLE when the file can't be written.
  absl::Status WriteJson(const std::string& path) const;

 private:
  // How near the measurement comes to what the links allow; negative: not known, or of no meaning.
  double FractionOfBound(const Shape& shape, const Measurement& measurement) const;
  void PrintWire(const Shape& shape, const Measurement& measurement) const;
  nlohmann::json ToJson(const Row& row, const Measurement& measurement, bool in_place) const;
  void PrintMeasurement(const Shape& shape, const Measurement& measurement) const;

  const BenchmarkSettings& settings_;
  const std::string transport_;
  const int ranks_;
  const Wire wire_;
  std::vector<Row> rows_;
};

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_REPORT_H_
