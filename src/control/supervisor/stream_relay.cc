#include "stream_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace phalanx::control {

StreamRelay::StreamRelay(asio::io_context& loop, Fd source, LineLabeller labeller,
                         std::shared_ptr<OutputSink> sink, std::function<void()> done)
    : source_(loop, source.Release()),
      labeller_(std::move(labeller)),
      sink_(std::move(sink)),
      done_(std::move(done)) {
  source_.non_blocking(true);
}

void StreamRelay::Read() {
  if (finished_) return;
  if (sink_->broken()) return Finish();
  if (sink_->full()) return sink_->WhenWritable([self = shared_from_this()] { self->Read(); });
  // Waits first and reads then, so that no byte is ever in a completion that EndNow overtakes.
  source_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       if (self->finished_) return;
                       if (error || self->PassSome() == 0) return self->Finish();
                       self->Read();
                     });
}

ssize_t StreamRelay::PassSome() {
  ssize_t count;
  do {
    count = read(source_.native_handle(), bytes_.data(), bytes_.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return count;
  text_.clear();
  labeller_.Feed(std::string_view(bytes_.data(), static_cast<size_t>(count)), &text_);
  sink_->Write(text_);
  return count;
}

void StreamRelay::EndNow() {
  if (finished_) return;
  // Bounded: whoever still holds the pipe may go on writing for ever.
  ssize_t left = OutputSink::kFullBytes;
  while (left > 0) {
    const ssize_t count = PassSome();
    if (count <= 0) break;
    left -= count;
  }
  Finish();
}

void StreamRelay::Finish() {
  finished_ = true;
  text_.clear();
  labeller_.Finish(&text_);
  sink_->Write(text_);
  asio::error_code ignored;
  source_.close(ignored);
  std::exchange(done_, nullptr)();
}

}  // namespace phalanx::control
