// Operations that are recorded once and issued again and again.
#ifndef PHALANX_GRAPH_H_
#define PHALANX_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "phalanx/communicator.h"
#include "phalanx/export.h"
#include "phalanx/stream.h"
#include "phalanx/work.h"

namespace phalanx {

// What a CUDA graph is to collectives: a sequence of calls whose arguments stay.
//
//   phalanx::Graph graph;
//   comm.AllReduce(data, data, count, type, op, {.graph = &graph});
//   for (...) graph.Launch(stream.get());
//
// The recorded buffers stay in use while any launch is in flight. Not thread-safe. All its
// communicators belong to one session.
class PHALANX_EXPORT Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Issues all recorded calls in their order, each on `stream`; null: each starts at once. To the
  // other ranks these are calls like any others. The Work is done when all are.
  // INVALID_ARGUMENT: the first mistake of the recorded calls; nothing is issued.
  Work Launch(Stream* stream);

 private:
  friend class Communicator;
  absl::Status error_;  // the first mistake
  std::vector<std::unique_ptr<api::RecordedCall>> entries_;
};

}  // namespace phalanx

#endif  // PHALANX_GRAPH_H_
