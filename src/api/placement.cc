#include "placement.h"

#include <sched.h>

namespace phalanx::api {

void StartApart(int local_rank, int local_size) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  if (local_size < 2 || local_size > CPU_COUNT(&allowed)) return;
  int place = local_rank;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || place-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    // Both are wishes: where they aren't granted nothing is lost but time.
    if (sched_setaffinity(0, sizeof(one), &one) == 0) {
      sched_setaffinity(0, sizeof(allowed), &allowed);
    }
    return;
  }
}

}  // namespace phalanx::api
