"""The law of the layers and the limits of style, as tables. What may be changed lies here."""

# What every room may include: its own headers, the standard library, and these.
COMMON = {"base", "absl"}

# Folder -> the rooms whose headers it may include, by the first part of the include path. The folder
# with the longest matching name counts. `phalanx/types.h` is the vocabulary, open to every room;
# "phalanx" is the whole public interface. A trailing * stands for any ending.
ROOMS = {
    "include": {"phalanx"},
    "src/base": {"base"},
    "src/device": {"device"},
    "src/plan": {"plan"},
    "ordering": {"ordering"},
    # The same messages as bytes.
    "ordering/wire": {"ordering", "ordering_wire"},
    # And as JSON, for people's programs.
    "ordering/json": {"ordering", "ordering_json"},
    "src/faults": {"faults"},
    "src/fusion": {"fusion", "ordering"},
    "src/membership": {"membership"},
    "src/topology": {"topology", "plan"},
    "transports/spi": {"spi"},
    "transports/sim": {"spi", "sim", "device"},
    "transports/shm": {"spi", "shm", "device"},
    # What ucx and ofi have in common; no transport itself.
    "transports/messaging": {"spi", "messaging"},
    "transports/ucx": {"spi", "messaging", "ucx"},
    "transports/ofi": {"spi", "messaging", "ofi"},
    "transports/nccl": {"spi", "nccl_transport", "device"},
    "src/engine": {"engine", "runner", "plan", "ordering", "device", "spi"},
    "src/engine/runner": {"runner", "plan", "device", "spi"},
    # The launch gate: ordering's launch queue at the engine.
    "src/launch": {"launch", "engine", "plan", "ordering", "device", "spi"},
    "src/control": {"control_*", "keyed_record", "faults", "membership", "ordering", "ordering_json", "ordering_wire",
                    "checkpoint", "checkpoint_digest", "checkpoint_files", "checkpoint_wire"},
    # A record under one key of a store, and the one room that speaks to etcd.
    "src/control/record/keyed": {"keyed_record"},
    "src/control/record/etcd/module": {"keyed_record"},
    "checkpoint": {"checkpoint"},
    "checkpoint/wire": {"checkpoint", "checkpoint_wire"},
    "checkpoint/digest": {"checkpoint", "checkpoint_digest"},
    "checkpoint/files": {"checkpoint", "checkpoint_digest", "checkpoint_files"},
    # The composition root: the one room that names concrete transports.
    "src/api": {"phalanx", "api", "engine", "faults", "fusion", "launch", "plan", "ordering", "ordering_wire", "device",
                "spi", "shm", "sim", "ucx", "ofi", "topology", "control_*", "checkpoint",
                "checkpoint_digest", "checkpoint_wire"},
    "nccl": {"phalanx", "nccl", "api"},
    # Programs see the public interface; the command also holds the agent and the coordinator.
    "tools": {"phalanx", "tools", "faults", "fault_stress", "control_*", "keyed_record", "stress", "simulate",
              "checkpoint_files", "checkpoint"},
    "examples": {"phalanx"},
    "stress": {"phalanx", "stress"},
    # Runs the ordering's cores by themselves.
    "stress/simulate": {"phalanx", "simulate", "ordering"},
    # Runs jobs as processes of their own.
    "stress/faults": {"fault_stress", "control_*"},
    # Microbenchmarks of single rooms.
    "stress/benchmarks": {"phalanx", "stress", "device", "ordering"},
}

# Folders that test everything and so may include everything.
UNRESTRICTED = {"tests"}

# Rooms without threads, clocks, environment, sockets, files or global randomness.
PURE = ["src/plan", "src/faults", "src/fusion", "ordering", "src/membership", "src/control/record/keyed",
        "checkpoint/core"]

PURE_FORBIDDEN_INCLUDES = [
    "atomic", "barrier", "chrono", "condition_variable", "csignal", "cstdio", "ctime", "fcntl.h",
    "filesystem", "fstream", "future", "iostream", "latch", "mutex", "poll.h", "pthread.h",
    "semaphore", "shared_mutex", "signal.h", "spawn.h", "stdio.h", "stop_token", "thread", "time.h",
    "unistd.h", "absl/synchronization/*", "absl/time/clock.h", "absl/random/*", "arpa/*", "linux/*",
    "net/*", "netinet/*", "sys/*",
]

# C functions, called unqualified or from std, that reach outside of a pure room.
PURE_FORBIDDEN_CALLS = [
    "clock", "clock_gettime", "close", "fopen", "fork", "getenv", "getpid", "gettimeofday", "mmap",
    "nanosleep", "open", "popen", "printf", "rand", "random", "read", "secure_getenv", "setenv",
    "shm_open", "socket", "srand", "syscall", "system", "time", "usleep", "write",
]

# Names that are wrong in a pure room wherever they stand.
PURE_FORBIDDEN_NAMES = ["::now", "random_device", "this_thread", "thread_local"]

# Outside libraries, by include, and the only folders that may include them.
VENDORS = {
    "ucp/*": ["transports/ucx"],
    "ucs/*": ["transports/ucx"],
    "uct/*": ["transports/ucx"],
    "rdma/*": ["transports/ofi"],
    "asio.hpp": ["src/control"],
    "asio/*": ["src/control"],
    "openssl/*": ["src/control"],
    "grpcpp/*": ["src/control/record/etcd/module"],
    "grpc/*": ["src/control/record/etcd/module"],
    "google/protobuf/*": ["src/control/record/etcd/module"],
    "flatbuffers/*": ["src/control", "ordering/wire", "checkpoint/wire"],
    "hwy/*": ["stress/benchmarks"],
    "hwloc.h": ["src/topology"],
    "isa-l*": ["checkpoint"],
    "xxhash.h": ["checkpoint"],
    "spdlog/*": ["src/base", "src/control", "tools"],
    "CLI/*": ["tools", "stress", "examples"],
    "nlohmann/*": ["tools", "stress", "ordering/json", "src/control/coordinator",
                   "src/control/status_page", "src/control/emulation", "checkpoint/files"],
    "mpi.h": ["stress/peers"],
    "gloo/*": ["stress/peers"],
    "gtest/*": [],
    "gmock/*": [],
    "cuda*": [],
    "nccl.h": [],
    "absl/log/*": [],
    "absl/synchronization/*": [],
}

# The worker's side of the control plane is loaded into user processes: no sockets library, no TLS.
_NO_SHELLS = ["asio.hpp", "asio/*", "openssl/*"]
VENDOR_FREE = {
    "src/control/" + room: _NO_SHELLS for room in ["bootstrap", "client", "process", "protocol"]
}

# Shipped code never waits by sleeping, and orders memory by the operations themselves.
SHIPPED = ["include", "src", "transports", "ordering", "checkpoint", "nccl", "tools"]
SHIPPED_FORBIDDEN = {
    r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(": "waits by sleeping",
    r"(?<![\w.>])sleep\s*\(": "waits by sleeping",
    r"\batomic_(thread|signal)_fence\b": "is a bare fence, which ThreadSanitizer can't follow",
}

# Spelled in halves so that this file passes its own check.
BANNED_WORDS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "NO" + "LINT", "HA" + "CK"]

LONGEST_FUNCTION = 70
LONGEST_FILE = 600
