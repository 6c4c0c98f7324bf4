// A job without a launcher: the creator of the id (or rank 0) starts the coordinator, the first
// process on each machine its agent. Both are the `phalanx` command, in sessions of their own; they
// end with the job, whoever dies first.
#ifndef PHALANX_CONTROL_BOOTSTRAP_BOOTSTRAP_H_
#define PHALANX_CONTROL_BOOTSTRAP_BOOTSTRAP_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_bootstrap/unique_id.h"
#include "control_process/fd.h"

namespace phalanx::control {

// A job that this process has created. While nobody has joined, its end (or the process's) ends
// the coordinator; after that the job goes on without it.
struct CreatedJob {
  UniqueId id;
  Fd lifeline;
};

struct CreateOptions {
  // IP address or host name where the coordinator listens and others reach it. Empty: loopback.
  std::string bind;
  Clock::duration join_timeout = std::chrono::seconds(60);
};

// Starts a coordinator on a free port. INVALID_ARGUMENT for an address that isn't ours, NOT_FOUND
// without the `phalanx` command.
absl::StatusOr<CreatedJob> CreateUniqueId(const CreateOptions& options);

// What the environment says about a job without id: PHALANX_ADDRESS (host:port of the coordinator)
// and PHALANX_KEY_FILE (a file of at least 16 bytes that the others can't read).
struct AddressAndKey {
  Endpoint coordinator;
  std::string secret;
};
// INVALID_ARGUMENT names what is missing or wrong. Takes the values rather than read the
// environment; null or empty: not set.
absl::StatusOr<AddressAndKey> ReadAddressAndKey(const char* address, const char* key_file);

// For rank 0 of such a job: starts the coordinator at that address. ALREADY_EXISTS when it is in
// use.
absl::StatusOr<Fd> StartCoordinatorAt(const AddressAndKey& where, Clock::duration join_timeout);
// The id of such a job, the same on all its ranks.
UniqueId IdOf(const AddressAndKey& where);

// The agent of this machine, started if there is none yet: what Client::Connect() takes.
// UNAVAILABLE when it can't be had by `deadline`, NOT_FOUND without the `phalanx` command.
absl::StatusOr<std::string> Bootstrap(const UniqueId& id, Deadline deadline);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_BOOTSTRAP_BOOTSTRAP_H_
