// Where a node's ranks run.
#ifndef PHALANX_API_PLACEMENT_H_
#define PHALANX_API_PLACEMENT_H_

namespace phalanx::api {

// Moves the calling thread to a processor of its own if the node's ranks fit its processors, and
// leaves it free to move again. Ranks that start on one processor give it to each other at every
// wait, which looks like one busy processor to the kernel, so it wouldn't part them for a long
// time.
void StartApart(int local_rank, int local_size);

}  // namespace phalanx::api

#endif  // PHALANX_API_PLACEMENT_H_
