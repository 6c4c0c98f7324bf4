// Scenarios about order in which the operations have keys.
#ifndef PHALANX_TESTS_ORDERING_KEYED_SCENARIOS_H_
#define PHALANX_TESTS_ORDERING_KEYED_SCENARIOS_H_

#include "ordering_device_scenarios.h"

namespace phalanx::testing_support {

Scenarios KeyedScenarios();

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_ORDERING_KEYED_SCENARIOS_H_
