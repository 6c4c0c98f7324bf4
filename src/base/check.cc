#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace phalanx {

void CheckFailed(const char* file, int line, const char* expression, const char* detail) {
  std::fprintf(stderr, "phalanx: %s:%d: check failed: %s%s%s%s\n", file, line, expression,
               *detail ? " (" : "", detail, *detail ? ")" : "");
  std::abort();
}

}  // namespace phalanx
