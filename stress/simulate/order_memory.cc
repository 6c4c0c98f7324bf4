#include "order_memory.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "ordering/launch_queue.h"
#include "ordering/node_aggregator.h"
#include "ordering/sequencer.h"

namespace phalanx::simulate {
namespace {

using ordering::OpName;
using ordering::Present;
using ordering::Report;

Report PresentOf(int communicator, int rank) {
  return {{},
          Present{OpName{LargeJob::LaneOf(communicator), 0}, LargeJob::SignatureOf(communicator),
                  false, rank}};
}

// The allocator keeps small chunks that were freed and counts them as taken; among many equal cores
// that comes to nothing.
constexpr size_t kCopies = 64;

double Per(size_t bytes, size_t count) {
  return count == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(count);
}

void MeasureSequencer(const LargeJob& job, OrderMemory* memory) {
  const MemoryProbe all;
  ordering::Sequencer sequencer({}, &job.roster());
  sequencer.Step(ordering::SequencerBegins{});
  memory->sequencer = sizeof(sequencer) + all.Taken();
  const MemoryProbe of_operations;
  size_t operations = 0;
  for (int communicator = 0; communicator < job.communicators(); ++communicator) {
    const ordering::Ranks nodes = job.roster().NodesOf(LargeJob::LaneOf(communicator));
    if (nodes.size() < 2) continue;  // never comes here
    ++operations;
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      sequencer.Step(ordering::NodeSaid{nodes[i], PresentOf(communicator, 0)});
    }
  }
  memory->sequencer_per_operation = Per(of_operations.Taken(), operations);
}

// Of node 0. Where it has but one member, an operation takes its place here for no longer than it
// is handed on, and that is what is measured.
void MeasureNode(const LargeJob& job, OrderMemory* memory) {
  const MemoryProbe all;
  std::vector<std::unique_ptr<ordering::NodeAggregator>> aggregators;
  for (size_t copy = 0; copy < kCopies; ++copy) {
    aggregators.push_back(
        std::make_unique<ordering::NodeAggregator>(ordering::NodeSettings{}, &job.roster()));
  }
  memory->node = all.Taken() / kCopies;
  const MemoryProbe of_operations;
  size_t operations = 0;
  for (int communicator = 0; communicator < job.communicators(); ++communicator) {
    std::vector<int> local;
    for (const int rank : job.MembersOf(communicator)) {
      if (job.roster().NodeOf(rank) == 0) local.push_back(rank);
    }
    if (local.empty()) continue;
    operations += kCopies;
    if (local.size() > 1) local.pop_back();
    for (const int rank : local) {
      for (auto& aggregator : aggregators) {
        aggregator->Step(ordering::FromRank{rank, PresentOf(communicator, rank)});
      }
    }
  }
  memory->node_per_operation = Per(of_operations.Taken(), operations);
}

void MeasureRank(const OrderSettings& settings, const LargeJob& job, OrderMemory* memory) {
  const MemoryProbe all;
  ordering::QueueSettings queue_settings;
  queue_settings.slots = settings.slots;
  std::vector<int> own;
  for (int communicator = 0; communicator < job.communicators(); ++communicator) {
    const std::vector<int>& members = job.MembersOf(communicator);
    if (!std::binary_search(members.begin(), members.end(), 0)) continue;
    own.push_back(communicator);
  }
  std::vector<std::unique_ptr<ordering::LaunchQueue>> queues;
  for (size_t copy = 0; copy < kCopies; ++copy) {
    queues.push_back(std::make_unique<ordering::LaunchQueue>(queue_settings));
    for (const int communicator : own) queues.back()->LaneOf(LargeJob::LaneOf(communicator));
  }
  memory->rank = all.Taken() / kCopies;
  const MemoryProbe of_operations;
  for (auto& queue : queues) {
    uint64_t id = 0;
    for (const int communicator : own) {
      queue->Step(ordering::Issue{++id, queue->LaneOf(LargeJob::LaneOf(communicator)),
                                  LargeJob::SignatureOf(communicator), 0, false, ""},
                  0);
      queue->Step(ordering::Reached{id}, 0);
    }
  }
  memory->rank_per_operation = Per(of_operations.Taken(), own.size() * kCopies);
}

}  // namespace

size_t MemoryProbe::Taken() const { return std::max(InUse(), begin_) - begin_; }

size_t MemoryProbe::InUse() {
  const struct mallinfo2 books = mallinfo2();
  return books.uordblks + books.hblkhd;
}

OrderMemory MeasureMemory(const OrderSettings& settings, const LargeJob& job) {
  OrderMemory memory;
  MeasureSequencer(job, &memory);
  MeasureNode(job, &memory);
  MeasureRank(settings, job, &memory);
  return memory;
}

}  // namespace phalanx::simulate
