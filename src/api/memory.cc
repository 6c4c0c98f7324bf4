#include "phalanx/memory.h"

#include "session_state.h"

namespace phalanx {

Buffer::~Buffer() {
  if (owner_ != nullptr) owner_->domain().Free(data_);
}

}  // namespace phalanx
