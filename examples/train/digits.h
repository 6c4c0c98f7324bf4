// The handwritten digits of examples/data/digits.csv.
#ifndef PHALANX_EXAMPLES_TRAIN_DIGITS_H_
#define PHALANX_EXAMPLES_TRAIN_DIGITS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace train {

inline constexpr int kPixels = 64;
inline constexpr int kClasses = 10;

struct Digit {
  std::array<float, kPixels> pixels;  // 0 … 1
  int label;                          // 0 … 9
};

// INVALID_ARGUMENT names the line that isn't 64 pixels and a label; NOT_FOUND if there is no file.
absl::StatusOr<std::vector<Digit>> ReadDigits(const std::string& path);

// Where the file lies for a program in PREFIX/bin: PREFIX/share/phalanx/digits.csv.
std::string DefaultDigitsPath();

}  // namespace train

#endif  // PHALANX_EXAMPLES_TRAIN_DIGITS_H_
