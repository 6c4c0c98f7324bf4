#include "control_emulation/cluster_shape.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

constexpr int kMaxRanks = 1024;  // of a node
constexpr double kLeastRate = 8e3;
constexpr double kMostRate = 100e9;

struct Unit {
  const char* name;
  uint64_t bits_per_second;
};
// A name comes before those that it ends with.
constexpr Unit kUnits[] = {
    {"gbit", 1'000'000'000}, {"mbit", 1'000'000}, {"kbit", 1'000}, {"bit", 1}};

absl::StatusOr<uint64_t> ParseRate(absl::string_view text) {
  for (const Unit& unit : kUnits) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, unit.name)) continue;
    double number = 0;
    if (!absl::SimpleAtod(digits, &number) || !std::isfinite(number)) break;
    const double rate = number * static_cast<double>(unit.bits_per_second);
    if (rate < kLeastRate || rate > kMostRate) {
      return absl::InvalidArgumentError(
          absl::StrCat("the rate '", text, "' isn't between 8kbit and 100gbit"));
    }
    return static_cast<uint64_t>(std::llround(rate));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no rate; write it as 1gbit, 200mbit or 64kbit"));
}

absl::StatusOr<int> ParseCount(absl::string_view digits, int most, absl::string_view what) {
  int count = 0;
  if (absl::SimpleAtoi(digits, &count) && count >= 1 && count <= most) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("'", digits, "' is no number of ", what, " from 1 to ", most));
}

absl::StatusOr<std::vector<int>> ParseNodes(absl::string_view text) {
  const std::vector<absl::string_view> product = absl::StrSplit(text, 'x');
  if (product.size() == 2) {
    PHX_ASSIGN_OR_RETURN(const int nodes, ParseCount(product[0], kMaxEmulatedNodes, "nodes"));
    PHX_ASSIGN_OR_RETURN(const int ranks, ParseCount(product[1], kMaxRanks, "ranks"));
    return std::vector<int>(static_cast<size_t>(nodes), ranks);
  }
  std::vector<int> all;
  for (const absl::string_view digits : absl::StrSplit(text, ',')) {
    PHX_ASSIGN_OR_RETURN(const int ranks, ParseCount(digits, kMaxRanks, "ranks"));
    all.push_back(ranks);
  }
  if (all.size() <= static_cast<size_t>(kMaxEmulatedNodes)) return all;
  return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxEmulatedNodes, " nodes"));
}

}  // namespace

absl::StatusOr<ClusterShape> ParseClusterShape(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '@');
  if (parts.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no cluster; write it as 4x2@1gbit or 1,2,4@200mbit"));
  }
  ClusterShape shape;
  PHX_ASSIGN_OR_RETURN(shape.ranks, ParseNodes(parts[0]));
  PHX_ASSIGN_OR_RETURN(shape.bits_per_second, ParseRate(parts[1]));
  return shape;
}

std::string RateText(uint64_t bits_per_second) {
  const Unit* fitting = &kUnits[3];
  for (const Unit& unit : kUnits) {
    if (bits_per_second % unit.bits_per_second != 0) continue;
    fitting = &unit;
    break;
  }
  return absl::StrCat(bits_per_second / fitting->bits_per_second, fitting->name);
}

}  // namespace phalanx::control
