#include "engine/request.h"

namespace phalanx::engine {

plan::Collective Request::ToCollective() const {
  if (parts != nullptr) return *parts;
  plan::Collective collective;
  collective.kind = kind;
  collective.type = type;
  collective.op = op;
  collective.count = count;
  (is_message() ? collective.peer : collective.root) = root_or_peer;
  return collective;
}

}  // namespace phalanx::engine
