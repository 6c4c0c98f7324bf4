#include "duration.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace phalanx::faults {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;

struct Unit {
  const char* name;
  int64_t length_ns;
  size_t most_digits;  // after the point: what is left is whole nanoseconds
};
// A name comes before those that it ends with.
constexpr Unit kUnits[] = {
    {"ms", kMillisecondNs, 6}, {"s", kSecondNs, 9}, {"m", 60 * kSecondNs, 9}};

bool AreDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

absl::StatusOr<int64_t> ParseDuration(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no duration; write it as 250ms, 1.5s or 2m"));
  absl::string_view number = text;
  const Unit* const unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& one) {
    return absl::ConsumeSuffix(&number, one.name);
  });
  if (unit == std::end(kUnits)) return wrong;
  const size_t point = number.find('.');
  const absl::string_view whole_digits = number.substr(0, point);
  int64_t whole = 0;
  if (!AreDigits(whole_digits) || !absl::SimpleAtoi(whole_digits, &whole)) return wrong;
  int64_t rest_ns = 0;
  if (point != absl::string_view::npos) {
    const absl::string_view digits = number.substr(point + 1);
    if (!AreDigits(digits) || digits.size() > unit->most_digits) return wrong;
    int64_t digit_ns = unit->length_ns;
    for (const char digit : digits) rest_ns += (digit - '0') * (digit_ns /= 10);
  }
  if (whole > kLongestNs / unit->length_ns || whole * unit->length_ns + rest_ns > kLongestNs) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is longer than 1000 hours"));
  }
  return whole * unit->length_ns + rest_ns;
}

std::string DurationText(int64_t duration_ns) {
  const Unit& unit = kUnits[duration_ns % kSecondNs == 0 || duration_ns > kSecondNs ? 1 : 0];
  std::string text = absl::StrCat(duration_ns / unit.length_ns);
  int64_t rest_ns = duration_ns % unit.length_ns;
  if (rest_ns > 0) text += '.';
  for (int64_t digit_ns = unit.length_ns / 10; rest_ns > 0; digit_ns /= 10) {
    text += static_cast<char>('0' + rest_ns / digit_ns);
    rest_ns %= digit_ns;
  }
  return absl::StrCat(text, unit.name);
}

}  // namespace phalanx::faults
