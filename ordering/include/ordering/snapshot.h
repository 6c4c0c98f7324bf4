// What one rank knows of its own waiting, taken when the job stalls.
#ifndef PHALANX_ORDERING_SNAPSHOT_H_
#define PHALANX_ORDERING_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ordering/names.h"
#include "ordering/signature.h"

namespace phalanx::ordering {

// An operation that is issued and incomplete.
struct OpView {
  OpName name;
  Signature signature;
  uint32_t stream = 0;
  uint64_t unit = 0;  // place of its unit in the stream: smaller ones come first
  bool present = false;
  bool launched = false;  // and not kept from the device by a device-wide wait
  std::string call_site;  // "train.cc:120"; empty when unknown
  // Present for long and not launched, since the schedule has another turn: see the sequencer.
  bool overdue = false;
  int64_t age_ns = 0;  // since it was issued, at least
  uint64_t id = 0;     // see Issue; on its own rank only
};

// A thread that has used the library.
struct ThreadView {
  enum class State : uint8_t { kOutside, kWaiting, kEnded };
  State state = State::kOutside;  // kOutside: in the program; it may issue operations
  // kWaiting: it goes on when all of these are complete.
  std::vector<OpName> waits_for;
  bool device_wide = false;  // it waits for the whole device
};

struct RankSnapshot {
  int rank = -1;
  uint64_t progress = 0;  // changes with every issue, completion and wait; equal: nothing happened
  std::vector<OpView> ops;
  std::vector<ThreadView> threads;
  // The device lets nobody launch until a device-wide wait is over.
  bool device_held = false;
  uint64_t tickets = 0;  // that came so far
  struct Issued {
    Lane lane;
    uint64_t next = 0;  // sequence of the lane's next operation here
  };
  std::vector<Issued> issued;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_SNAPSHOT_H_
