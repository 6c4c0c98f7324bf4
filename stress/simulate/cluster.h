// A whole job's ordering in one thread: a launch queue and a device for each rank, an aggregator
// for each node, the sequencer, and the messages between them, moved a hop at a time and counted.
//
// The cores are the library's own; the devices are as small as a device can be: streams in order, a
// rendezvous of an operation's members, one hop later its completion. Time is virtual.
#ifndef PHALANX_SIMULATE_CLUSTER_H_
#define PHALANX_SIMULATE_CLUSTER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "ordering/launch_queue.h"
#include "ordering/node_aggregator.h"
#include "ordering/sequencer.h"
#include "rank_program.h"

namespace phalanx::simulate {

struct ClusterSettings {
  bool adaptive = false;
  int slots = 1;                    // of each device
  size_t longest_iteration = 4096;  // operations that the sequencer looks back for
  double tardiness = 0;  // probability that only some of the messages on a level move in a hop
  uint64_t seed = 1;     // for that
};

// Messages of one node.
struct Traffic {
  uint64_t to_sequencer = 0;
  uint64_t from_sequencer = 0;
  uint64_t from_ranks = 0;
  uint64_t to_ranks = 0;

  uint64_t network() const { return to_sequencer + from_sequencer; }
  uint64_t total() const { return network() + from_ranks + to_ranks; }
};

// Inputs that a kind of core has taken, and how long it took over them.
struct Work {
  uint64_t inputs = 0;
  std::chrono::nanoseconds time{0};
};

class Cluster {
 public:
  static constexpr int kOwnStream = -1;

  // `roster` outlives it.
  Cluster(const ClusterSettings& settings, const ordering::Roster* roster);
  ~Cluster();

  // The rank's next operation of the lane; its id. `stream`: kOwnStream, or one of 0, 1, …, and
  // then the same kind for all operations of the cluster.
  uint64_t Issue(int rank, const ordering::Lane& lane, const ordering::Signature& signature,
                 int stream);
  // The library would let the caller wait before it takes another.
  bool MustWait(int rank);
  // A wait for the whole device begins, for `ids`, and ends; the rank's program ends.
  void BeginWait(int rank, const std::vector<uint64_t>& ids);
  void EndWait(int rank);
  void EndProgram(int rank);

  // Moves what is under way by one hop, for a microsecond. False if nothing is.
  bool Hop();
  // Ten milliseconds pass.
  void Tick();

  // Ids of incomplete operations: all, or those that the device has been given.
  std::vector<uint64_t> Incomplete(int rank) const;
  std::vector<uint64_t> OnDevice(int rank) const;
  bool IsOver(int rank, uint64_t id) const;  // complete or aborted

  uint64_t completed() const { return completed_; }  // operations, on all of their members
  uint64_t aborted() const { return aborted_; }      // on one member each
  uint64_t certified_launches() const { return certified_launches_; }
  const ordering::Sequencer& sequencer() const { return sequencer_; }
  const std::vector<Traffic>& traffic() const { return traffic_; }  // by node
  const Work& queue_work() const { return queue_work_; }
  const Work& node_work() const { return node_work_; }
  const Work& sequencer_work() const { return sequencer_work_; }

 private:
  struct DeviceOp {
    ordering::OpName name;
    uint32_t stream = 0;
    int64_t position = ordering::CertifiedRun::kNotLaunched;
    bool present = false;
    bool launched = false;
  };
  struct Member;
  struct Rendezvous {
    size_t missing = 0;
    absl::InlinedVector<std::pair<int, uint64_t>, 8> arrived;  // rank, id
  };
  struct FromRankMessage {
    int rank = 0;
    ordering::Report report;
  };
  struct FromNodeMessage {
    int node = 0;
    ordering::Report report;
  };

  Member& At(int rank) { return *members_[static_cast<size_t>(rank)]; }
  const Member& At(int rank) const { return *members_[static_cast<size_t>(rank)]; }
  void Feed(int rank, const ordering::QueueInput& input);
  void Launched(int rank, uint64_t id);
  void Reach(int rank, uint64_t id);
  void ReachNext(int rank, uint32_t stream);
  void Arrive(int rank, uint64_t id);
  void Leave(int rank, uint64_t id);
  void Complete(int rank, uint64_t id);

  void HopCompletions();
  void HopToNodes();
  void HopToSequencer();
  void HopFromSequencer();
  void HopToRanks();
  void Take(int node, std::vector<ordering::NodeOutput> outputs);
  // How many of so many waiting messages go now.
  size_t Share(size_t count);

  const ClusterSettings settings_;
  const ordering::Roster* const roster_;
  Random random_;
  int64_t now_ns_ = 0;
  ordering::Sequencer sequencer_;
  std::vector<std::unique_ptr<ordering::NodeAggregator>> nodes_;
  std::vector<std::unique_ptr<Member>> members_;
  absl::flat_hash_map<ordering::OpName, Rendezvous> meeting_;
  std::deque<std::pair<int, uint64_t>> completing_;
  std::deque<FromRankMessage> to_nodes_;
  std::deque<FromNodeMessage> to_sequencer_;
  std::deque<ordering::TellNode> from_sequencer_;
  std::deque<ordering::ToRank> to_ranks_;
  uint64_t completed_ = 0;
  uint64_t aborted_ = 0;
  uint64_t certified_launches_ = 0;
  std::vector<Traffic> traffic_;
  Work queue_work_;
  Work node_work_;
  Work sequencer_work_;
};

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_CLUSTER_H_
