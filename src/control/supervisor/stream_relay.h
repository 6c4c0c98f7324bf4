// Carries one stream of one worker from its pipe to a sink.
#ifndef PHALANX_CONTROL_SUPERVISOR_STREAM_RELAY_H_
#define PHALANX_CONTROL_SUPERVISOR_STREAM_RELAY_H_

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"
#include "control_supervisor/line_labeller.h"
#include "control_supervisor/output_sink.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

// Reads only while the sink has room, so that a slow reader of ours slows the worker down instead
// of filling our memory. Keeps itself alive until the stream has ended.
class StreamRelay : public std::enable_shared_from_this<StreamRelay> {
 public:
  // `done` is called once, from the loop, when the last byte is in the sink.
  StreamRelay(asio::io_context& loop, Fd source, LineLabeller labeller,
              std::shared_ptr<OutputSink> sink, std::function<void()> done);

  void Start() { Read(); }
  // Passes on what the pipe holds now and ends, though another process holds its other end.
  void EndNow();

 private:
  void Read();
  // One read, passed on; its result (0: the end, negative: nothing now).
  ssize_t PassSome();
  void Finish();

  asio::posix::stream_descriptor source_;
  LineLabeller labeller_;
  std::shared_ptr<OutputSink> sink_;
  std::function<void()> done_;
  std::array<char, 65536> bytes_;
  std::string text_;
  bool finished_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_STREAM_RELAY_H_
