#include "buffers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace phalanx::simulation {
namespace {

using plan::Collective;
using plan::CollectiveKind;

constexpr std::byte kGuardByte{0x5A};
constexpr std::byte kStale{0x77};  // what an output holds before

size_t EndOf(const std::vector<uint64_t>& displacements, const std::vector<uint64_t>& counts) {
  size_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) end = std::max(end, displacements[i] + counts[i]);
  return end;
}

bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

Reduction ReductionOf(ReduceOp op, DataType type, double factor) {
  if (op != ReduceOp::kPreMultipliedSum) return Reduction(op);
  if (IsInteger(type)) return Reduction::PreMultipliedSum(static_cast<int64_t>(factor));
  return Reduction::PreMultipliedSum(factor);
}

}  // namespace

Guarded::Guarded(size_t bytes) : present_(true), bytes_(bytes + 2 * kGuard, kStale) {
  std::fill_n(bytes_.begin(), kGuard, kGuardByte);
  std::fill_n(bytes_.end() - kGuard, kGuard, kGuardByte);
}

bool Guarded::GuardsIntact() const {
  const auto intact = [](std::byte byte) { return byte == kGuardByte; };
  return !present_ || (std::all_of(bytes_.begin(), bytes_.begin() + kGuard, intact) &&
                       std::all_of(bytes_.end() - kGuard, bytes_.end(), intact));
}

Extent ExtentOf(const Collective& collective, int rank, int size) {
  const size_t one = collective.count;
  const size_t all = one * static_cast<size_t>(size);
  const size_t own = one * static_cast<size_t>(rank);
  const bool is_root = rank == collective.root;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return {one, one};
    case CollectiveKind::kBroadcast:
      return {one, one, is_root, true};
    case CollectiveKind::kReduce:
      return {one, is_root ? one : 0, true, is_root};
    case CollectiveKind::kReduceScatter:
      return {all, one, true, true, true, 0, own};
    case CollectiveKind::kScatter:
      return {is_root ? all : 0, one, is_root, true, true, 0, is_root ? own : 0};
    case CollectiveKind::kAllGather:
      return {one, all, true, true, true, own, 0};
    case CollectiveKind::kGather:
      return {one, is_root ? all : 0, true, is_root, true, is_root ? own : 0, 0};
    case CollectiveKind::kAllGatherV:
      return {collective.receive_counts[rank],
              EndOf(collective.receive_displacements, collective.receive_counts),
              true,
              true,
              true,
              collective.receive_displacements[rank],
              0};
    case CollectiveKind::kAllToAll:
      return {all, all, true, true, false};
    case CollectiveKind::kAllToAllV:
      return {EndOf(collective.send_displacements, collective.send_counts),
              EndOf(collective.receive_displacements, collective.receive_counts), true, true,
              false};
    case CollectiveKind::kSend:
      return {one, 0, true, false};
    case CollectiveKind::kReceive:
      return {0, one, false, true};
    case CollectiveKind::kBarrier:
      return {0, 0, false, false};
  }
  return {};
}

Operation::Operation(std::vector<Collective> by_rank, bool in_place, std::mt19937_64* random)
    : by_rank_(std::move(by_rank)),
      in_place_(in_place),
      originals_(by_rank_.size()),
      memory_(2 * by_rank_.size()),
      inputs_(by_rank_.size()),
      outputs_(by_rank_.size()) {
  for (int rank = 0; rank < size(); ++rank) {
    constexpr double kFactors[] = {1, -1, 0.5, 2, 1.5};
    constexpr double kIntegerFactors[] = {1, -1, 3, 2, -7};
    const auto choice = static_cast<size_t>(rank) % 5;
    factors_.push_back(IsInteger(by_rank_[rank].type) ? kIntegerFactors[choice] : kFactors[choice]);
    Place(rank, random);
  }
}

void Operation::Place(int rank, std::mt19937_64* random) {
  const Collective& collective = by_rank_[rank];
  const size_t element = SizeOf(collective.type);
  const Extent extent = ExtentOf(collective, rank, size());
  const bool shared = in_place_ && extent.can_be_in_place && extent.has_input && extent.has_output;
  Guarded& first = memory_[2 * rank];
  Guarded& second = memory_[2 * rank + 1];
  if (shared) {
    first = Guarded(std::max(extent.input, extent.output) * element);
    inputs_[rank] = first.data() + extent.input_in_output * element;
    outputs_[rank] = first.data() + extent.output_in_input * element;
  } else {
    if (extent.has_input) first = Guarded(extent.input * element);
    if (extent.has_output) second = Guarded(extent.output * element);
    inputs_[rank] = first.data();
    outputs_[rank] = second.data();
  }
  if (!extent.has_input) return;
  originals_[rank] = RandomElements(collective.type, collective.op, rank, extent.input, random);
  std::copy(originals_[rank].begin(), originals_[rank].end(), inputs_[rank]);
}

