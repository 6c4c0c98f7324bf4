#include "control_process/machine.h"

#include <cstdlib>
#include <fstream>

namespace phalanx::control {

std::string MachineId() {
  const char* const given = std::getenv("PHALANX_NODE_ID");
  if (given != nullptr && *given != '\0') return given;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace phalanx::control
