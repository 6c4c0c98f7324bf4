#include "checkpoint_files/shard.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"
#include "file_io.h"
#include "json_text.h"
#include "safetensors.h"

namespace phalanx::checkpoint {
namespace {

// What is read, digested and summed at once: it stays in the cache meanwhile.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

absl::Status CheckShard(const VersionPlace& place, int rank, int ranks,
                        absl::Span<const SavedRegion> regions) {
  PHX_RETURN_IF_ERROR(CheckPlace(place));
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(place), ": no rank ", rank, " of ", ranks, "; at most ", kMaxRanks));
  }
  for (const SavedRegion& region : regions) {
    if (region.data == nullptr && region.layout.bytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat(ShardPath(place, rank, ranks), ": region ",
                                                     Quoted(region.layout.name), ": no memory"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> HeaderFor(const VersionPlace& place, int rank, int ranks,
                                      absl::Span<const SavedRegion> regions) {
  std::vector<RegionLayout> layouts;
  layouts.reserve(regions.size());
  for (const SavedRegion& region : regions) layouts.push_back(region.layout);
  absl::StatusOr<std::string> header =
      EncodeHeader(layouts, {{"job", place.job},
                             {"version", absl::StrCat(place.name.version)},
                             {"epoch", absl::StrCat(place.name.epoch)},
                             {"rank", absl::StrCat(rank)},
                             {"ranks", absl::StrCat(ranks)}});
  if (header.ok()) return header;
  return absl::InvalidArgumentError(
      absl::StrCat(ShardPath(place, rank, ranks), ": ", std::string(header.status().message())));
}

absl::Status MakeVersionFolder(const VersionPlace& place) {
  if (!Exists(place.folder)) {
    return absl::NotFoundError(absl::StrCat(
        place.folder, ": isn't there; make it, or mount it, before checkpoints are written there"));
  }
  if (Exists(ManifestPath(place))) {
    return absl::AlreadyExistsError(
        absl::StrCat(PathOf(place), ": is committed; nothing is changed in it"));
  }
  PHX_RETURN_IF_ERROR(MakeFolder(FolderOf(PathOf(place))));
  return MakeFolder(PathOf(place));
}

absl::StatusOr<InputFile> OpenShard(const std::string& path, const ShardRecord& expected) {
  PHX_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  if (file.bytes() != expected.bytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": has ", file.bytes(), " bytes, its manifest says ", expected.bytes));
  }
  return file;
}

// Reads the regions' bytes to `targets`, one a region, or nowhere if there are none, and compares
// all of the file with `expected`.
absl::Status ReadRegions(const InputFile& file, const Header& header, const ShardRecord& expected,
                         const std::vector<void*>& targets) {
  std::unique_ptr<char[]> nowhere;
  if (targets.empty()) nowhere = std::make_unique<char[]>(kPieceBytes);
  StreamingDigest digest;
  uint32_t crc = Crc32c(header.text.data(), header.text.size());
  uint64_t offset = header.bytes;
  for (size_t i = 0; i < header.regions.size(); ++i) {
    const uint64_t end = offset + header.regions[i].bytes;
    char* next = targets.empty() ? nowhere.get() : static_cast<char*>(targets[i]);
    while (offset < end) {
      const uint64_t piece = std::min(end - offset, kPieceBytes);
      PHX_RETURN_IF_ERROR(file.ReadAt(offset, next, piece));
      digest.Add(next, piece);
      crc = Crc32c(next, piece, crc);
      offset += piece;
      if (!targets.empty()) next += piece;
    }
  }
  if (digest.Value() != expected.digest) {
    return absl::DataLossError(absl::StrCat(file.path(), ": isn't what was saved: its digest is ",
                                            ToHex(digest.Value()), ", its manifest says ",
                                            ToHex(expected.digest)));
  }
  if (crc != expected.crc32c) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": its header isn't what was saved: the file's checksum is ",
                     absl::Hex(crc, absl::kZeroPad8), ", its manifest says ",
                     absl::Hex(expected.crc32c, absl::kZeroPad8)));
  }
  return absl::OkStatus();
}

