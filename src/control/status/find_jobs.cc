#include "control_status/find_jobs.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "control_process/fd.h"
#include "control_protocol/job.h"

namespace phalanx::control {
namespace {

constexpr char kSockets[] = "/proc/net/unix";
// A socket's flags when it listens (__SO_ACCEPTCON).
constexpr uint32_t kListens = 1U << 16;

// "phalanx/JOB/RANDOM" under a launcher, "phalanx/USER/JOB/agent" without; else empty.
std::string JobOf(const std::string& socket) {
  const std::vector<std::string> parts = absl::StrSplit(socket, '/');
  std::string job;
  if (parts[0] != "phalanx") return job;
  if (parts.size() == 3) job = parts[1];
  if (parts.size() == 4 && parts[3] == "agent") job = parts[2];
  return ValidateJobId(job).ok() ? job : "";
}

// Whether the agent at this name runs as our user; never waits.
bool IsOurs(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred peer{};
  socklen_t peer_length = sizeof(peer);
  return socket.valid() &&
         ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_length) == 0 &&
         peer.uid == ::geteuid();
}

}  // namespace

std::vector<FoundJob> JobsIn(absl::string_view sockets) {
  std::vector<FoundJob> jobs;
  for (const absl::string_view line : absl::StrSplit(sockets, '\n', absl::SkipEmpty())) {
    // Number, references, protocol, flags, type, state, inode, name.
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    constexpr size_t kFlags = 3;
    constexpr size_t kName = 7;
    uint32_t flags = 0;
    if (words.size() != kName + 1 || words[kName][0] != '@' ||
        !absl::SimpleHexAtoi(words[kFlags], &flags) || (flags & kListens) == 0) {
      continue;
    }
    const std::string agent = words[kName].substr(1);
    std::string job = JobOf(agent);
    if (!job.empty()) jobs.push_back({std::move(job), agent});
  }
  return jobs;
}

absl::StatusOr<std::vector<FoundJob>> FindJobs() {
  std::ifstream file(kSockets);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    return absl::UnavailableError(
        "/proc/net/unix can't be read, so jobs can't be found; name the agent with --agent");
  }
  std::vector<FoundJob> jobs = JobsIn(text);
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [](const FoundJob& found) { return !IsOurs(found.agent); }),
             jobs.end());
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const FoundJob& a, const FoundJob& b) { return a.job < b.job; });
  jobs.erase(std::unique(jobs.begin(), jobs.end(),
                         [](const FoundJob& a, const FoundJob& b) { return a.job == b.job; }),
             jobs.end());
  return jobs;
}

}  // namespace phalanx::control
