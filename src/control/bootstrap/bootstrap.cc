#include "control_bootstrap/bootstrap.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_process/coordinator_process.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"

namespace phalanx::control {
namespace {

constexpr absl::string_view kLoopback("127.0.0.1");

absl::StatusOr<CoordinatorProcess> StartDetached(const std::string& job, const std::string& secret,
                                                 const Endpoint& bind,
                                                 Clock::duration join_timeout) {
  CoordinatorProcessOptions options;
  PHX_ASSIGN_OR_RETURN(options.program, FindProgram());
  options.job = job;
  options.secret = secret;
  options.bind = bind;
  options.join_timeout = join_timeout;
  options.attached = false;
  return StartCoordinatorProcess(options);
}

// The user is part of the name, so that nobody takes another's by running the same job.
std::string SocketName(const UniqueId& id) {
  return absl::StrCat("phalanx/", ::geteuid(), "/", id.job, "/agent");
}

bool SomebodyListens(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket.valid() &&
         (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 ||
          errno == EAGAIN);  // a full queue: somebody is there
}

// Until the other end of a pipe is closed everywhere. False when `deadline` comes first.
bool AwaitEnd(int fd, Deadline deadline) {
  while (true) {
    pollfd waited{fd, POLLIN, 0};
    constexpr int kSliceMs = 1000;
    if (::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs)) > 0) return true;
    if (deadline.Passed(Clock::now())) return false;
  }
}

// Starts an agent and waits until it listens, or has found that another one does.
absl::Status StartAgent(const UniqueId& id, const std::string& socket_name, Deadline deadline) {
  PHX_ASSIGN_OR_RETURN(const std::string program, FindProgram());
  PHX_ASSIGN_OR_RETURN(const Fd key, PipeHolding(id.secret));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
  }
  const Fd ready(ends[0]);
  Fd child_ready(ends[1]);
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline.Left(Clock::now()));
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
  PHX_ASSIGN_OR_RETURN(
      const pid_t pid,
      Spawn(program,
            {"agent", "--detach", "--job", id.job, "--coordinator", ToString(id.coordinator),
             "--socket", socket_name, "--key-fd", absl::StrCat(key.get()), "--ready-fd",
             absl::StrCat(child_ready.get()), "--connect-timeout-ms",
             absl::StrCat(std::min(left, kLongest).count())},
            {key.get(), child_ready.get()}));
  child_ready.Reset(-1);
  PHX_ASSIGN_OR_RETURN(const int status, WaitForExit(pid, deadline));
  if (status != 0) {
    return absl::UnavailableError(
        absl::StrCat(program, " agent failed to start (wait status ", status, ")"));
  }
  if (!AwaitEnd(ready.get(), deadline)) {
    return absl::UnavailableError("the agent of this machine did not start in time");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CreatedJob> CreateUniqueId(const CreateOptions& options) {
  if (options.bind == "0.0.0.0" || options.bind == "::") {
    return absl::InvalidArgumentError(
        absl::StrCat("the coordinator can't be reached at ", options.bind,
                     "; name the address of this machine by which the other ranks reach it"));
  }
  CreatedJob created;
  created.id.job = RandomJobId();
  created.id.secret = RandomBytes(UniqueId::kSecretBytes);
  const Endpoint bind{options.bind.empty() ? std::string(kLoopback) : options.bind, 0};
  PHX_ASSIGN_OR_RETURN(
      CoordinatorProcess coordinator,
      StartDetached(created.id.job, created.id.secret, bind, options.join_timeout));
  created.id.coordinator = coordinator.endpoint;
  created.lifeline = std::move(coordinator.lifeline);
  PHX_RETURN_IF_ERROR(created.id.ToBytes().status());
  return created;
}

absl::StatusOr<AddressAndKey> ReadAddressAndKey(const char* address, const char* key_file) {
  const bool has_address = address != nullptr && *address != '\0';
  const bool has_key = key_file != nullptr && *key_file != '\0';
  if (!has_address || !has_key) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a job without launcher and unique id needs ",
        has_address ? "" : "PHALANX_ADDRESS (host:port on rank 0's machine)",
        has_address || has_key ? "" : " and ",
        has_key ? "" : "PHALANX_KEY_FILE (a file of 16 or more secret bytes)", " to be set"));
  }
  AddressAndKey result;
  absl::StatusOr<Endpoint> endpoint = ParseEndpoint(address);
  if (!endpoint.ok() || endpoint->port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("PHALANX_ADDRESS: ",
                     endpoint.ok() ? "the port must not be 0" : endpoint.status().message()));
  }
  result.coordinator = *std::move(endpoint);
  const int fd = ::open(key_file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("PHALANX_KEY_FILE: cannot open ", key_file, ": ", strerror(errno)));
  }
  struct stat facts {};
  const bool exposed = ::fstat(fd, &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  absl::StatusOr<std::string> secret = ReadToEnd(fd, kMaxSecretBytes);
  if (exposed) {
    return absl::InvalidArgumentError(
        absl::StrCat("PHALANX_KEY_FILE: ", key_file, " is open to other users; chmod 600 it"));
  }
  if (!secret.ok() || secret->size() < kMinSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_KEY_FILE: ", key_file, " must hold ",
                                                   kMinSecretBytes, " to ", kMaxSecretBytes,
                                                   " bytes"));
  }
  result.secret = *std::move(secret);
  return result;
}

UniqueId IdOf(const AddressAndKey& where) {
  // FNV-1a: any number will do that is the same on all ranks and differs between addresses.
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : ToString(where.coordinator)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  constexpr uint64_t kJobBits = (uint64_t{1} << 48) - 1;
  return UniqueId{absl::StrCat(absl::Hex(hash & kJobBits, absl::kZeroPad12)), where.coordinator,
                  where.secret};
}

absl::StatusOr<Fd> StartCoordinatorAt(const AddressAndKey& where, Clock::duration join_timeout) {
  PHX_ASSIGN_OR_RETURN(
      CoordinatorProcess coordinator,
      StartDetached(IdOf(where).job, where.secret, where.coordinator, join_timeout));
  return std::move(coordinator.lifeline);
}

absl::StatusOr<std::string> Bootstrap(const UniqueId& id, Deadline deadline) {
  PHX_RETURN_IF_ERROR(ValidateJobId(id.job));
  const std::string socket_name = SocketName(id);
  // More than one try: another process's agent may have the name and not listen yet, or be the
  // last job's, just ending.
  constexpr int kMostTries = 20;
  for (int tries = 0; tries < kMostTries && !deadline.Passed(Clock::now()); ++tries) {
    if (SomebodyListens(socket_name)) return socket_name;
    PHX_RETURN_IF_ERROR(StartAgent(id, socket_name, deadline));
  }
  if (SomebodyListens(socket_name)) return socket_name;
  return absl::UnavailableError(
      absl::StrCat("the agent of job ", id.job, " did not start on this machine"));
}

}  // namespace phalanx::control
