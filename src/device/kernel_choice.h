// Which instruction sets this processor has.
#ifndef PHALANX_DEVICE_KERNEL_CHOICE_H_
#define PHALANX_DEVICE_KERNEL_CHOICE_H_

#include <vector>

#include "kernel_table.h"

namespace phalanx::device {

// Every table that runs on this machine, the fastest last. All give the same bits.
std::vector<const KernelTable*> UsableKernels();

// The fastest of them.
const KernelTable& ChosenKernels();

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_KERNEL_CHOICE_H_
