#include "trial.h"

#include <cstring>
#include <vector>

#include "elements.h"

namespace phalanx::stress {
namespace {

bool Reduces(const std::string& collective) {
  return collective == "all_reduce" || collective == "reduce_scatter" || collective == "reduce";
}

// What makes the parts of different ranks tell apart in the operations that don't reduce.
double Mark(DataType type, int rank, int ranks, size_t index) {
  return Pattern(type, ReduceOp::kSum, rank, ranks, index);
}

}  // namespace

Shape ShapeOf(const BenchmarkSettings& settings, int ranks, size_t bytes) {
  const size_t elements = bytes / SizeOf(settings.type);
  const auto n = static_cast<size_t>(ranks);
  const double fraction = static_cast<double>(ranks - 1) / ranks;
  const std::string& name = settings.collective;
  const size_t share = elements / n;
  const size_t whole = share * n * SizeOf(settings.type);
  if (name == "all_reduce") {
    return {elements * SizeOf(settings.type), elements, elements, elements, 2 * fraction};
  }
  if (name == "reduce_scatter") return {whole, share, share * n, share, fraction};
  if (name == "all_gather") return {whole, share, share, share * n, fraction};
  if (name == "gather") return {whole, share, share, share * n, fraction};
  if (name == "scatter") return {whole, share, share * n, share, fraction};
  if (name == "all_to_all") return {whole, share, share * n, share * n, fraction};
  // broadcast, reduce, send_receive
  return {elements * SizeOf(settings.type), elements, elements, elements, 1.0};
}

Trial::Trial(const BenchmarkSettings& settings, Communicator& communicator, std::byte* send,
             std::byte* receive)
    : settings_(settings),
      communicator_(communicator),
      send_buffer_(send),
      receive_buffer_(receive) {}

bool Trial::can_be_in_place() const {
  return settings_.collective != "all_to_all" && settings_.collective != "send_receive";
}

void Trial::Prepare(const Shape& shape, bool in_place) {
  shape_ = shape;
  send_ = send_buffer_;
  receive_ = receive_buffer_;
  const size_t mine = static_cast<size_t>(communicator_.rank()) * shape.count * width();
  if (in_place && shape.send_elements > shape.receive_elements) {
    receive_ = send_ + mine;
  } else if (in_place) {
    send_ = receive_ + (shape.send_elements < shape.receive_elements ? mine : 0);
  }
  const ReduceOp op = Reduces(settings_.collective) ? settings_.op : ReduceOp::kSum;
  for (size_t i = 0; i < shape.send_elements; ++i) {
    Store(settings_.type, send_, i,
          Pattern(settings_.type, op, communicator_.rank(), communicator_.size(), i));
  }
}

Work Trial::Start() {
  const std::string& name = settings_.collective;
  const DataType type = settings_.type;
  const size_t count = shape_.count;
  const Reduction reduction = settings_.op == ReduceOp::kPreMultipliedSum
                                  ? Reduction::PreMultipliedSum(1)
                                  : Reduction(settings_.op);
  if (name == "all_reduce") return communicator_.AllReduce(send_, receive_, count, type, reduction);
  if (name == "reduce_scatter") {
    return communicator_.ReduceScatter(send_, receive_, count, type, reduction);
  }
  if (name == "all_gather") return communicator_.AllGather(send_, receive_, count, type);
  if (name == "broadcast") {
    return communicator_.Broadcast(send_, receive_, count, type, settings_.root);
  }
  if (name == "reduce") {
    return communicator_.Reduce(send_, receive_, count, type, reduction, settings_.root);
  }
  if (name == "gather") {
    return communicator_.Gather(send_, receive_, count, type, settings_.root);
  }
  if (name == "scatter") {
    return communicator_.Scatter(send_, receive_, count, type, settings_.root);
  }
  if (name == "all_to_all") return communicator_.AllToAll(send_, receive_, count, type);
  // send_receive: to the next rank and from the one before, both ways at once.
  const int ranks = communicator_.size();
  Group group;
  OpOptions options;
  options.group = &group;
  communicator_.Send(send_, count, type, (communicator_.rank() + 1) % ranks, options);
  communicator_.Receive(receive_, count, type, (communicator_.rank() + ranks - 1) % ranks, options);
  return group.Launch();
}

double Trial::ExpectedAt(size_t index) const {
  const std::string& name = settings_.collective;
  const DataType type = settings_.type;
  const int rank = communicator_.rank();
  const int ranks = communicator_.size();
  const size_t mine = static_cast<size_t>(rank) * shape_.count;
  if (name == "reduce_scatter") return Expected(type, settings_.op, ranks, mine + index);
  if (Reduces(name)) return Expected(type, settings_.op, ranks, index);
  if (name == "broadcast") return Mark(type, settings_.root, ranks, index);
  if (name == "scatter") return Mark(type, settings_.root, ranks, mine + index);
  if (name == "send_receive") return Mark(type, (rank + ranks - 1) % ranks, ranks, index);
  const int from = static_cast<int>(index / shape_.count);
  const size_t within = index % shape_.count;
  return Mark(type, from, ranks, name == "all_to_all" ? mine + within : within);
}

uint64_t Trial::CountWrong() const {
  const std::string& name = settings_.collective;
  const bool at_root = communicator_.rank() == settings_.root;
  if ((name == "reduce" || name == "gather") && !at_root) return 0;
  const ReduceOp op = Reduces(name) ? settings_.op : ReduceOp::kSum;
  uint64_t wrong = 0;
  for (size_t i = 0; i < shape_.receive_elements; ++i) {
    wrong += !Matches(settings_.type, op, Load(settings_.type, receive_, i), ExpectedAt(i));
  }
  return wrong;
}

}  // namespace phalanx::stress
