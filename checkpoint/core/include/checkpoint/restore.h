// From where each rank gets its shard back: one version for all ranks, the newest that is whole.
// Pure.
//
// Order of sources: the rank's own agent, another holder, the persistent tier. A corrupt copy is
// struck out and the next source taken. If a shard has no source left, the version is lost, which
// is said with the shard's name, and all ranks begin again with the next older one. Nobody may go
// on before Restored.
#ifndef PHALANX_CHECKPOINT_RESTORE_H_
#define PHALANX_CHECKPOINT_RESTORE_H_

#include <map>
#include <set>
#include <variant>
#include <vector>

#include "checkpoint/messages.h"
#include "checkpoint/version.h"

namespace phalanx::checkpoint {

struct RestoreSettings {
  int attempts = 3;  // at one source that doesn't answer
  // Of a restore of the same view that was given up: an answer to it must not pass for one to this.
  uint64_t rounds_before = 0;
};

struct Source {
  enum class Kind {
    kInitial,  // the regions as the rank's first Restore kept them
    kLocal,    // the rank's own agent
    kReplica,
    kPersistent,
  };
  Kind kind = Kind::kInitial;
  AgentId agent = 0;  // of kLocal and kReplica

  auto operator<=>(const Source&) const = default;
};

struct RestoreBegins {};  // the first input, once
struct Fetched {          // its digest was compared with `digest` of the Fetch
  int rank = 0;
  VersionName name;
  Source source;
};
struct FetchFailed {
  int rank = 0;
  VersionName name;
  Source source;
  bool corrupt = false;  // otherwise it didn't answer
};
using RestoreInput = std::variant<RestoreBegins, Fetched, FetchFailed>;

struct Fetch {
  int rank = 0;
  VersionName name;
  Source source;
  Digest digest;  // what the bytes must have; not for kInitial
  // Rises with every version that is tried. One that comes after a Fetch of a later term or round
  // is to be ignored, or it would put an older choice over a newer one.
  uint64_t round = 0;
};
// Gone: this shard has no source. Said once for each version.
struct VersionLost {
  VersionName name;
  int rank = 0;
};
// All ranks have it.
struct Restored {
  VersionName name;
};
// No version is whole. The VersionLost before it say why.
struct NothingLeft {};
using RestoreOutput = std::variant<Fetch, VersionLost, Restored, NothingLeft>;

class Restore {
 public:
  // `owners`: each rank's agent. `inventories`: of all agents of the view. `persisted`: versions
  // with a manifest in the persistent tier, with the digests it names; for one that the record
  // doesn't name they may all be 0, and whoever reads it looks them up in the manifest.
  Restore(const RestoreSettings& settings, const RecordView& record, std::vector<AgentId> owners,
          const std::vector<Inventory>& inventories, const std::vector<RecordedVersion>& persisted);

  std::vector<RestoreOutput> Step(const RestoreInput& input);

  int corrupt_copies() const { return corrupt_; }
  uint64_t rounds() const { return round_; }

 private:
  struct Candidate {
    RecordedVersion version;
    std::vector<std::vector<Source>> sources;  // by rank; the best first
  };

  void Handle(const RestoreBegins& begins);
  void Handle(const Fetched& fetched);
  void Handle(const FetchFailed& failed);
  bool IsCurrent(int rank, const VersionName& name, const Source& source) const;
  void AddSources(const std::vector<Inventory>& inventories, Candidate* candidate) const;
  void BeginVersion();
  void Ask(size_t rank);
  bool HasLostShard();

  const RestoreSettings settings_;
  const std::vector<AgentId> owners_;
  std::vector<Candidate> candidates_;  // the best first; the first is being tried
  std::set<int> fetched_;
  std::map<int, int> attempts_;  // by rank, at its present source
  uint64_t round_ = 0;
  int corrupt_ = 0;
  bool over_ = false;
  std::vector<RestoreOutput> outputs_;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_RESTORE_H_
