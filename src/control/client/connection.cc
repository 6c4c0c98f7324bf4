#include "connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

// Most descriptors that the kernel lets travel with one message (SCM_MAX_FD).
constexpr size_t kMostFds = 253;
constexpr char kClosed[] = "it closed its connection";

absl::Status SetBlocking(int fd, bool blocking) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (::fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) != 0) {
    return absl::InternalError(absl::StrCat("fcntl: ", strerror(errno)));
  }
  return absl::OkStatus();
}

// connect() on a Unix socket waits only while the listener's queue is full, for at most the
// socket's send timeout.
void SetConnectTimeout(int fd, Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline.Left(Clock::now()));
  constexpr int64_t kMicroseconds = 1000000;
  constexpr int64_t kDay = 86400 * kMicroseconds;
  const int64_t bounded = std::clamp<int64_t>(left.count(), 1, kDay);
  const timeval timeout{static_cast<time_t>(bounded / kMicroseconds),
                        static_cast<suseconds_t>(bounded % kMicroseconds)};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

absl::Status CheckUser(int fd, const std::string& name) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return absl::InternalError(absl::StrCat("SO_PEERCRED: ", strerror(errno)));
  }
  if (peer.uid != ::geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("the agent at @", name, " belongs to user ",
                                                    peer.uid, ", not to us (user ", ::geteuid(),
                                                    ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Connection> Connection::Open(const std::string& name, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no name of an agent"));
  }
  // In the abstract namespace: a zero byte and the name.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());

  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return absl::UnavailableError(absl::StrCat("socket: ", strerror(errno)));
  SetConnectTimeout(socket.get(), deadline);
  while (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno == EINTR && !deadline.Passed(Clock::now())) continue;
    return absl::UnavailableError(
        absl::StrCat("no agent answers at @", name, ": ", strerror(errno)));
  }
  PHX_RETURN_IF_ERROR(CheckUser(socket.get(), name));
  PHX_RETURN_IF_ERROR(SetBlocking(socket.get(), false));
  return Connection(std::move(socket));
}

absl::Status Connection::Gone(const char* what) const {
  const std::string node = node_ < 0 ? "this node" : absl::StrCat("node ", node_);
  return absl::UnavailableError(absl::StrCat("the agent of ", node, " is gone (", what, ")"));
}

absl::Status Connection::Send(const Message& message, int fd, Deadline deadline) {
  const std::string frame = Frame(Encode(message));
  size_t sent = 0;
  while (sent < frame.size()) {
    iovec part{const_cast<char*>(frame.data()) + sent, frame.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (fd >= 0 && sent == 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof(control);
      cmsghdr* item = CMSG_FIRSTHDR(&header);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(item), &fd, sizeof(int));
    }
    const ssize_t result = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (result > 0) {
      sent += static_cast<size_t>(result);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return Gone(strerror(errno));
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError("the agent of this node takes no message");
    }
    pollfd waited{socket_.get(), POLLOUT, 0};
    constexpr int kSliceMs = 1000;
    ::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> Connection::SendSome(absl::string_view bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t result =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (result > 0) {
      sent += static_cast<size_t>(result);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      return Gone(strerror(errno));
    }
  }
  return sent;
}

absl::StatusOr<bool> Connection::ReadSome() {
  char bytes[16384];
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  iovec part{bytes, sizeof(bytes)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return false;
    // It closed without having read all that we sent.
    return Gone(errno == ECONNRESET ? kClosed : strerror(errno));
  }
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      fds_.emplace_back(fd);
    }
  }
  if (got == 0) return Gone(kClosed);
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return absl::ResourceExhaustedError(
        "no file descriptors left for the segments of this node's ranks; raise `ulimit -n`");
  }
  reader_.Append(absl::string_view(bytes, static_cast<size_t>(got)));
  return true;
}

absl::StatusOr<std::optional<Message>> Connection::Receive() {
  while (true) {
    PHX_ASSIGN_OR_RETURN(std::optional<std::string> frame, reader_.Next());
    if (frame.has_value()) {
      PHX_ASSIGN_OR_RETURN(Message message, Decode(*frame));
      return std::optional<Message>(std::move(message));
    }
    PHX_ASSIGN_OR_RETURN(const bool more, ReadSome());
    if (!more) return std::optional<Message>();
  }
}

std::optional<Fd> Connection::TakeFd() {
  if (fds_.empty()) return std::nullopt;
  Fd fd = std::move(fds_.front());
  fds_.pop_front();
  return fd;
}

}  // namespace phalanx::control
