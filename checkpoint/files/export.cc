#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "checkpoint_files/versions.h"
#include "file_io.h"

namespace phalanx::checkpoint {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// A folder that is gone with the object, with the files that were named, unless it was kept.
class NewFolder {
 public:
  explicit NewFolder(std::string path) : path_(std::move(path)) {}
  ~NewFolder() {
    if (kept_) return;
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(path_.c_str());
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  absl::Status Make() const {
    if (mkdir(path_.c_str(), 0777) == 0) return absl::OkStatus();
    return FileError(errno, path_, "can't be made");
  }
  std::string NewFile(const std::string& name) {
    files_.push_back(absl::StrCat(path_, "/", name));
    return files_.back();
  }
  absl::Status KeepAs(const std::string& path) {
    PHX_RETURN_IF_ERROR(SyncFolder(path_));
    if (rename(path_.c_str(), path.c_str()) != 0) {
      return FileError(errno, path_, absl::StrCat("renaming it to ", path));
    }
    kept_ = true;
    return SyncFolder(FolderOf(path));
  }

 private:
  const std::string path_;
  std::vector<std::string> files_;
  bool kept_ = false;
};

absl::Status Copy(const std::string& from, const std::string& to) {
  PHX_ASSIGN_OR_RETURN(const InputFile input, InputFile::Open(from));
  PHX_ASSIGN_OR_RETURN(OutputFile output, OutputFile::Create(to));
  std::vector<char> piece(std::min(input.bytes(), kPieceBytes));
  for (uint64_t at = 0; at < input.bytes();) {
    const uint64_t bytes = std::min(input.bytes() - at, kPieceBytes);
    PHX_RETURN_IF_ERROR(input.ReadAt(at, piece.data(), bytes));
    PHX_RETURN_IF_ERROR(output.Append(piece.data(), bytes));
    at += bytes;
  }
  return output.Commit();
}

}  // namespace

absl::Status ExportVersion(const FoundVersion& version, const std::string& output) {
  PHX_RETURN_IF_ERROR(version.state);
  std::string path = output;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (Exists(path)) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": is there; nothing is overwritten"));
  }
  NewFolder folder(PartialName(path));
  PHX_RETURN_IF_ERROR(folder.Make());
  const int ranks = static_cast<int>(version.manifest.shards.size());
  const int digits = static_cast<int>(absl::StrCat(ranks - 1).size());
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string from = ShardPath(version.place, rank, ranks);
    const std::string to =
        folder.NewFile(absl::StrFormat("rank-%0*d-of-%d.safetensors", digits, rank, ranks));
    PHX_RETURN_IF_ERROR(Copy(from, to));
    absl::Status verified = VerifyShard(to, version.manifest.shards[static_cast<size_t>(rank)]);
    // The copy goes with the call, so the message is about its source.
    if (!verified.ok()) {
      PHX_RETURN_IF_ERROR(VerifyShard(from, version.manifest.shards[static_cast<size_t>(rank)]));
      return verified;
    }
  }
  return folder.KeepAs(path);
}

}  // namespace phalanx::checkpoint
