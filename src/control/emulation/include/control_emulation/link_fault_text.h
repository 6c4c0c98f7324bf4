// What is wrong with the links of an emulated network, as commands for nft(8). Pure.
#ifndef PHALANX_CONTROL_EMULATION_LINK_FAULT_TEXT_H_
#define PHALANX_CONTROL_EMULATION_LINK_FAULT_TEXT_H_

#include <string>
#include <vector>

#include "faults/fault.h"

namespace phalanx::control {

// The table, in the hub, that frames pass on their way through the bridge, and what it counts: the
// packets that were lost to faults.
inline constexpr char kFaultTable[] = "phalanx";
inline constexpr char kLostCounter[] = "lost";

// Once, before the first LinkRules(). All frames pass.
std::string LinkTable();

// From then on exactly these faults hold, of those for which faults::IsOfNetwork(). One
// transaction: no frame sees a part of it.
//
// A link between nodes is what one's port sends to the other's; what they say to the hub goes over
// the same wires and isn't part of it. It is of a fault that names the node alone.
std::string LinkRules(const std::vector<faults::Fault>& faults);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_EMULATION_LINK_FAULT_TEXT_H_
