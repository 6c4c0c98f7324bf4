// Cuts one stream of a worker's output into whole lines and labels each.
#ifndef PHALANX_CONTROL_SUPERVISOR_LINE_LABELLER_H_
#define PHALANX_CONTROL_SUPERVISOR_LINE_LABELLER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace phalanx::control {

// Pure and one stream's. Bytes are opaque but for '\n'. Lines stay whole so that ranks don't cut
// into each other's; a line beyond `longest_line` bytes is passed on in pieces, each labelled and
// ended like a line of its own, so that a worker which never ends its line can't fill our memory.
class LineLabeller {
 public:
  static constexpr size_t kLongestLine = size_t{1} << 20;

  // `label` goes before each line, as it is ("[2] "). Empty: lines stay whole, nothing is added,
  // and pieces of a long line follow each other unchanged.
  explicit LineLabeller(std::string label, size_t longest_line = kLongestLine)
      : label_(std::move(label)), longest_line_(longest_line) {}

  // Appends what can be passed on now to `out`.
  void Feed(std::string_view bytes, std::string* out);
  // The stream has ended: appends the last, unended line; labelled output gets its missing '\n'.
  void Finish(std::string* out);

 private:
  void EmitPiece(std::string* out);

  const std::string label_;
  const size_t longest_line_;
  std::string line_;  // the start of a line whose end hasn't come
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_LINE_LABELLER_H_