// For each region of the file the memory that it goes to.
absl::StatusOr<std::vector<void*>> MatchRegions(const std::string& path, const Header& header,
                                                absl::Span<const RestoredRegion> regions) {
  std::map<std::string, const RestoredRegion*> wanted;
  for (const RestoredRegion& region : regions) {
    const bool usable = region.data != nullptr || region.layout.bytes == 0;
    if (!usable || !wanted.emplace(region.layout.name, &region).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": region ", Quoted(region.layout.name),
                       usable ? ": is named twice by the caller" : ": no memory"));
    }
  }
  std::vector<void*> targets;
  targets.reserve(header.regions.size());
  for (const RegionLayout& found : header.regions) {
    const auto region = wanted.find(found.name);
    if (region == wanted.end()) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": holds region ", Quoted(found.name),
                                                        " (", DescribeLayout(found),
                                                        "), which the program doesn't have"));
    }
    const RegionLayout expected = AsStored(region->second->layout);
    if (expected != found) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": region ", Quoted(found.name), ": the program expects ",
                       DescribeLayout(expected), ", the file has ", DescribeLayout(found)));
    }
    targets.push_back(region->second->data);
    wanted.erase(region);
  }
  if (!wanted.empty()) {
    const RegionLayout& missing = wanted.begin()->second->layout;
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": has no region ", Quoted(missing.name),
                     ", which the program expects (", DescribeLayout(missing), ")"));
  }
  return targets;
}

}  // namespace

absl::StatusOr<ShardRecord> WriteShard(const VersionPlace& place, int rank, int ranks,
                                       absl::Span<const SavedRegion> regions) {
  PHX_RETURN_IF_ERROR(CheckShard(place, rank, ranks, regions));
  PHX_ASSIGN_OR_RETURN(const std::string header, HeaderFor(place, rank, ranks, regions));
  PHX_RETURN_IF_ERROR(MakeVersionFolder(place));
  PHX_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(ShardPath(place, rank, ranks)));
  PHX_RETURN_IF_ERROR(file.Append(header.data(), header.size()));
  ShardRecord record{.bytes = header.size(), .crc32c = Crc32c(header.data(), header.size())};
  StreamingDigest digest;
  for (const SavedRegion& region : regions) {
    const auto* next = static_cast<const char*>(region.data);
    for (uint64_t left = region.layout.bytes; left > 0;) {
      const uint64_t piece = std::min(left, kPieceBytes);
      digest.Add(next, piece);
      record.crc32c = Crc32c(next, piece, record.crc32c);
      PHX_RETURN_IF_ERROR(file.Append(next, piece));
      next += piece;
      left -= piece;
    }
    record.bytes += region.layout.bytes;
  }
  record.digest = digest.Value();
  PHX_RETURN_IF_ERROR(file.Commit());
  return record;
}

absl::StatusOr<std::vector<RegionLayout>> ReadShardLayout(const std::string& path,
                                                          const ShardRecord& expected) {
  PHX_ASSIGN_OR_RETURN(const InputFile file, OpenShard(path, expected));
  PHX_ASSIGN_OR_RETURN(Header header, ReadHeader(file));
  return std::move(header.regions);
}

absl::Status ReadShard(const std::string& path, const ShardRecord& expected,
                       absl::Span<const RestoredRegion> regions) {
  PHX_ASSIGN_OR_RETURN(const InputFile file, OpenShard(path, expected));
  PHX_ASSIGN_OR_RETURN(const Header header, ReadHeader(file));
  PHX_ASSIGN_OR_RETURN(const std::vector<void*> targets, MatchRegions(path, header, regions));
  return ReadRegions(file, header, expected, targets);
}

absl::Status VerifyShard(const std::string& path, const ShardRecord& expected) {
  PHX_ASSIGN_OR_RETURN(const InputFile file, OpenShard(path, expected));
  PHX_ASSIGN_OR_RETURN(const Header header, ReadHeader(file));
  return ReadRegions(file, header, expected, {});
}

}  // namespace phalanx::checkpoint
