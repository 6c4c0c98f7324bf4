#include "ordering/names.h"

#include "absl/strings/str_cat.h"
#include "hash.h"

namespace phalanx::ordering {

Lane Lane::OfKey(CommunicatorId communicator, std::string_view key) {
  return {communicator, Kind::kKey, HashBytes(key)};
}

std::string Describe(const OpName& name) {
  const Lane& lane = name.lane;
  const std::string communicator = absl::StrCat("communicator ", lane.communicator.value, ", ");
  switch (lane.kind) {
    case Lane::Kind::kCommunicator:
      return absl::StrCat(communicator, "operation ", name.sequence);
    case Lane::Kind::kKey:
      return absl::StrCat(communicator, "key ", absl::Hex(lane.detail), ", use ", name.sequence);
    case Lane::Kind::kPair:
      return absl::StrCat(communicator, "message ", name.sequence, " from rank ", lane.source(),
                          " to rank ", lane.destination());
  }
  return communicator;
}

}  // namespace phalanx::ordering
