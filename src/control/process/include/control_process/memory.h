// How much memory this process may still take.
#ifndef PHALANX_CONTROL_PROCESS_MEMORY_H_
#define PHALANX_CONTROL_PROCESS_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace phalanx::control {

// Bytes that can be taken without swapping, by the kernel's estimate, and without reaching the
// limit of a control group (version 2) that this process is in: as of this moment, and shared with
// all others. UINT64_MAX: not known.
uint64_t AvailableMemory();

// The parts of it. MemAvailable of /proc/meminfo.
std::optional<uint64_t> AvailableInMachine(absl::string_view meminfo);
// Of one group, from its files memory.max, memory.current and memory.stat; file pages that are not
// in use count as available. nullopt: it has no limit.
std::optional<uint64_t> AvailableInGroup(absl::string_view max, absl::string_view current,
                                         absl::string_view stat);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_MEMORY_H_
