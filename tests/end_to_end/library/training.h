// The `train` example as a job that suffers faults; what it must come to is what it comes to
// without.
#ifndef PHALANX_TESTS_END_TO_END_LIBRARY_TRAINING_H_
#define PHALANX_TESTS_END_TO_END_LIBRARY_TRAINING_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {

inline std::vector<std::string> Train(const std::vector<std::string>& options,
                                      const std::vector<std::string>& faults, int epochs = 20) {
  std::vector<std::string> command = {PHALANX_COMMAND, "run"};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& fault : faults) {
    command.push_back("--fault");
    command.push_back(fault);
  }
  command.insert(command.end(), {"--", "train", "--epochs", std::to_string(epochs)});
  return command;
}

// Of four ranks, placed by these options (`-n 4`, or `--nodes …`).
inline const std::vector<std::string>& UndisturbedWeights(const std::vector<std::string>& placed,
                                                          int epochs = 20) {
  static auto* const known = new std::map<std::vector<std::string>, std::vector<std::string>>;
  std::vector<std::string> command = Train(placed, {}, epochs);
  std::vector<std::string>& weights = (*known)[command];
  if (weights.empty()) {
    Subprocess run(command);
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    weights = Digests(run.output());
    EXPECT_EQ(weights.size(), 4u) << run.output();
  }
  return weights;
}

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_LIBRARY_TRAINING_H_
