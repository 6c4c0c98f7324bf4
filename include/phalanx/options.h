// How a process finds its job and what it asks of it.
#ifndef PHALANX_OPTIONS_H_
#define PHALANX_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phalanx/export.h"

namespace phalanx {

// A job's name, address and key in one printable word, for programs that start without a launcher.
// Made by one process with Session::CreateUniqueId() and given to the others by the program.
// Secret: who has it can join.
inline constexpr size_t kUniqueIdBytes = 128;  // at most, without a terminating zero

struct PHALANX_EXPORT Options {
  // Whose place this process takes. The environment: PHALANX_RANK, PHALANX_WORLD_SIZE; else
  // torchrun's RANK, WORLD_SIZE; Open MPI's OMPI_COMM_WORLD_RANK, _SIZE; MPICH's PMI_RANK,
  // PMI_SIZE; Slurm's SLURM_PROCID, SLURM_NTASKS; the first set that is there. A job has world_size
  // ranks, 0 … world_size-1; rank -1 takes whichever is free.
  int rank = -1;
  int world_size = 0;
  // Ranks on this node, if a launcher says so (PHALANX_LOCAL_WORLD_SIZE, or the same variables'
  // local forms). When they are all, no network transport is opened. 0: not known.
  int local_world_size = 0;

  // Waits in Session::Run() for a rank that is lost, and takes its place; has no rank until then.
  // PHALANX_SPARE, set by `phalanx run --spares`.
  bool spare = false;

  // How the job is found: the first of these that is given.
  std::string agent;      // PHALANX_AGENT, set by `phalanx run`
  std::string unique_id;  // PHALANX_UNIQUE_ID; from Session::CreateUniqueId()
  std::string
      address;  // PHALANX_ADDRESS: host:port where rank 0 is, or shall start, the coordinator
  std::string key_file;  // PHALANX_KEY_FILE: at least 16 secret bytes, equal on all machines

  // This process was started by its agent and ends, by SIGKILL, when that ends. PHALANX_SUPERVISED,
  // set by `phalanx run`.
  bool supervised = false;

  // "auto": shared memory within a node and, between nodes, UCX or else libfabric. Or one of "shm",
  // "ucx", "ofi" for everything. PHALANX_TRANSPORT; equal on all ranks.
  std::string transport = "auto";
  // IP address or interface for data links. Empty: loopback. PHALANX_BIND.
  std::string bind_address;
  // Room for Session::Allocate() and the library's own shared buffers. 0: half of the machine's
  // memory. Taken as it is used. PHALANX_SHARED_MEMORY, bytes or with K, M, G, T.
  size_t shared_memory_limit = 0;
  // Read ordinary buffers of other processes where the kernel permits it.
  // PHALANX_CROSS_MEMORY_ATTACH.
  bool cross_memory_attach = true;

  // How operations that not all ranks issue in the same order are kept from waiting for each other
  // for ever: "adaptive", "strict" or "off"; see docs/ordering.md. PHALANX_ORDERING; equal on all
  // ranks.
  std::string ordering = "adaptive";
  // Collectives that the device holds at once. Host memory has no such limit; giving it one shows
  // what a GPU does. 0: no limit. PHALANX_DEVICE_SLOTS; equal on all ranks.
  int device_slots = 0;
  // Session::Synchronize() also keeps what is launched meanwhile off the device until it is over,
  // as a synchronising call of a GPU's can. PHALANX_DEVICE_WAIT_HOLDS.
  bool device_wait_holds = false;
  // When nothing moves on a rank for so long while it waits, the job finds out why and reports it.
  // PHALANX_STALL_TIMEOUT, in seconds; equal on all ranks. It is looked at each 10 ms.
  std::chrono::milliseconds stall_timeout{100};
  // What becomes of operations that wait for each other, which is proven by then: "abort" (they
  // fail, and the view ends) or "warn" (it is only reported; they wait for their deadlines).
  // PHALANX_STALL_ACTION; equal on all ranks.
  std::string stall_action = "abort";

  // All-reduces that have a key (OpOptions::key) and are ready at about the same time travel as
  // one, up to so many bytes; PHALANX_FUSION_THRESHOLD, bytes or with K, M, G. 0: each by itself.
  // They wait for each other for at most the cycle time, unless somebody waits for one;
  // PHALANX_FUSION_CYCLE_TIME_MS. Both equal on all ranks. Results are the same.
  size_t fusion_threshold = 0;
  std::chrono::microseconds fusion_cycle_time{1000};

  // A process that is stopped, or an agent that nobody hears, for so long is replaced by a spare;
  // see docs/recovery.md. PHALANX_SUSPECT_AFTER_MS, from 300; equal on all ranks.
  std::chrono::milliseconds suspect_after{700};

  // PHALANX_JOIN_TIMEOUT and PHALANX_OPERATION_TIMEOUT, in seconds.
  std::chrono::milliseconds join_timeout{60'000};
  std::chrono::milliseconds operation_timeout{600'000};

  // For tests: what is to go wrong, `kill rank=2 at=step:120` and so on, with `;` between; see
  // docs/recovery.md. PHALANX_FAULTS, set by `phalanx run --fault`; equal on all ranks.
  std::string faults;
  // PHALANX_REPLICAS. How many machines keep a copy of each rank's checkpoint, its own included; 1
  // to 16. 0: two, if there are two. The same on all ranks.
  int replicas = 0;

  // What is tried, in this order, when a rank is lost in Session::Run(): "spare" (one that waits
  // takes its place), "restart" (a process that its node starts anew does, see `phalanx run
  // --max-restarts`), "shrink" (the job goes on without it; nothing does so yet) and "fail" (the
  // job ends, as it does when nothing else can be done). PHALANX_ON_LOSS; equal on all ranks.
  std::string on_loss = "spare,restart,shrink,fail";
  // View::Checkpoint() takes each so many-th step (those that end as many from the first on), and
  // returns at once at the others. PHALANX_CHECKPOINT_EVERY; equal on all ranks.
  int checkpoint_every = 1;

  // The state is the same on all ranks and changes only in View::Step(): after a loss no step is
  // taken back, and a new rank copies the state from another. PHALANX_LIVE; equal on all ranks, so
  // programs that call Step() set it themselves.
  bool live = false;

  // Least severity that is printed: "info", "warning" (default) or "error". PHALANX_LOG.
  std::string log = "warning";

  // INVALID_ARGUMENT, naming the variable, for a value that doesn't parse.
  static absl::StatusOr<Options> FromEnvironment();
  // The same over another environment; `get` returns null for what isn't set.
  static absl::StatusOr<Options> FromEnvironment(
      const std::function<const char*(const char* name)>& get);
  // FromEnvironment(), then flags: --phalanx-rank=2, --phalanx-transport=ucx and so on for every
  // PHALANX_* variable above (lower case, dashes). Takes them out of argv; the program's own stay.
  static absl::StatusOr<Options> FromFlags(int* argc, char** argv);

  // INVALID_ARGUMENT for combinations that can't work; names what is missing and how to give it.
  absl::Status Validate() const;
};

}  // namespace phalanx

#endif  // PHALANX_OPTIONS_H_
