#include "simulate/rate.h"

#include <algorithm>
#include <cmath>

namespace phalanx::simulate {

Interval ConfidenceOf(const Rate& rate) {
  if (rate.rounds == 0) return {};
  constexpr double kZ = 1.959963984540054;
  const auto rounds = static_cast<double>(rate.rounds);
  const double share = rate.value();
  const double scale = 1 + kZ * kZ / rounds;
  const double middle = (share + kZ * kZ / (2 * rounds)) / scale;
  const double half =
      kZ * std::sqrt(share * (1 - share) / rounds + kZ * kZ / (4 * rounds * rounds)) / scale;
  // At the ends the formula gives 0 and 1 up to rounding.
  return {rate.hits == 0 ? 0 : std::max(0.0, middle - half),
          rate.hits == rate.rounds ? 1 : std::min(1.0, middle + half)};
}

}  // namespace phalanx::simulate
