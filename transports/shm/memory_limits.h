// How much memory the machine and the process's control groups can still give.
#ifndef PHALANX_SHM_MEMORY_LIMITS_H_
#define PHALANX_SHM_MEMORY_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace phalanx::shm {

// The bytes of `key` ("MemAvailable", "MemTotal") in the text of /proc/meminfo.
std::optional<uint64_t> ParseMeminfo(const std::string& text, const std::string& key);
// The path of the unified hierarchy in the text of /proc/self/cgroup; empty without one.
std::string ParseCgroupPath(const std::string& text);
// What a control group can still give: `max` less `current`, reclaimable file pages not counted.
// Nothing when it is unlimited or a text isn't understood.
std::optional<uint64_t> ParseCgroupRoom(const std::string& max, const std::string& current,
                                        const std::string& stat);

// The least of what the machine and each control group (version 2) up to the root can give. A
// source that can't be read doesn't limit.
uint64_t AvailableMemory();
uint64_t PhysicalMemory();

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_MEMORY_LIMITS_H_
