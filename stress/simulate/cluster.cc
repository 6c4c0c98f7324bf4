#include "cluster.h"

#include <time.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace phalanx::simulate {
namespace {

using ordering::CertifiedRun;

constexpr int64_t kHopNs = 1'000;
constexpr int64_t kTickNs = 10'000'000;

ordering::SequencerSettings SettingsOfSequencer(const ClusterSettings& settings) {
  ordering::SequencerSettings result;
  result.adaptive = settings.adaptive;
  result.fewest_slots = settings.slots;
  result.longest_iteration = settings.longest_iteration;
  return result;
}

// Of this thread's processor, so that others on the machine don't count.
std::chrono::nanoseconds ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Measures a batch, so that the clock costs little.
class Stopwatch {
 public:
  Stopwatch(Work* work, size_t inputs) : work_(work), begin_(ProcessorTime()) {
    work->inputs += inputs;
  }
  ~Stopwatch() { work_->time += ProcessorTime() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Work* const work_;
  const std::chrono::nanoseconds begin_;
};

}  // namespace

struct Cluster::Member {
  explicit Member(const ordering::QueueSettings& settings) : queue(settings) {}

  ordering::LaunchQueue queue;
  uint64_t last_id = 0;
  absl::flat_hash_map<uint64_t, DeviceOp> ops;  // incomplete
  std::vector<uint64_t> next;                   // sequence, by lane
  std::vector<std::deque<uint64_t>> streams;    // incomplete, in order
  std::vector<uint32_t> idle;                   // streams, for operations on their own
};

Cluster::Cluster(const ClusterSettings& settings, const ordering::Roster* roster)
    : settings_(settings),
      roster_(roster),
      random_(settings.seed),
      sequencer_(SettingsOfSequencer(settings), roster),
      traffic_(static_cast<size_t>(roster->nodes())) {
  for (int node = 0; node < roster->nodes(); ++node) {
    nodes_.push_back(std::make_unique<ordering::NodeAggregator>(
        ordering::NodeSettings{node, settings.adaptive}, roster));
  }
  for (int rank = 0; rank < roster->ranks(); ++rank) {
    ordering::QueueSettings queue;
    queue.rank = rank;
    queue.slots = settings.slots;
    members_.push_back(std::make_unique<Member>(queue));
    Feed(rank, ordering::HostGoesOn{0});
  }
  sequencer_.Step(ordering::SequencerBegins{});
}

Cluster::~Cluster() = default;

// --- ranks
// ------------------------------------------------------------------------------------------

uint64_t Cluster::Issue(int rank, const ordering::Lane& lane, const ordering::Signature& signature,
                        int stream) {
  Member& member = At(rank);
  const uint32_t index = member.queue.LaneOf(lane);
  if (index >= member.next.size()) member.next.resize(index + 1);
  DeviceOp op;
  op.name = {lane, member.next[index]++};
  if (stream != kOwnStream) {
    op.stream = static_cast<uint32_t>(stream);
  } else if (!member.idle.empty()) {
    op.stream = member.idle.back();
    member.idle.pop_back();
  } else {
    op.stream = static_cast<uint32_t>(member.streams.size());
  }
  if (op.stream >= member.streams.size()) member.streams.resize(op.stream + 1);
  const uint64_t id = ++member.last_id;
  member.streams[op.stream].push_back(id);
  const uint32_t on = op.stream;
  member.ops.emplace(id, op);
  const int64_t position = member.queue.TryLaunch(index, ordering::HashOf(signature), on, id);
  if (position == CertifiedRun::kNotLaunched) {
    Feed(rank, ordering::Issue{id, index, signature, on, false, ""});
  } else {
    ++certified_launches_;
    member.ops.at(id).position = position;
    Launched(rank, id);
  }
  if (member.streams[on].front() == id) Reach(rank, id);
  return id;
}

bool Cluster::MustWait(int rank) { return At(rank).queue.MustWait(now_ns_); }

void Cluster::BeginWait(int rank, const std::vector<uint64_t>& ids) {
  Feed(rank, ordering::HostWaits{0, ids, true, false});
}

void Cluster::EndWait(int rank) { Feed(rank, ordering::HostGoesOn{0}); }

void Cluster::EndProgram(int rank) { Feed(rank, ordering::HostEnds{0}); }

std::vector<uint64_t> Cluster::Incomplete(int rank) const {
  std::vector<uint64_t> ids;
  for (const auto& [id, op] : At(rank).ops) ids.push_back(id);
  return ids;
}

std::vector<uint64_t> Cluster::OnDevice(int rank) const {
  std::vector<uint64_t> ids;
  for (const auto& [id, op] : At(rank).ops) {
    if (op.launched) ids.push_back(id);
  }
  return ids;
}

bool Cluster::IsOver(int rank, uint64_t id) const { return !At(rank).ops.contains(id); }

void Cluster::Feed(int rank, const ordering::QueueInput& input) {
  for (ordering::QueueOutput& output : At(rank).queue.Step(input, now_ns_)) {
    if (const auto* launch = std::get_if<ordering::Launch>(&output)) {
      if (!launch->by_ticket) ++certified_launches_;
      Launched(rank, launch->id);
    } else if (auto* up = std::get_if<ordering::ToNode>(&output)) {
      to_nodes_.push_back({rank, std::move(up->report)});
    } else if (const auto* failed = std::get_if<ordering::Failed>(&output)) {
      ++aborted_;
      Leave(rank, failed->id);
    }
  }
}

// --- devices
// ----------------------------------------------------------------------------------------

void Cluster::Launched(int rank, uint64_t id) {
  const auto found = At(rank).ops.find(id);
  if (found == At(rank).ops.end()) return;
  found->second.launched = true;
  if (found->second.present) Arrive(rank, id);
}

// The operation's stream has come to it.
void Cluster::Reach(int rank, uint64_t id) {
  Member& member = At(rank);
  DeviceOp& op = member.ops.at(id);
  op.present = true;
  if (op.launched) Arrive(rank, id);
  const int64_t position = op.position;
  if (position != CertifiedRun::kNotLaunched && member.queue.ReachLaunched(position)) return;
  Feed(rank, ordering::Reached{id});
}

void Cluster::ReachNext(int rank, uint32_t stream) {
  const std::deque<uint64_t>& ids = At(rank).streams[stream];
  if (!ids.empty()) Reach(rank, ids.front());
}

// The operation runs on one more of its members.
void Cluster::Arrive(int rank, uint64_t id) {
  const ordering::OpName name = At(rank).ops.at(id).name;
  const auto [found, is_new] = meeting_.try_emplace(name);
  Rendezvous& meeting = found->second;
  if (is_new) meeting.missing = roster_->MembersOf(name.lane).size();
  meeting.arrived.emplace_back(rank, id);
  if (--meeting.missing > 0) return;
  for (const auto& party : meeting.arrived) completing_.push_back(party);
  meeting_.erase(found);
  ++completed_;
}

void Cluster::Leave(int rank, uint64_t id) {
  Member& member = At(rank);
  const auto found = member.ops.find(id);
  if (found == member.ops.end()) return;
  const uint32_t stream = found->second.stream;
  member.ops.erase(found);
  std::deque<uint64_t>& ids = member.streams[stream];
  const bool first = ids.front() == id;
  ids.erase(std::find(ids.begin(), ids.end(), id));
  if (ids.empty()) {
    member.idle.push_back(stream);
  } else if (first) {
    ReachNext(rank, stream);
  }
}

void Cluster::Complete(int rank, uint64_t id) {
  Member& member = At(rank);
  const auto found = member.ops.find(id);
  if (found == member.ops.end()) return;  // aborted meanwhile
  const int64_t position = found->second.position;
  if (position == CertifiedRun::kNotLaunched || !member.queue.CompleteLaunched(position)) {
    Feed(rank, ordering::Completed{id});
  }
  Leave(rank, id);
}

// --- messages
// ---------------------------------------------------------------------------------------

bool Cluster::Hop() {
  const bool idle = completing_.empty() && to_nodes_.empty() && to_sequencer_.empty() &&
                    from_sequencer_.empty() && to_ranks_.empty();
  now_ns_ += kHopNs;
  HopToRanks();
  HopFromSequencer();
  HopToSequencer();
  HopToNodes();
  HopCompletions();
  return !idle;
}

void Cluster::Tick() {
  now_ns_ += kTickNs;
  for (int rank = 0; rank < roster_->ranks(); ++rank) Feed(rank, ordering::Tick{});
  for (int node = 0; node < roster_->nodes(); ++node) {
    Take(node, nodes_[static_cast<size_t>(node)]->Step(ordering::NodeTick{}));
  }
}

size_t Cluster::Share(size_t count) {
  if (settings_.tardiness == 0 || !random_.Chance(settings_.tardiness)) return count;
  return random_.Next() % (count + 1);
}

void Cluster::HopCompletions() {
  const size_t share = Share(completing_.size());
  const Stopwatch stopwatch(&queue_work_, share);
  for (size_t i = 0; i < share; ++i) {
    const auto [rank, id] = completing_.front();
    completing_.pop_front();
    Complete(rank, id);
  }
}

void Cluster::HopToNodes() {
  const size_t share = Share(to_nodes_.size());
  const Stopwatch stopwatch(&node_work_, share);
  for (size_t i = 0; i < share; ++i) {
    FromRankMessage message = std::move(to_nodes_.front());
    to_nodes_.pop_front();
    const int node = roster_->NodeOf(message.rank);
    ++traffic_[static_cast<size_t>(node)].from_ranks;
    Take(node, nodes_[static_cast<size_t>(node)]->Step(
                   ordering::FromRank{message.rank, std::move(message.report)}));
  }
}

void Cluster::HopToSequencer() {
  const size_t share = Share(to_sequencer_.size());
  const Stopwatch stopwatch(&sequencer_work_, share);
  for (size_t i = 0; i < share; ++i) {
    FromNodeMessage message = std::move(to_sequencer_.front());
    to_sequencer_.pop_front();
    ++traffic_[static_cast<size_t>(message.node)].to_sequencer;
    for (ordering::SequencerOutput& output :
         sequencer_.Step(ordering::NodeSaid{message.node, std::move(message.report)})) {
      if (auto* tell = std::get_if<ordering::TellNode>(&output)) {
        from_sequencer_.push_back(std::move(*tell));
      }
    }
  }
}

void Cluster::HopFromSequencer() {
  const size_t share = Share(from_sequencer_.size());
  const Stopwatch stopwatch(&node_work_, share);
  for (size_t i = 0; i < share; ++i) {
    ordering::TellNode tell = std::move(from_sequencer_.front());
    from_sequencer_.pop_front();
    ++traffic_[static_cast<size_t>(tell.node)].from_sequencer;
    Take(tell.node, nodes_[static_cast<size_t>(tell.node)]->Step(
                        ordering::FromSequencer{std::move(tell.order)}));
  }
}

void Cluster::HopToRanks() {
  const size_t share = Share(to_ranks_.size());
  const Stopwatch stopwatch(&queue_work_, share);
  for (size_t i = 0; i < share; ++i) {
    ordering::ToRank tell = std::move(to_ranks_.front());
    to_ranks_.pop_front();
    ++traffic_[static_cast<size_t>(roster_->NodeOf(tell.rank))].to_ranks;
    Feed(tell.rank, ordering::FromNode{std::move(tell.order)});
  }
}

void Cluster::Take(int node, std::vector<ordering::NodeOutput> outputs) {
  for (ordering::NodeOutput& output : outputs) {
    if (auto* down = std::get_if<ordering::ToRank>(&output)) {
      to_ranks_.push_back(std::move(*down));
    } else if (auto* up = std::get_if<ordering::ToSequencer>(&output)) {
      to_sequencer_.push_back({node, std::move(up->report)});
    }
  }
}

}  // namespace phalanx::simulate
