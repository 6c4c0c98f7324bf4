// One rank's part of a version as a file in the safetensors format, which other programs read too.
//
// All calls here block for as long as the file system does; a network file system may take any
// time, so they belong on a thread that nothing waits for. They share no state: any threads may
// call them at once. What the statuses mean:
//   INVALID_ARGUMENT     the caller's mistake; nothing was touched
//   FAILED_PRECONDITION  the file is sound but isn't what the caller wants
//   DATA_LOSS            the file is damaged: another source, or an older version, is needed
//   NOT_FOUND and others what the file system said
// Each message begins with the file's path.
#ifndef PHALANX_CHECKPOINT_FILES_SHARD_H_
#define PHALANX_CHECKPOINT_FILES_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "checkpoint/version.h"
#include "checkpoint_files/names.h"
#include "phalanx/types.h"

namespace phalanx::checkpoint {

// Of UTF-8 text. "__metadata__" means something else in the format and is refused.
inline constexpr size_t kMaxRegionNameBytes = 256;
// Of the header, which names the regions: some 100,000 of them.
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;

// A region without a type is bytes: in the file, a row of as many U8.
struct RegionLayout {
  std::string name;
  std::optional<DataType> type;
  std::vector<int64_t> shape;  // empty with a type: one element; ignored without one
  uint64_t bytes = 0;

  bool operator==(const RegionLayout&) const = default;
};

// The memory is the caller's and isn't changed or freed before the call returns.
struct SavedRegion {
  RegionLayout layout;
  const void* data = nullptr;
};

struct RestoredRegion {
  RegionLayout layout;
  void* data = nullptr;
};

// What a manifest says of a shard's file.
struct ShardRecord {
  uint64_t bytes = 0;   // of the whole file
  Digest digest;        // of the regions' bytes in their order, as the job's record has it
  uint32_t crc32c = 0;  // of the whole file, so that the regions' names and shapes are covered too

  bool operator==(const ShardRecord&) const = default;
};

// Writes the file under another name, syncs it and renames it, so that it is whole or isn't there.
// It doesn't count before the version's manifest is written. Makes the version's folder where it
// isn't there, but not `place.folder`: a mistyped or unmounted path is an error (NOT_FOUND). A file
// of an attempt before is replaced; in a version that has its manifest nothing is
// (ALREADY_EXISTS). After a failure
// what is left, if anything, doesn't count.
absl::StatusOr<ShardRecord> WriteShard(const VersionPlace& place, int rank, int ranks,
                                       absl::Span<const SavedRegion> regions);

// What the file at `path` holds, in its order. Reads the header alone; the bytes may be damaged.
absl::StatusOr<std::vector<RegionLayout>> ReadShardLayout(const std::string& path,
                                                          const ShardRecord& expected);

// Fills all of `regions`, in any order, from the file, which must hold these and no others with the
// same types, shapes and sizes. Memory is written only after all that was found to be so; if it
// then turns out that bytes are damaged, `regions` are half filled and must be restored from
// elsewhere.
absl::Status ReadShard(const std::string& path, const ShardRecord& expected,
                       absl::Span<const RestoredRegion> regions);

// Reads everything and compares it with `expected`.
absl::Status VerifyShard(const std::string& path, const ShardRecord& expected);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_SHARD_H_
