#include "control_supervisor/line_labeller.h"

#include <algorithm>

namespace phalanx::control {

void LineLabeller::Feed(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const bool whole = end != std::string_view::npos;
    const size_t length = whole ? end + 1 : bytes.size();
    const size_t room = longest_line_ - line_.size();
    if (length - (whole ? 1 : 0) > room) {
      line_.append(bytes.substr(0, room));
      bytes.remove_prefix(room);
      EmitPiece(out);
      continue;
    }
    if (whole) {
      out->append(label_).append(line_).append(bytes.substr(0, length));
      line_.clear();
    } else {
      line_.append(bytes);
    }
    bytes.remove_prefix(length);
  }
}

void LineLabeller::Finish(std::string* out) {
  if (!line_.empty()) EmitPiece(out);
}

void LineLabeller::EmitPiece(std::string* out) {
  out->append(label_).append(line_);
  if (!label_.empty()) out->push_back('\n');
  line_.clear();
}

}  // namespace phalanx::control
