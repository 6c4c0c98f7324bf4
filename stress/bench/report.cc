#include "report.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace phalanx::stress {
namespace {

// Gigabytes (10^9) a second.
double AlgorithmBandwidth(const Shape& shape, const Measurement& measurement) {
  return static_cast<double>(shape.bytes) / (measurement.time_us * 1000.0);
}

// "float32" where nccl-tests prints "float": unambiguous for programs.
std::string JsonTypeName(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return "float16";
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return NameOf(type);
  }
  return "unknown";
}

}  // namespace

Report::Report(const BenchmarkSettings& settings, std::string transport, int ranks,
               const Wire& wire)
    : settings_(settings), transport_(std::move(transport)), ranks_(ranks), wire_(wire) {}

void Report::Header(const std::string& buffers) {
  absl::PrintF("# %s, %d ranks, transport %s, %s buffers\n", settings_.collective, ranks_,
               transport_, buffers);
  if (wire_.is_on()) {
    absl::PrintF(
        "# emulated: %d nodes with links of %g Gbit/s; wire: bytes that the busiest node\n"
        "# sends for an operation; bound: the least time for %.3f bytes on the wire for each\n"
        "# of the 2 (N-1)/N * size that an all_reduce takes, as a part of the time\n",
        wire_.nodes(), wire_.bits_per_second() / 1e9, kWirePerPayload);
  }
  absl::PrintF("# %61s%s%34s\n", "", "out-of-place", "in-place");
  absl::PrintF("#%11s %12s %9s %7s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "size", "count",
               "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
               "busbw", "#wrong");
  absl::PrintF("#%11s %12s %9s %7s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "(B)", "(elements)",
               "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
  std::fflush(stdout);
}

void Report::PrintMeasurement(const Shape& shape, const Measurement& measurement) const {
  const double algorithm = AlgorithmBandwidth(shape, measurement);
  absl::PrintF("  %9.2f %7.2f %7.2f %6s", measurement.time_us, algorithm,
               algorithm * shape.bus_factor,
               settings_.check ? absl::StrCat(measurement.wrong) : "N/A");
}

double Report::FractionOfBound(const Shape& shape, const Measurement& measurement) const {
  // A burst of the token bucket carries much of a smaller one.
  constexpr size_t kLeastBytes = size_t{4} << 20;
  if (!wire_.is_on() || settings_.collective != "all_reduce" || shape.bytes < kLeastBytes)
    return -1;
  return wire_.LeastAllReduceUs(static_cast<double>(shape.bytes)) / measurement.time_us;
}

void Report::PrintWire(const Shape& shape, const Measurement& measurement) const {
  const double fraction = FractionOfBound(shape, measurement);
  absl::PrintF("  wire %.0f", measurement.wire_bytes);
  if (fraction >= 0) absl::PrintF(" bound %.3f", fraction);
}

void Report::Add(const Row& row) {
  const std::string& name = settings_.collective;
  const bool reduces = name == "all_reduce" || name == "reduce_scatter" || name == "reduce";
  const bool rooted =
      name == "broadcast" || name == "reduce" || name == "gather" || name == "scatter";
  absl::PrintF(" %11d %12d %9s %7s %6d", row.shape.bytes, row.shape.count, NameOf(settings_.type),
               reduces ? NameOf(settings_.op) : "none", rooted ? settings_.root : -1);
  PrintMeasurement(row.shape, row.out_of_place);
  if (row.in_place.has_value()) PrintMeasurement(row.shape, *row.in_place);
  if (wire_.is_on()) {
    PrintWire(row.shape, row.out_of_place);
    if (row.in_place.has_value()) PrintWire(row.shape, *row.in_place);
  }
  absl::PrintF("\n");
  std::fflush(stdout);
  rows_.push_back(row);
}

uint64_t Report::wrong() const {
  uint64_t wrong = 0;
  for (const Row& row : rows_) {
    wrong += row.out_of_place.wrong + (row.in_place.has_value() ? row.in_place->wrong : 0);
  }
  return wrong;
}

void Report::Footer() const {
  double sum = 0;
  int measurements = 0;
  for (const Row& row : rows_) {
    sum += AlgorithmBandwidth(row.shape, row.out_of_place) * row.shape.bus_factor;
    ++measurements;
    if (!row.in_place.has_value()) continue;
    sum += AlgorithmBandwidth(row.shape, *row.in_place) * row.shape.bus_factor;
    ++measurements;
  }
  absl::PrintF("# Out of bounds values : %d %s\n", wrong(),
               settings_.check ? (wrong() == 0 ? "OK" : "FAILED") : "(not checked)");
  absl::PrintF("# Avg bus bandwidth    : %g\n", measurements == 0 ? 0.0 : sum / measurements);
}

nlohmann::json Report::ToJson(const Row& row, const Measurement& measurement, bool in_place) const {
  const double algorithm = AlgorithmBandwidth(row.shape, measurement);
  nlohmann::json result = {{"buffer", row.buffers},
                           {"bytes", row.shape.bytes},
                           {"count", row.shape.count},
                           {"in_place", in_place},
                           {"iterations", measurement.iterations},
                           {"time_us", measurement.time_us},
                           {"algbw", algorithm},
                           {"busbw", algorithm * row.shape.bus_factor},
                           {"wrong", measurement.wrong}};
  if (!wire_.is_on()) return result;
  result["wire_bytes"] = measurement.wire_bytes;
  const double fraction = FractionOfBound(row.shape, measurement);
  if (fraction >= 0) result["fraction_of_bound"] = fraction;
  return result;
}

absl::Status Report::WriteJson(const std::string& path) const {
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : rows_) {
    results.push_back(ToJson(row, row.out_of_place, false));
    if (row.in_place.has_value()) results.push_back(ToJson(row, *row.in_place, true));
  }
  for (nlohmann::json& result : results) {
    result["collective"] = settings_.collective;
    result["transport"] = transport_;
    result["ranks"] = ranks_;
    result["type"] = JsonTypeName(settings_.type);
    result["redop"] = NameOf(settings_.op);
  }
  std::ofstream file(path);
  file << nlohmann::json{{"results", results}}.dump(1) << "\n";
  file.close();
  if (file) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("can't write ", path));
}

}  // namespace phalanx::stress
