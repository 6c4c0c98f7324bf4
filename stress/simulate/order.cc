#include "simulate/order.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cluster.h"
#include "large_job.h"
#include "order_memory.h"

namespace phalanx::simulate {
namespace {

// Of equal rounds until the order is known: the sequencer asks for three, and what the nodes
// ticketed themselves may come a round late.
constexpr int kMostLearningRounds = 12;
constexpr int kTicksForAll = 3;

absl::Status Check(const OrderSettings& settings) {
  if (settings.members > settings.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("--members ", settings.members, " is more than --ranks ", settings.ranks));
  }
  const int stride = settings.stride > 0 ? settings.stride : settings.ranks_per_node;
  if (static_cast<int64_t>(stride) * settings.members > settings.ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--members ", settings.members, " at --stride ", stride, " need ",
        static_cast<int64_t>(stride) * settings.members, " ranks; --ranks is ", settings.ranks));
  }
  if (settings.certified && settings.slots < 2) {
    return absl::InvalidArgumentError(
        "--mode certified needs --slots 2 or more: a device's last slot belongs to tickets");
  }
  return absl::OkStatus();
}

// What is counted and timed, at one moment.
struct Reading {
  std::vector<Traffic> traffic;
  Work sequencer;
  Work node;
  Work queue;
  uint64_t tickets = 0;
  uint64_t completed = 0;
  uint64_t certified_launches = 0;
};

Reading Read(const Cluster& cluster) {
  return {cluster.traffic(),           cluster.sequencer_work(),      cluster.node_work(),
          cluster.queue_work(),        cluster.sequencer().tickets(), cluster.completed(),
          cluster.certified_launches()};
}

class Run {
 public:
  Run(const OrderSettings& settings, const LargeJob& job)
      : settings_(settings), job_(job), cluster_(ClusterOf(settings), &job.roster()) {}

  absl::StatusOr<OrderResult> Measure() {
    OrderResult result;
    if (settings_.certified) PHX_RETURN_IF_ERROR(Learn(&result));
    const Reading before = Read(cluster_);
    for (int i = 0; i < settings_.operations; ++i) PHX_RETURN_IF_ERROR(IssueAll());
    Compare(before, Read(cluster_), &result);
    result.fences = cluster_.sequencer().fences();
    return result;
  }

 private:
  static ClusterSettings ClusterOf(const OrderSettings& settings) {
    ClusterSettings result;
    result.adaptive = settings.certified;
    result.slots = settings.slots;
    result.longest_iteration = std::max<size_t>(4096, static_cast<size_t>(settings.communicators));
    return result;
  }

  // One operation of each communicator, in their order on every rank; all complete.
  absl::Status IssueAll() {
    const uint64_t target = cluster_.completed() + static_cast<uint64_t>(job_.communicators());
    // Speculation takes one stream; announced operations wait for nobody on streams of their own.
    const int stream = settings_.certified ? 0 : Cluster::kOwnStream;
    for (int communicator = 0; communicator < job_.communicators(); ++communicator) {
      const ordering::Lane lane = LargeJob::LaneOf(communicator);
      const ordering::Signature signature = LargeJob::SignatureOf(communicator);
      for (const int rank : job_.MembersOf(communicator)) {
        cluster_.Issue(rank, lane, signature, stream);
      }
    }
    for (int ticks = 0; ticks < kTicksForAll; ++ticks) {
      while (cluster_.Hop()) {
      }
      cluster_.Tick();
    }
    while (cluster_.Hop()) {
    }
    if (cluster_.completed() == target) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(target - cluster_.completed(), " operations were left; this is a bug"));
  }

  absl::Status Learn(OrderResult* result) {
    for (int i = 0; i < kMostLearningRounds && !cluster_.sequencer().certified(); ++i) {
      const Reading before = Read(cluster_);
      PHX_RETURN_IF_ERROR(IssueAll());
      const Reading after = Read(cluster_);
      if (cluster_.sequencer().certified()) {
        result->certify_seconds =
            std::chrono::duration<double>(after.node.time - before.node.time + after.queue.time -
                                          before.queue.time)
                .count();
      }
    }
    result->learning_operations = cluster_.completed();
    if (cluster_.sequencer().certified()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the sequencer hasn't learned the order in ",
                                            kMostLearningRounds, " rounds; this is a bug"));
  }

  void Compare(const Reading& before, const Reading& after, OrderResult* result) const {
    result->operations = after.completed - before.completed;
    result->tickets = after.tickets - before.tickets;
    result->certified_launches = after.certified_launches - before.certified_launches;
    CompareTraffic(before.traffic, after.traffic, result);
    const auto per = [](const Work& from, const Work& to, double count) {
      const std::chrono::duration<double, std::nano> time = to.time - from.time;
      return count == 0 ? 0 : time.count() / count;
    };
    const auto operations = static_cast<double>(result->operations);
    double nodes = 0;  // that have a part in an operation, for all of them
    for (int node = 0; node < job_.roster().nodes(); ++node) {
      nodes += static_cast<double>(job_.CommunicatorsOn(node));
    }
    nodes *= settings_.operations;
    result->sequencer_ns =
        per(before.sequencer, after.sequencer, static_cast<double>(result->tickets));
    result->node_ns = per(before.node, after.node, nodes);
    result->rank_ns = per(before.queue, after.queue, operations * settings_.members);
  }

  void CompareTraffic(const std::vector<Traffic>& before, const std::vector<Traffic>& after,
                      OrderResult* result) const {
    OrderMessages& messages = result->messages;
    uint64_t most = 0;
    for (size_t node = 0; node < after.size(); ++node) {
      messages.to_coordinator += after[node].to_sequencer - before[node].to_sequencer;
      messages.from_coordinator += after[node].from_sequencer - before[node].from_sequencer;
      const uint64_t all = after[node].total() - before[node].total();
      messages.all += all;
      if (node > 0 && all <= most) continue;
      most = all;
      messages.busiest_node = static_cast<int>(node);
      messages.busiest_network = after[node].network() - before[node].network();
      messages.busiest_local = all - messages.busiest_network;
      messages.busiest_operations = job_.CommunicatorsOn(static_cast<int>(node)) *
                                    static_cast<uint64_t>(settings_.operations);
    }
  }

  const OrderSettings settings_;
  const LargeJob& job_;
  Cluster cluster_;
};

}  // namespace

absl::StatusOr<OrderResult> SimulateOrder(const OrderSettings& settings) {
  PHX_RETURN_IF_ERROR(Check(settings));
  MemoryProbe probe;
  const LargeJob job(settings);
  const size_t roster = probe.Taken();
  const OrderMemory memory = MeasureMemory(settings, job);
  PHX_ASSIGN_OR_RETURN(OrderResult result, Run(settings, job).Measure());
  result.memory = memory;
  result.memory.roster = roster;
  return result;
}

}  // namespace phalanx::simulate
