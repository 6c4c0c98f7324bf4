// What came of the runs of each scenario, as a table and as JSON. Pure.
#ifndef PHALANX_FAULT_STRESS_SUMMARY_H_
#define PHALANX_FAULT_STRESS_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verdict.h"

namespace phalanx::stress {

struct Row {
  std::string scenario;
  int runs = 0;
  int faults = 0;
  int corrupt_copies = 0;
  int hangs = 0;
  int wrong = 0;
  int lost = 0;
  int left = 0;
  std::vector<Recovery> recoveries;
};

class Summary {
 public:
  explicit Summary(const std::vector<std::string>& scenarios);

  void Add(const std::string& scenario, const Outcome& outcome, const Verdict& verdict);

  // Of the scenarios that ran.
  std::string Table() const;
  std::string Json(uint64_t seed, bool interrupted) const;
  bool AllGood() const;

 private:
  std::vector<Row> rows_;
};

// The value that this share of them is at most: 0.5 is the median. 0 of none.
int64_t Quantile(std::vector<int64_t> values, double share);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_SUMMARY_H_
