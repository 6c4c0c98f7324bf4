// What a simulated group shares.
#ifndef PHALANX_SIM_GROUP_H_
#define PHALANX_SIM_GROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core.h"
#include "spi/group.h"

namespace phalanx::sim {

using Signals = std::array<uint32_t, spi::kMaxSignals>;

struct Published {
  spi::Publish publish;
  const std::byte* live = nullptr;  // the region
  // The region's bytes from publish.offset to the end of the last range, as they were then.
  std::vector<std::byte> bytes;
};

// One member's part of one operation.
struct Part {
  spi::GroupOperation operation;
  std::vector<std::byte> scratch;
  std::vector<Published> published;
  size_t staged_bytes = 0;
  Signals raised = {};
  bool ended = false;
};

struct Member {
  int rank = -1;  // in the view
  bool opened = false;
  uint64_t begun = 0;  // operations
  uint64_t ended = 0;
  bool withdrawn = false;
  std::map<uint64_t, Part> parts;  // by sequence
};

// What one member has seen of another by now. It sees things in the order in which they were done.
struct Seen {
  std::map<uint64_t, Signals> signals;  // by sequence
  uint64_t ended = 0;
  Time last{0};  // the latest thing on its way
};

struct GroupState {
  explicit GroupState(int size) : members(size), seen(size, std::vector<Seen>(size)) {}

  std::vector<Member> members;
  std::vector<std::vector<Seen>> seen;  // [reader][writer]
};

}  // namespace phalanx::sim

#endif  // PHALANX_SIM_GROUP_H_
