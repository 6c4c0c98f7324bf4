// The node's part of checkpoints: memory that outlives workers, and who may write or read what.
#ifndef PHALANX_CONTROL_AGENT_NODE_CHECKPOINTS_H_
#define PHALANX_CONTROL_AGENT_NODE_CHECKPOINTS_H_

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "base/logger.h"
#include "checkpoint/holder.h"
#include "checkpoint/restore.h"
#include "checkpoint_wire/codec.h"
#include "control_process/memory.h"
#include "control_protocol/persist_settings.h"
#include "node_replicas.h"
#include "node_tier.h"
#include "shard_shelf.h"
#include "snapshot_memory.h"
#include "worker_connection.h"

namespace phalanx::control {

// On the agent's thread only; handlers are called before a call returns, and later when a digest is
// computed or a copy has come from another agent.
//
// A worker saves into rooms: memory of its own that it writes and we read. A room belongs to the
// process that it was opened for and to no other: a process that is believed dead may still write
// into it. What is committed there stays until it is freed; then the room goes with its process.
// Copies from other agents are in memory of ours, whether a rank is to be restored from them or the
// coordinator wants them here.
class NodeCheckpoints {
 public:
  struct Handlers {
    std::function<void(uint64_t worker, const checkpoint::Message& message, std::vector<SharedFd>)>
        to_worker;
    std::function<void(const checkpoint::Message& message)> to_coordinator;
    std::function<uint64_t()> available_memory = AvailableMemory;  // see control_process/memory.h
  };

  // `persist`, `job`: where checkpoints are kept in files, if they are.
  NodeCheckpoints(asio::io_context& context, Handlers handlers, const PersistSettings& persist,
                  const std::string& job, Logger logger);
  ~NodeCheckpoints();  // waits for the digest that is being computed

  // Before everything else. Then Listen(): see NodeReplicas.
  absl::Status Open(const PeerLinks::Settings& settings) { return replicas_.Open(settings); }
  Endpoint Listen(const std::string& address) { return replicas_.Listen(address); }

  // Over the links on which copies go: see PeerLinks.
  void ProbePeer(const Endpoint& peer, Clock::duration wait, std::function<void(bool)> done) {
    replicas_.Probe(peer, wait, std::move(done));
  }

  // Workers of this node by rank; `copies`: of each rank's state in the whole job, at least 1.
  void BeginView(Epoch epoch, std::map<int, uint64_t> worker_of_rank, int copies);
  void EndView();
  void ForgetWorker(uint64_t worker);

  // INVALID_ARGUMENT: nothing was done, and the worker must not be listened to any more.
  absl::Status FromWorker(uint64_t worker, absl::string_view payload);
  // INVALID_ARGUMENT: nothing was done.
  absl::Status FromCoordinator(absl::string_view payload);

  // For a test: of each verified copy of that rank's that is here. Whoever reads it is to find out.
  void FlipBit(int rank);

  // The job isn't over before its last version is in files.
  bool has_files() const { return tier_ != nullptr; }

 private:
  // One committed version and one in flight; with a persistent tier one more, which is being
  // written.
  static constexpr size_t kRooms = 2;

  struct Room {
    std::shared_ptr<const SnapshotMemory> memory;
    std::optional<checkpoint::VersionName> holds;
    std::optional<checkpoint::Digest> digest;   // of what it holds, once computed
    bool is_read = false;                       // by the persistent tier
    std::shared_ptr<const StateLayout> layout;  // with a persistent tier
  };
  using Rooms = std::vector<std::shared_ptr<Room>>;
  // A rank of this node in the view.
  struct LocalRank {
    uint64_t worker = 0;
    std::optional<int64_t> reached;          // waits for the verdict on this version
    bool awaits_state = false;               // is in Restore
    std::optional<checkpoint::Fetch> fetch;  // what it is to load
    bool load_sent = false;
    uint64_t load_bytes = 0;
  };

  absl::Status OnDescribeState(uint64_t worker, const checkpoint::DescribeState& state);
  absl::StatusOr<std::shared_ptr<const StateLayout>> TakeLayout(uint64_t worker, uint64_t bytes);
  size_t room_count() const { return kRooms + (tier_ == nullptr ? 0 : 1); }
  // RESOURCE_EXHAUSTED: there isn't enough for another worker with so many bytes of state. See
  // node_memory.cc.
  absl::Status CheckMemory(uint64_t state_bytes) const;
  uint64_t UntouchedBytes() const;
  absl::Status OnOpenRooms(uint64_t worker, const checkpoint::OpenRooms& open);
  absl::Status OnReached(int rank, const checkpoint::Reached& reached);
  absl::Status OnTaken(int rank, const checkpoint::Taken& taken);
  absl::Status OnLoaded(int rank, const checkpoint::Loaded& loaded);
  void OnFetch(const checkpoint::Fetch& fetch);
  void OnRestored(const checkpoint::Restored& restored);
  void GiveVerdict(int rank);
  void SendLoad(int rank);
  void OnPersist(const checkpoint::Persist& persist);
  void PersistRank(const checkpoint::Persist& persist, int rank);
  // From files; SendLoad's part.
  void ReadFiles(int rank);
  void OnFilesRead(Epoch epoch, const checkpoint::Fetch& fetch,
                   absl::StatusOr<NodeTier::Loaded> loaded);
  void EndFetch(int rank, checkpoint::LoadResult result);
  void Step(const checkpoint::HolderInput& input);
  void ComputeDigest(const ShardKey& key);
  void Release(const checkpoint::VersionName& name);
  // Of other agents' shards: node_checkpoints_peers.cc.
  void FromPeers(const Pulled& pulled);
  void OnCopy(const checkpoint::Copy& copy);
  bool Adopt(const Pulled& pulled);
  void OnDoubt(const ShardKey& key);
  void OnChecked(const ShardKey& key, const std::shared_ptr<Room>& room,
                 const checkpoint::Digest& digest);
  checkpoint::VersionName NameOf(int64_t version) const { return {version, epoch_.value}; }

  asio::io_context& context_;
  const Handlers handlers_;
  const Logger logger_;
  checkpoint::Holder holder_;
  Epoch epoch_;
  int copies_ = 1;
  std::map<int, LocalRank> ranks_;
  std::map<uint64_t, Rooms> rooms_;                   // by worker
  std::map<uint64_t, StateLayout> layouts_;           // by worker that has opened no room yet
  std::map<ShardKey, std::shared_ptr<Room>> shards_;  // where the bytes are
  std::unique_ptr<NodeTier> tier_;                    // null: there is none
  std::set<ShardKey> doubted_;                        // whose digests are computed again
  NodeReplicas replicas_;
  asio::thread_pool digests_{1};  // last: what it runs uses all of the above
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_NODE_CHECKPOINTS_H_
