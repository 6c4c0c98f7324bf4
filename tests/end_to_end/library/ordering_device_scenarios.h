// Scenarios about order in which threads, devices and graphs take part.
#ifndef PHALANX_TESTS_ORDERING_DEVICE_SCENARIOS_H_
#define PHALANX_TESTS_ORDERING_DEVICE_SCENARIOS_H_

#include <map>
#include <string>

#include "ordering_rank.h"

namespace phalanx::testing_support {

using Scenarios = std::map<std::string, void (*)(Rank&)>;

Scenarios DeviceScenarios();

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_ORDERING_DEVICE_SCENARIOS_H_
