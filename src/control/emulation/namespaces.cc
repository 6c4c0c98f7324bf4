#include "namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/deadline.h"
#include "base/status_macros.h"
#include "control_process/spawn.h"

namespace phalanx::control {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr size_t kFdsInMessage = 200;  // the kernel takes 253

absl::Status Failed(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

bool WriteFile(const char* path, const std::string& text) {
  const Fd file(open(path, O_WRONLY | O_CLOEXEC));
  return write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// As its root, who is still the same user to everybody else.
bool EnterUserNamespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  return unshare(CLONE_NEWUSER) == 0 && WriteFile("/proc/self/setgroups", "deny") &&
         WriteFile("/proc/self/uid_map", absl::StrCat("0 ", user, " 1")) &&
         WriteFile("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"));
}

// errno in place of the descriptors when `count` is 0.
bool SendFds(int channel, const int* fds, size_t count, int error) {
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsInMessage * sizeof(int))] = {};
  iovec bytes = {&error, sizeof(error)};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  }
  return sendmsg(channel, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(error));
}

absl::Status ReceiveFds(int channel, std::vector<Fd>* fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsInMessage * sizeof(int))] = {};
  int error = 0;
  iovec bytes = {&error, sizeof(error)};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t count;
  do {
    count = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof(error))) {
    return absl::UnavailableError("no namespaces came from the process that makes them");
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    for (size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      fds->emplace_back(fd);
    }
  }
  if (error == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "emulating a cluster needs network namespaces, which this kernel or container doesn't let us "
      "make (",
      strerror(error),
      "); run it as root, or allow user namespaces to everybody (sysctl "
      "user.max_user_namespaces, kernel.unprivileged_userns_clone, "
      "kernel.apparmor_restrict_unprivileged_userns)"));
}

// In a child: makes them one after another and hands over what holds them.
[[noreturn]] void MakeInChild(int channel, size_t networks) {
  const auto give_up = [channel] {
    SendFds(channel, nullptr, 0, errno == 0 ? EPERM : errno);
    _exit(1);
  };
  std::vector<int> fds;
  const auto open_fd = [&](const char* path) {
    fds.push_back(open(path, O_RDONLY | O_CLOEXEC));
    if (fds.back() < 0) give_up();
  };
  if (unshare(CLONE_NEWNET) == 0) {
    open_fd("/proc/self/ns/net");
  } else {
    if (!EnterUserNamespace() || unshare(CLONE_NEWNET) != 0) give_up();
    open_fd("/proc/self/ns/net");
  }
  fds.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fds.back() < 0) give_up();
  open_fd("/proc/self/ns/user");
  for (size_t i = 1; i < networks; ++i) {
    if (unshare(CLONE_NEWNET) != 0) give_up();
    open_fd("/proc/self/ns/net");
  }
  for (size_t sent = 0; sent < fds.size(); sent += kFdsInMessage) {
    const size_t count = std::min(kFdsInMessage, fds.size() - sent);
    if (!SendFds(channel, fds.data() + sent, count, 0)) _exit(1);
  }
  _exit(0);
}

// Whether entering it would be entering where we are, which isn't allowed.
bool IsOurUserNamespace(int fd) {
  struct stat given = {};
  struct stat own = {};
  return fstat(fd, &given) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
         given.st_ino == own.st_ino && given.st_dev == own.st_dev;
}

[[noreturn]] void BecomeTool(const NetworkPlace& place, const Tool& tool, int input, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const int fd : tool.kept_fds) fcntl(fd, F_SETFD, 0);
  std::vector<char*> arguments = {const_cast<char*>(tool.file.c_str())};
  for (const std::string& argument : tool.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  if (EnterNetwork(place)) execv(tool.file.c_str(), arguments.data());
  dprintf(STDERR_FILENO, "%s", strerror(errno));
  _exit(127);
}

}  // namespace

absl::StatusOr<Namespaces> MakeNamespaces(size_t networks) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Failed("socketpair");
  }
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return Failed("fork");
  if (pid == 0) MakeInChild(theirs.get(), networks);
  theirs.Reset();
  const size_t all = networks + 2;
  std::vector<Fd> fds;
  absl::Status status;
  while (status.ok() && fds.size() < all) status = ReceiveFds(ours.get(), &fds);
  const absl::Status ended = WaitForExit(pid, Deadline::After(kPatience)).status();
  PHX_RETURN_IF_ERROR(status);
  PHX_RETURN_IF_ERROR(ended);
  Namespaces made;
  made.networks.push_back(std::move(fds[0]));
  made.socket = std::move(fds[1]);
  if (!IsOurUserNamespace(fds[2].get())) made.user = std::move(fds[2]);
  for (size_t i = 3; i < fds.size(); ++i) made.networks.push_back(std::move(fds[i]));
  return made;
}

absl::StatusOr<std::string> RunTool(const NetworkPlace& place, const Tool& tool) {
  const Fd input(memfd_create("phalanx-input", MFD_CLOEXEC));
  const Fd output(memfd_create("phalanx-output", MFD_CLOEXEC));
  if (!input.valid() || !output.valid()) return Failed("memfd_create");
  const auto bytes = static_cast<ssize_t>(tool.input.size());
  if (pwrite(input.get(), tool.input.data(), tool.input.size(), 0) != bytes) {
    return Failed("writing to memory");
  }
  const pid_t pid = fork();
  if (pid < 0) return Failed("fork");
  if (pid == 0) BecomeTool(place, tool, input.get(), output.get());
  PHX_ASSIGN_OR_RETURN(const int wait_status, WaitForExit(pid, Deadline::After(kPatience)));
  std::string text(static_cast<size_t>(lseek(output.get(), 0, SEEK_END)), '\0');
  if (pread(output.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return Failed("reading from memory");
  }
  if (wait_status == 0) return text;
  return absl::UnavailableError(
      absl::StrCat(tool.file, " failed: ", absl::StripAsciiWhitespace(text)));
}

}  // namespace phalanx::control
