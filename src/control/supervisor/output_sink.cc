#include "control_supervisor/output_sink.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "asio/post.hpp"

namespace phalanx::control {

OutputSink::OutputSink(asio::io_context& loop, int fd) : loop_(loop), fd_(fd), waiter_(loop) {}

std::shared_ptr<OutputSink> OutputSink::Create(asio::io_context& loop, int fd) {
  std::shared_ptr<OutputSink> sink(new OutputSink(loop, fd));
  sink->Open(fd);
  return sink;
}

OutputSink::Pair OutputSink::CreatePair(asio::io_context& loop, int output_fd, int error_fd) {
  struct stat output = {};
  struct stat error = {};
  const bool same = fstat(output_fd, &output) == 0 && fstat(error_fd, &error) == 0 &&
                    output.st_dev == error.st_dev && output.st_ino == error.st_ino;
  Pair pair;
  pair.output = Create(loop, output_fd);
  pair.error = same ? pair.output : Create(loop, error_fd);
  return pair;
}

void OutputSink::Open(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    broken_ = true;
    return;
  }
  const bool terminal = S_ISCHR(info.st_mode) && isatty(fd) != 0;
  if (!terminal && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode)) return;
  if (S_ISSOCK(info.st_mode)) {
    kind_ = Kind::kSocket;
  } else {
    own_.Reset(open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    kind_ = own_.get() >= 0 ? Kind::kDescription : Kind::kSmallWrites;
  }
  if (!WatchWritable()) kind_ = Kind::kDirect;
}

// asio switches what it waits for to non-blocking, so it gets an epoll descriptor of ours that in
// turn watches the shared one.
bool OutputSink::WatchWritable() {
  const int watched = own_.get() >= 0 ? own_.get() : fd_;
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event = {};
  event.events = EPOLLOUT;
  if (epoll.get() < 0 || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, watched, &event) != 0) return false;
  asio::error_code error;
  waiter_.assign(epoll.get(), error);
  if (!error) epoll.Release();
  return !error;
}

void OutputSink::Write(std::string_view bytes) {
  if (broken_) return;
  pending_.append(bytes);
  if (!awaiting_) Pump();
}

long OutputSink::WriteSome(const char* data, size_t size) {
  switch (kind_) {
    case Kind::kDirect:
      return write(fd_, data, size);
    case Kind::kDescription:
      return write(own_.get(), data, size);
    case Kind::kSocket:
      return send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::kSmallWrites:
      // Writable means that at least this much goes in without blocking.
      return write(fd_, data, std::min<size_t>(size, PIPE_BUF));
  }
  return -1;
}

void OutputSink::Pump() {
  while (!empty()) {
    const long count = WriteSome(pending_.data() + written_, pending_bytes());
    if (count >= 0) {
      written_ += static_cast<size_t>(count);
      if (kind_ == Kind::kSmallWrites && !empty()) return Await();
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Await();
    return Break();
  }
  pending_.clear();
  written_ = 0;
  RunCallbacks();
}

void OutputSink::Await() {
  if (written_ >= kFullBytes) {
    pending_.erase(0, written_);
    written_ = 0;
  }
  RunCallbacks();
  awaiting_ = true;
  waiter_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->awaiting_ = false;
                       if (!error) self->Pump();
                     });
}

void OutputSink::Break() {
  broken_ = true;
  pending_.clear();
  written_ = 0;
  RunCallbacks();
}

void OutputSink::WhenWritable(std::function<void()> callback) {
  when_writable_.push_back(std::move(callback));
  RunCallbacks();
}

void OutputSink::WhenEmpty(std::function<void()> callback) {
  when_empty_.push_back(std::move(callback));
  RunCallbacks();
}

// Posted rather than called: a callback may write to us, and Write must not run inside itself.
void OutputSink::RunCallbacks() {
  if (!full()) {
    for (auto& callback : std::exchange(when_writable_, {})) asio::post(loop_, std::move(callback));
  }
  if (empty()) {
    for (auto& callback : std::exchange(when_empty_, {})) asio::post(loop_, std::move(callback));
  }
}

void OutputSink::Abandon() {
  when_writable_.clear();
  when_empty_.clear();
  broken_ = true;
  pending_.clear();
  written_ = 0;
  asio::error_code ignored;
  waiter_.close(ignored);
}

}  // namespace phalanx::control
