#include "checkpoint_files/manifest.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"
#include "file_io.h"
#include "json_text.h"
#include "manifest_files.h"

namespace phalanx::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "phalanx-checkpoint";
constexpr uint64_t kFormatVersion = 1;
constexpr char kOwnChecksum[] = "manifest_crc32c";
// Room for kMaxRanks.
constexpr uint64_t kMaxManifestBytes = uint64_t{16} << 20;

std::string Hex32(uint32_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad8)); }

// Of the manifest without its own checksum; spaces and the order of keys don't matter.
std::string OwnChecksum(const Json& json) {
  const std::string text = json.dump();
  return Hex32(Crc32c(text.data(), text.size()));
}

std::string Encode(const VersionPlace& place, const Manifest& manifest) {
  const int ranks = static_cast<int>(manifest.shards.size());
  Json shards = Json::array();
  for (int rank = 0; rank < ranks; ++rank) {
    const ShardRecord& shard = manifest.shards[static_cast<size_t>(rank)];
    shards.push_back({{"file", ShardFileName(rank, ranks)},
                      {"bytes", shard.bytes},
                      {"xxh3_128", ToHex(shard.digest)},
                      {"crc32c", Hex32(shard.crc32c)}});
  }
  Json json = {{"format", kFormat},
               {"format_version", kFormatVersion},
               {"job", place.job},
               {"version", static_cast<uint64_t>(place.name.version)},
               {"epoch", place.name.epoch},
               {"committed_unix_ms", static_cast<uint64_t>(manifest.committed_unix_ms)},
               {"ranks", static_cast<uint64_t>(ranks)},
               {"shards", std::move(shards)}};
  json[kOwnChecksum] = OwnChecksum(json);
  return json.dump(1) + "\n";
}

absl::StatusOr<ShardRecord> DecodeShard(const Json& json, int rank, int ranks) {
  if (!json.is_object()) return absl::InvalidArgumentError("isn't an object");
  ShardRecord record;
  PHX_ASSIGN_OR_RETURN(const std::string file, TextAt(json, "file"));
  if (file != ShardFileName(rank, ranks)) {
    return absl::InvalidArgumentError(
        absl::StrCat("names the file ", Quoted(file), " for ", ShardFileName(rank, ranks)));
  }
  PHX_ASSIGN_OR_RETURN(record.bytes, UnsignedAt(json, "bytes"));
  PHX_ASSIGN_OR_RETURN(const std::string hex, TextAt(json, "xxh3_128"));
  const std::optional<Digest> digest = DigestFromHex(hex);
  if (!digest.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("has the digest ", Quoted(hex)));
  }
  record.digest = *digest;
  PHX_ASSIGN_OR_RETURN(const std::string crc, TextAt(json, "crc32c"));
  if (!absl::SimpleHexAtoi(crc, &record.crc32c) || Hex32(record.crc32c) != crc) {
    return absl::InvalidArgumentError(absl::StrCat("has the checksum ", Quoted(crc)));
  }
  return record;
}

// That the manifest is the one of this place: a folder may have been copied or renamed.
absl::Status CheckIsOf(const VersionPlace& place, const Json& json) {
  PHX_ASSIGN_OR_RETURN(const std::string job, TextAt(json, "job"));
  PHX_ASSIGN_OR_RETURN(const uint64_t version, UnsignedAt(json, "version"));
  PHX_ASSIGN_OR_RETURN(const uint64_t epoch, UnsignedAt(json, "epoch"));
  if (job == place.job && version == static_cast<uint64_t>(place.name.version) &&
      epoch == place.name.epoch) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("is of version ", version, " of epoch ", epoch,
                                                 " of job ", Quoted(job),
                                                 ", not of the folder that it lies in"));
}

absl::Status CheckFormat(const Json& json) {
  PHX_ASSIGN_OR_RETURN(const std::string format, TextAt(json, "format"));
  PHX_ASSIGN_OR_RETURN(const uint64_t format_version, UnsignedAt(json, "format_version"));
  if (format != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat("has the format ", Quoted(format)));
  }
  if (format_version == kFormatVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("has format version ", format_version,
                                               "; this release of Phalanx reads ", kFormatVersion));
}

