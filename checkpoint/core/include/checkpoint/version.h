// What checkpoints are called, and what the job's record says of them.
#ifndef PHALANX_CHECKPOINT_VERSION_H_
#define PHALANX_CHECKPOINT_VERSION_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::checkpoint {

// An agent's incarnation: one that is started again has another number.
using AgentId = int64_t;

// A moment of all ranks: the program's step, and the epoch in which it was saved. The same step
// saved again after a roll-back is another version.
struct VersionName {
  int64_t version = -1;
  uint64_t epoch = 0;

  auto operator<=>(const VersionName&) const = default;
};

// The regions as each rank's first Restore found them. Kept by the rank itself and nowhere else.
inline constexpr VersionName kInitialVersion{-1, 0};

// Who speaks for the record: coordinators of one epoch are told apart by their claims. A
// coordinator that takes over changes the record by its claim, so that whatever an earlier one
// still tries to write fails.
struct Term {
  uint64_t epoch = 0;
  uint64_t claim = 0;

  auto operator<=>(const Term&) const = default;
};

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Digest&) const = default;
};

struct RecordedVersion {
  VersionName name;
  std::vector<Digest> digests;  // by rank

  bool operator==(const RecordedVersion&) const = default;
};

// The part of the record that is about checkpoints.
struct RecordView {
  Term term;
  std::vector<RecordedVersion> kept;  // the newest first; empty before the first commit

  bool operator==(const RecordView&) const = default;
};

// The newest committed version; kInitialVersion before the first commit.
VersionName Newest(const RecordView& record);

std::string Describe(const VersionName& name);  // "version 120 of epoch 3"

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_VERSION_H_
