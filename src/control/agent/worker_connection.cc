#include "worker_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::control {
namespace {

using LocalSocket = asio::local::stream_protocol::socket;

// A worker sends one descriptor, with its Join; more are closed at once.
constexpr size_t kMostFdsHeld = 1;

}  // namespace

WorkerConnection::WorkerConnection(LocalSocket socket)
    : socket_(std::move(socket)), retry_(socket_.get_executor()) {
  asio::error_code ignored;
  socket_.native_non_blocking(true, ignored);
}

absl::StatusOr<int> WorkerConnection::PeerPid() {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return absl::UnavailableError(absl::StrCat("SO_PEERCRED: ", strerror(errno)));
  }
  if (peer.uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("pid ", peer.pid, " belongs to user ", peer.uid, ", not to ours"));
  }
  return peer.pid;
}

void WorkerConnection::Start(Handlers handlers) {
  handlers_ = std::move(handlers);
  AwaitReadable();
}

void WorkerConnection::AwaitReadable() {
  socket_.async_wait(LocalSocket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       if (error || self->closed_) return;
                       self->OnReadable();
                       if (!self->closed_) self->AwaitReadable();
                     });
}

void WorkerConnection::OnReadable() {
  const auto self = shared_from_this();  // a handler may let go of us
  while (!closed_) {
    absl::StatusOr<std::optional<std::string>> frame = reader_.Next();
    if (!frame.ok()) return End(frame.status());
    if (frame->has_value()) {
      absl::StatusOr<Message> message = Decode(**frame);
      if (!message.ok()) return End(message.status());
      handlers_.message(*std::move(message));
      continue;
    }
    const absl::StatusOr<bool> more = ReadSome();
    if (!more.ok())
      return End(absl::IsOutOfRange(more.status()) ? absl::OkStatus() : more.status());
    if (!*more) return;
  }
}

// OUT_OF_RANGE at the end of file.
absl::StatusOr<bool> WorkerConnection::ReadSome() {
  char bytes[16384];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  iovec part{bytes, sizeof(bytes)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got = ::recvmsg(socket_.native_handle(), &header, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return false;
    if (errno == ECONNRESET) return absl::OutOfRangeError("reset");
    return absl::UnavailableError(strerror(errno));
  }
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      Fd owned(fd);
      if (fds_.size() < kMostFdsHeld) fds_.push_back(std::move(owned));
    }
  }
  if (got == 0) return absl::OutOfRangeError("end of file");
  reader_.Append(absl::string_view(bytes, static_cast<size_t>(got)));
  return true;
}

std::optional<Fd> WorkerConnection::TakeFd() {
  if (fds_.empty()) return std::nullopt;
  Fd fd = std::move(fds_.front());
  fds_.pop_front();
  return fd;
}

void WorkerConnection::Send(const Message& message, std::vector<SharedFd> fds) {
  PHX_CHECK(fds.size() <= kMostFdsPerMessage);
  if (closed_) return;
  outgoing_.push_back(Outgoing{Frame(Encode(message)), 0, std::move(fds)});
  if (!waiting_to_write_) Write();
}

ssize_t WorkerConnection::SendPart(const Outgoing& outgoing) {
  iovec part{const_cast<char*>(outgoing.bytes.data()) + outgoing.sent,
             outgoing.bytes.size() - outgoing.sent};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFdsPerMessage)] = {};
  if (outgoing.sent == 0 && !outgoing.fds.empty()) {
    const size_t bytes = outgoing.fds.size() * sizeof(int);
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(bytes);
    for (size_t i = 0; i < outgoing.fds.size(); ++i) {
      const int fd = outgoing.fds[i]->get();
      std::memcpy(CMSG_DATA(item) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  return ::sendmsg(socket_.native_handle(), &header, MSG_NOSIGNAL);
}

void WorkerConnection::Write() {
  while (!closed_ && !outgoing_.empty()) {
    Outgoing& outgoing = outgoing_.front();
    const ssize_t sent = SendPart(outgoing);
    if (sent >= 0) {
      outgoing.sent += static_cast<size_t>(sent);
      if (outgoing.sent == outgoing.bytes.size()) outgoing_.pop_front();
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS) {
      AwaitWritable();
      return;
    }
    // The reader finds the end, with what the worker had said before it.
    outgoing_.clear();
  }
}

void WorkerConnection::AwaitWritable() {
  waiting_to_write_ = true;
  const auto go_on = [self = shared_from_this()](const asio::error_code& error) {
    self->waiting_to_write_ = false;
    if (!error) self->Write();
  };
  if (errno == ETOOMANYREFS) {
    // Our user has too many descriptors under way: until other workers have taken theirs.
    constexpr auto kPause = std::chrono::milliseconds(10);
    retry_.expires_after(kPause);
    retry_.async_wait(go_on);
  } else {
    socket_.async_wait(LocalSocket::wait_write, go_on);
  }
}

void WorkerConnection::End(const absl::Status& status) {
  Handlers handlers = std::exchange(handlers_, Handlers{});
  Close();
  if (handlers.closed) handlers.closed(status);
}

void WorkerConnection::Close() {
  closed_ = true;
  outgoing_.clear();
  fds_.clear();
  retry_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace phalanx::control
