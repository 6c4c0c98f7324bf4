// How often programs that issue their collectives out of order deadlock: by a plain launch order as
// published simulations model it, and through Phalanx's ordering cores. No processes, no sockets.
#ifndef PHALANX_SIMULATE_DEADLOCK_H_
#define PHALANX_SIMULATE_DEADLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "simulate/rate.h"

namespace phalanx::simulate {

// Ranks that do `collectives` collectives together in a round.
struct Group {
  std::vector<int> ranks;
  int collectives = 0;
};

enum class Model : uint8_t {
  // A rank's device takes one collective at a time, in the order of issue.
  kSingleQueue,
  // A device takes any number; ranks wait for the whole device at random moments.
  kSynchronisation,
};

// How a program names its collectives to Phalanx, and so what a wait for the device waits for.
enum class Interface : uint8_t {
  kKey,     // by key, apart from the streams: for what is launched on the device
  kStream,  // in a stream, where an operation that isn't launched leaves a wait: for what is issued
};

struct DeadlockConfig {
  std::string name;
  std::vector<Group> groups;
  int ranks = 0;  // 0 … ranks-1, each in at least one group
  Model model = Model::kSingleQueue;
  Interface interface = Interface::kKey;
  double disorder = 0;         // probability to pass over the collective that would be next
  double synchronisation = 0;  // probability that a step is a wait for the device
  uint64_t rounds = 0;         // of the plain launch order
  uint64_t phalanx_rounds = 0;
  uint64_t seed = 1;
  int slots = 1;  // collectives that a device under Phalanx holds at once
  int ranks_per_node = 8;
  struct Published {
    double rate = 0;
    uint64_t rounds = 0;  // 0: not known
    std::string source;
  };
  std::optional<Published> published;
};

// Of a JSON text; docs/simulate.md names the fields. An error names the field and what it may be.
absl::StatusOr<DeadlockConfig> ParseDeadlockConfig(const std::string& text);
absl::StatusOr<DeadlockConfig> ReadDeadlockConfig(const std::string& path);

struct DeadlockResult {
  Rate plain;               // deadlocks by the published rule
  Rate plain_exact;         // rounds that really can't go on
  Rate phalanx;             // rounds that don't end: neither complete nor explained
  Rate explained;           // rounds that Phalanx ends with a report, since no order completes them
  uint64_t impossible = 0;  // of Phalanx's rounds, those that no order completes
  uint64_t collectives = 0;  // that completed through Phalanx
  uint64_t tickets = 0;
};

// Both simulate the same programs: round r of one is round r of the other.
DeadlockResult SimulateDeadlock(const DeadlockConfig& config);

std::string DeadlockText(const DeadlockConfig& config, const DeadlockResult& result);
absl::Status WriteDeadlockJson(const DeadlockConfig& config, const DeadlockResult& result,
                               const std::string& path);

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_DEADLOCK_H_