device::Factor Operation::factor(int rank) const {
  const Collective& collective = by_rank_[rank];
  return device::Factor::Of(ReductionOf(collective.op, collective.type, factors_[rank]),
                            collective.type, size());
}

std::string Operation::Check() const {
  for (int rank = 0; rank < size(); ++rank) {
    if (!memory_[2 * rank].GuardsIntact() || !memory_[2 * rank + 1].GuardsIntact()) {
      return absl::StrCat("rank ", rank, " wrote beside a buffer");
    }
    const bool untouched = !in_place_ || !ExtentOf(by_rank_[rank], rank, size()).can_be_in_place;
    if (untouched && !std::equal(originals_[rank].begin(), originals_[rank].end(), inputs_[rank])) {
      return absl::StrCat("rank ", rank, " changed its input");
    }
    const std::string wrong =
        Reduces(by_rank_[rank].kind) ? CheckReductions(rank) : CheckRank(rank);
    if (!wrong.empty()) return absl::StrCat("rank ", rank, ": ", wrong);
  }
  return std::string();
}

std::string Operation::CheckBlock(int rank, size_t output_at, int from, size_t input_at,
                                  size_t count) const {
  const size_t element = SizeOf(by_rank_[rank].type);
  const std::byte* const wanted = originals_[from].data() + input_at * element;
  if (std::equal(wanted, wanted + count * element, outputs_[rank] + output_at * element)) {
    return std::string();
  }
  return absl::StrCat("the block of rank ", from, " is wrong");
}

std::string Operation::CheckRank(int rank) const {
  const Collective& own = by_rank_[rank];
  const auto place = static_cast<size_t>(rank);
  std::string wrong;
  for (int from = 0; from < size() && wrong.empty(); ++from) {
    const auto sender = static_cast<size_t>(from);
    switch (own.kind) {
      case CollectiveKind::kAllGather:
        wrong = CheckBlock(rank, sender * own.count, from, 0, own.count);
        break;
      case CollectiveKind::kAllGatherV:
        wrong =
            CheckBlock(rank, own.receive_displacements[from], from, 0, own.receive_counts[from]);
        break;
      case CollectiveKind::kGather:
        if (rank == own.root) wrong = CheckBlock(rank, sender * own.count, from, 0, own.count);
        break;
      case CollectiveKind::kBroadcast:
        if (from == own.root) wrong = CheckBlock(rank, 0, from, 0, own.count);
        break;
      case CollectiveKind::kScatter:
        if (from == own.root) wrong = CheckBlock(rank, 0, from, place * own.count, own.count);
        break;
      case CollectiveKind::kAllToAll:
        wrong = CheckBlock(rank, sender * own.count, from, place * own.count, own.count);
        break;
      case CollectiveKind::kAllToAllV:
        wrong = CheckBlock(rank, own.receive_displacements[from], from,
                           by_rank_[from].send_displacements[rank], own.receive_counts[from]);
        break;
      case CollectiveKind::kReceive:
        if (from == own.peer) wrong = CheckBlock(rank, 0, from, 0, own.count);
        break;
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kReduce:
      case CollectiveKind::kSend:
      case CollectiveKind::kBarrier:
        break;
    }
  }
  return wrong;
}

std::string Operation::CheckReductions(int rank) const {
  const Collective& own = by_rank_[rank];
  if (outputs_[rank] == nullptr) return std::string();
  const size_t bytes = own.count * SizeOf(own.type);
  const size_t at =
      own.kind == CollectiveKind::kReduceScatter ? static_cast<size_t>(rank) * bytes : 0;
  if (rank > 0 && own.kind == CollectiveKind::kAllReduce) {
    const bool equal = std::equal(outputs_[rank], outputs_[rank] + bytes, outputs_[0]);
    return equal ? std::string() : "the result differs from rank 0's";
  }
  std::vector<const std::byte*> inputs;
  for (const Bytes& original : originals_) inputs.push_back(original.data() + at);
  return CheckReduction(own.type, own.op, inputs, factors_, outputs_[rank], own.count);
}

std::string Operation::Describe() const {
  const Collective& first = by_rank_[0];
  return absl::StrCat(NameOf(first.kind), " ", NameOf(first.type), " ", NameOf(first.op), " count ",
                      first.count, " root ", first.root, " of ", size(),
                      in_place_ ? " in place" : " out of place");
}

Bytes Operation::Outputs() const {
  Bytes all;
  for (int rank = 0; rank < size(); ++rank) {
    const Extent extent = ExtentOf(by_rank_[rank], rank, size());
    if (!extent.has_output) continue;
    const std::byte* const output = outputs_[rank];
    all.insert(all.end(), output, output + extent.output * SizeOf(by_rank_[rank].type));
  }
  return all;
}

}  // namespace phalanx::simulation