absl::StatusOr<Manifest> Decode(const VersionPlace& place, const std::string& text) {
  PHX_ASSIGN_OR_RETURN(Json json, ParseObject(text));
  PHX_RETURN_IF_ERROR(CheckFormat(json));
  PHX_ASSIGN_OR_RETURN(const std::string checksum, TextAt(json, kOwnChecksum));
  json.erase(kOwnChecksum);
  if (checksum != OwnChecksum(json)) {
    return absl::InvalidArgumentError("isn't what was written: its own checksum is another");
  }
  PHX_RETURN_IF_ERROR(CheckIsOf(place, json));
  Manifest manifest;
  PHX_ASSIGN_OR_RETURN(const uint64_t committed, UnsignedAt(json, "committed_unix_ms"));
  manifest.committed_unix_ms = static_cast<int64_t>(committed);
  PHX_ASSIGN_OR_RETURN(const uint64_t ranks, UnsignedAt(json, "ranks"));
  const auto shards = json.find("shards");
  if (ranks < 1 || ranks > kMaxRanks || shards == json.end() || !shards->is_array() ||
      shards->size() != ranks) {
    return absl::InvalidArgumentError(absl::StrCat("doesn't name its ", ranks, " ranks' files"));
  }
  for (const Json& entry : *shards) {
    absl::StatusOr<ShardRecord> shard =
        DecodeShard(entry, static_cast<int>(manifest.shards.size()), static_cast<int>(ranks));
    if (!shard.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("rank ", manifest.shards.size(), ": ",
                                                     std::string(shard.status().message())));
    }
    manifest.shards.push_back(*shard);
  }
  return manifest;
}

absl::Status SyncFolders(const VersionPlace& place) {
  PHX_RETURN_IF_ERROR(SyncFolder(PathOf(place)));
  PHX_RETURN_IF_ERROR(SyncFolder(FolderOf(PathOf(place))));
  return SyncFolder(place.folder);
}

absl::Status CheckManifest(const VersionPlace& place, const Manifest& manifest) {
  PHX_RETURN_IF_ERROR(CheckPlace(place));
  if (manifest.shards.empty() || manifest.shards.size() > kMaxRanks ||
      manifest.committed_unix_ms < 0) {
    return absl::InvalidArgumentError(absl::StrCat(ManifestPath(place), ": no manifest has ",
                                                   manifest.shards.size(), " ranks and the time ",
                                                   manifest.committed_unix_ms));
  }
  const std::string fault = FilesFault(place, manifest);
  if (fault.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(fault, "; ", place.folder, " must be the same folder for all ranks"));
}

}  // namespace

std::string FilesFault(const VersionPlace& place, const Manifest& manifest) {
  const int ranks = static_cast<int>(manifest.shards.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = ShardPath(place, rank, ranks);
    const absl::StatusOr<uint64_t> bytes = SizeOfFile(path);
    if (!bytes.ok()) return std::string(bytes.status().message());
    const uint64_t expected = manifest.shards[static_cast<size_t>(rank)].bytes;
    if (*bytes != expected) {
      return absl::StrCat(path, ": has ", *bytes, " bytes, its manifest says ", expected);
    }
  }
  return "";
}

absl::Status WriteManifest(const VersionPlace& place, const Manifest& manifest) {
  PHX_RETURN_IF_ERROR(CheckManifest(place, manifest));
  const absl::StatusOr<Manifest> there = ReadManifest(place);
  if (there.ok()) {
    if (there->shards == manifest.shards) return SyncFolders(place);
    return absl::AlreadyExistsError(
        absl::StrCat(ManifestPath(place), ": is there, and names other shards"));
  }
  if (!absl::IsNotFound(there.status())) return there.status();
  // The files' names first: after a loss of power, a manifest must not be there without them.
  PHX_RETURN_IF_ERROR(SyncFolder(PathOf(place)));
  PHX_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(ManifestPath(place)));
  const std::string text = Encode(place, manifest);
  PHX_RETURN_IF_ERROR(file.Append(text.data(), text.size()));
  PHX_RETURN_IF_ERROR(file.Commit());
  return SyncFolders(place);
}

absl::StatusOr<Manifest> ReadManifest(const VersionPlace& place) {
  PHX_RETURN_IF_ERROR(CheckPlace(place));
  PHX_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(ManifestPath(place)));
  if (file.bytes() > kMaxManifestBytes) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": has ", file.bytes(), " bytes, more than any manifest"));
  }
  std::string text(file.bytes(), '\0');
  PHX_RETURN_IF_ERROR(file.ReadAt(0, text.data(), text.size()));
  absl::StatusOr<Manifest> manifest = Decode(place, text);
  if (manifest.ok()) return manifest;
  const std::string what =
      absl::StrCat(file.path(), ": ", std::string(manifest.status().message()));
  return absl::IsUnimplemented(manifest.status()) ? absl::UnimplementedError(what)
                                                  : absl::DataLossError(what);
}

}  // namespace phalanx::checkpoint
