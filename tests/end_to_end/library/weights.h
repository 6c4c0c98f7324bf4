// What `train` prints of its ranks' weights.
#ifndef PHALANX_TESTS_END_TO_END_LIBRARY_WEIGHTS_H_
#define PHALANX_TESTS_END_TO_END_LIBRARY_WEIGHTS_H_

#include <string>
#include <vector>

namespace phalanx::testing_support {

// What follows "weights " on each line that has it.
inline std::vector<std::string> Digests(const std::string& output) {
  const std::string word = "weights ";
  std::vector<std::string> digests;
  for (size_t at = output.find(word); at != std::string::npos; at = output.find(word, at + 1)) {
    digests.push_back(output.substr(at + word.size(), 16));
  }
  return digests;
}

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_LIBRARY_WEIGHTS_H_
