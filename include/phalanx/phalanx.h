// Phalanx: collective communication that doesn't hang and doesn't die.
//
//   auto session = phalanx::Session::Join(*phalanx::Options::FromEnvironment()).value();
//   phalanx::Communicator& world = session->view().world();
//   absl::Status status = world.AllReduce(in, out, n, phalanx::DataType::kFloat32,
//                                         phalanx::ReduceOp::kSum).Wait();
#ifndef PHALANX_PHALANX_H_
#define PHALANX_PHALANX_H_

#include "phalanx/checkpoint_copy.h"
#include "phalanx/communicator.h"
#include "phalanx/graph.h"
#include "phalanx/memory.h"
#include "phalanx/options.h"
#include "phalanx/session.h"
#include "phalanx/state.h"
#include "phalanx/stream.h"
#include "phalanx/types.h"
#include "phalanx/work.h"

#endif  // PHALANX_PHALANX_H_
