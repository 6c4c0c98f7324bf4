// Where a job's checkpoints are kept beyond its end, as `phalanx run --persist` says.
#ifndef PHALANX_CONTROL_PROTOCOL_PERSIST_SETTINGS_H_
#define PHALANX_CONTROL_PROTOCOL_PERSIST_SETTINGS_H_

#include <string>

namespace phalanx::control {

struct PersistSettings {
  std::string folder;  // an absolute path, the same folder on all nodes; empty: nowhere
  int every = 1;       // each `every`th committed version
  int keep = 2;        // so many of the newest stay; 0: all

  bool is_on() const { return !folder.empty(); }
  bool operator==(const PersistSettings&) const = default;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_PERSIST_SETTINGS_H_
