#include "large_job.h"

#include <algorithm>
#include <utility>

namespace phalanx::simulate {
namespace {

std::vector<int> NodesOf(const OrderSettings& settings) {
  std::vector<int> nodes;
  for (int rank = 0; rank < settings.ranks; ++rank) nodes.push_back(rank / settings.ranks_per_node);
  return nodes;
}

}  // namespace

// Communicators fill the ranks side by side; the next lot is shifted by a stride, so that it
// crosses those before it.
LargeJob::LargeJob(const OrderSettings& settings)
    : roster_(NodesOf(settings)), on_node_(static_cast<size_t>(roster_.nodes())) {
  const int stride = settings.stride > 0 ? settings.stride : settings.ranks_per_node;
  const int64_t span = static_cast<int64_t>(stride) * settings.members;
  const int64_t lot = std::max<int64_t>(1, settings.ranks / settings.members);
  for (int communicator = 0; communicator < settings.communicators; ++communicator) {
    const int64_t shift = communicator / lot * stride;
    const int64_t place = communicator % lot;
    const int64_t first = place / stride * span + place % stride + shift;
    std::vector<int> members;
    for (int i = 0; i < settings.members; ++i) {
      members.push_back(
          static_cast<int>((first + static_cast<int64_t>(i) * stride) % settings.ranks));
    }
    std::sort(members.begin(), members.end());
    int last_node = -1;
    for (const int rank : members) {
      const int node = roster_.NodeOf(rank);
      if (node != last_node) ++on_node_[static_cast<size_t>(node)];
      last_node = node;
    }
    roster_.Add(CommunicatorId{static_cast<uint16_t>(communicator)},
                ordering::Ranks(members.begin(), members.end()));
    members_.push_back(std::move(members));
  }
}

ordering::Signature LargeJob::SignatureOf(int communicator) {
  ordering::Signature signature;
  signature.kind = ordering::OpKind::kAllReduce;
  signature.count = static_cast<uint64_t>(communicator) + 1;
  return signature;
}

}  // namespace phalanx::simulate
