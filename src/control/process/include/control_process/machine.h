// Which machine this is, for what falls together with it.
#ifndef PHALANX_CONTROL_PROCESS_MACHINE_H_
#define PHALANX_CONTROL_PROCESS_MACHINE_H_

#include <string>

namespace phalanx::control {

// Equal for processes that fall together: $PHALANX_NODE_ID, else the kernel's boot id, which
// containers of one machine share; empty where there is neither.
std::string MachineId();

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_MACHINE_H_
