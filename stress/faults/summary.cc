#include "summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace phalanx::stress {
namespace {

struct Phase {
  const char* name;
  int64_t Recovery::*us;
};
constexpr Phase kPhases[] = {{"recovered", &Recovery::total_us},
                             {"ranks_back", &Recovery::returned_us},
                             {"restored", &Recovery::restored_us}};

std::vector<int64_t> TimesOf(const Row& row, const Phase& phase) {
  std::vector<int64_t> times;
  for (const Recovery& recovery : row.recoveries) times.push_back(recovery.*phase.us);
  return times;
}

double Milliseconds(int64_t us) { return static_cast<double>(us) / 1000; }

}  // namespace

int64_t Quantile(std::vector<int64_t> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto index = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(index, values.size() - 1)];
}

Summary::Summary(const std::vector<std::string>& scenarios) {
  for (const std::string& scenario : scenarios) rows_.push_back({scenario});
}

void Summary::Add(const std::string& scenario, const Outcome& outcome, const Verdict& verdict) {
  Row& row = *std::find_if(rows_.begin(), rows_.end(),
                           [&](const Row& candidate) { return candidate.scenario == scenario; });
  ++row.runs;
  row.faults += outcome.history.faults;
  row.corrupt_copies += outcome.history.corrupt_copies;
  row.hangs += verdict.hung ? 1 : 0;
  row.wrong += verdict.wrong ? 1 : 0;
  row.lost += verdict.lost ? 1 : 0;
  row.left += verdict.left ? 1 : 0;
  row.recoveries.insert(row.recoveries.end(), outcome.history.recoveries.begin(),
                        outcome.history.recoveries.end());
}

std::string Summary::Table() const {
  size_t width = 8;
  for (const Row& row : rows_) width = std::max(width, row.scenario.size());
  std::string table = absl::StrFormat(
      "%-*s %5s %6s %10s %5s %5s %5s %5s  %15s  %15s  %15s\n%-*s %5s %6s %10s %5s %5s %5s %5s  "
      "%15s  %15s  %15s\n",
      width, "", "", "", "", "", "", "lost", "left", "recovered, ms", "ranks back", "restored",
      width, "scenario", "runs", "faults", "recoveries", "hangs", "wrong", "ckpt", "over",
      "p50 / p99", "p50 / p99", "p50 / p99");
  for (const Row& row : rows_) {
    if (row.runs == 0) continue;
    absl::StrAppendFormat(&table, "%-*s %5d %6d %10d %5d %5d %5d %5d", width, row.scenario,
                          row.runs, row.faults, row.recoveries.size(), row.hangs, row.wrong,
                          row.lost, row.left);
    for (const Phase& phase : kPhases) {
      const std::vector<int64_t> times = TimesOf(row, phase);
      const std::string text =
          times.empty() ? "-"
                        : absl::StrFormat("%.1f / %.1f", Milliseconds(Quantile(times, 0.5)),
                                          Milliseconds(Quantile(times, 0.99)));
      absl::StrAppendFormat(&table, "  %15s", text);
    }
    table += '\n';
  }
  return table;
}

std::string Summary::Json(uint64_t seed, bool interrupted) const {
  nlohmann::ordered_json json = {{"seed", seed}, {"interrupted", interrupted}};
  json["scenarios"] = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json entry = {{"scenario", row.scenario},
                                    {"runs", row.runs},
                                    {"faults", row.faults},
                                    {"recoveries", row.recoveries.size()},
                                    {"hangs", row.hangs},
                                    {"wrong_results", row.wrong},
                                    {"lost_checkpoints", row.lost},
                                    {"left_over", row.left},
                                    {"corrupt_copies", row.corrupt_copies}};
    for (const Phase& phase : kPhases) {
      if (row.recoveries.empty()) continue;
      const std::vector<int64_t> times = TimesOf(row, phase);
      entry[absl::StrCat(phase.name, "_ms")] = {
          {"p50", Milliseconds(Quantile(times, 0.5))},
          {"p99", Milliseconds(Quantile(times, 0.99))},
          {"max", Milliseconds(*std::max_element(times.begin(), times.end()))}};
    }
    json["scenarios"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

bool Summary::AllGood() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) {
    return row.hangs + row.wrong + row.lost + row.left == 0;
  });
}

}  // namespace phalanx::stress
