#include "digits.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace train {

absl::StatusOr<std::vector<Digit>> ReadDigits(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("can't open ", path, "; give --data FILE"));
  std::vector<Digit> digits;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    Digit digit{};
    bool good = fields.size() == kPixels + 1 && absl::SimpleAtoi(fields.back(), &digit.label) &&
                digit.label >= 0 && digit.label < kClasses;
    for (size_t i = 0; good && i < kPixels; ++i) {
      int value = 0;
      good = absl::SimpleAtoi(fields[i], &value) && value >= 0 && value <= 16;
      digit.pixels[i] = static_cast<float>(value) / 16.0f;
    }
    if (!good) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":", number, ": a line has 64 values from 0 to 16 and a label from 0 to 9"));
    }
    digits.push_back(digit);
  }
  return digits;
}

std::string DefaultDigitsPath() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / "share" / "phalanx" / "digits.csv").string();
}

}  // namespace train
