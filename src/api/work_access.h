// How the library makes a Work; users can't.
#ifndef PHALANX_API_WORK_ACCESS_H_
#define PHALANX_API_WORK_ACCESS_H_

#include <memory>
#include <utility>
#include <vector>

#include "engine/operation.h"
#include "phalanx/work.h"

namespace phalanx {

class WorkAccess {
 public:
  // Takes over one reference of `operation`.
  static Work Make(engine::Operation* operation) { return Work(operation); }
  // Done when all of `parts`, at least one, are.
  static Work Join(std::vector<Work> parts) {
    Work work = std::move(parts.front());
    parts.erase(parts.begin());
    if (!parts.empty()) work.more_ = std::make_shared<std::vector<Work>>(std::move(parts));
    return work;
  }
};

}  // namespace phalanx

#endif  // PHALANX_API_WORK_ACCESS_H_
