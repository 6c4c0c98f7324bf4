#include "file_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::checkpoint {
namespace {

// Linux moves at most 2 GiB less a page in one call.
constexpr size_t kMostAtOnce = size_t{1} << 30;

}  // namespace

absl::Status FileError(int error, const std::string& path, const std::string& what) {
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": ", what));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FileError(errno, path, "can't be opened");
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return FileError(errno, path, "can't be looked at");
  if (!S_ISREG(facts.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": isn't a file"));
  }
  return InputFile(std::move(fd), path, static_cast<uint64_t>(facts.st_size));
}

absl::Status InputFile::ReadAt(uint64_t offset, void* data, size_t bytes) const {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got =
        pread(fd_.get(), next, std::min(bytes, kMostAtOnce), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, path_, absl::StrCat("reading at ", offset));
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": ends at ", offset, ", ", bytes, " bytes before it should"));
    }
    next += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  std::string partial_path = PartialName(path);
  Descriptor fd(open(partial_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) return FileError(errno, partial_path, "can't be made");
  return OutputFile(std::move(fd), path, std::move(partial_path));
}

OutputFile::~OutputFile() {
  if (fd_.get() >= 0) unlink(partial_path_.c_str());
}

absl::Status OutputFile::Append(const void* data, size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = write(fd_.get(), next, std::min(bytes, kMostAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError(errno, partial_path_, "writing");
    next += put;
    bytes -= static_cast<size_t>(put);
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (fsync(fd_.get()) != 0) return FileError(errno, partial_path_, "syncing");
  if (rename(partial_path_.c_str(), path_.c_str()) != 0) {
    return FileError(errno, partial_path_, absl::StrCat("renaming it to ", path_));
  }
  // The name is gone, so there is nothing left to remove. Some file systems tell of a failed write
  // only here.
  if (close(fd_.Release()) != 0 && errno != EINTR) {
    const int error = errno;
    unlink(path_.c_str());
    return FileError(error, path_, "closing");
  }
  return SyncFolder(FolderOf(path_));
}

std::string PartialName(const std::string& path) {
  std::random_device random;
  return absl::StrCat(path, ".partial-", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

absl::StatusOr<uint64_t> SizeOfFile(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return FileError(errno, path, "can't be looked at");
  if (!S_ISREG(facts.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": isn't a file"));
  }
  return static_cast<uint64_t>(facts.st_size);
}

bool Exists(const std::string& path) {
  struct stat facts;
  return lstat(path.c_str(), &facts) == 0;
}

bool IsFolder(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
  return FileError(errno, path, "can't be made");
}

absl::Status SyncFolder(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FileError(errno, path, "can't be opened");
  // Some file systems have no notion of it.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return FileError(errno, path, "syncing");
  return absl::OkStatus();
}

absl::Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError(errno, path, "can't be removed");
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(folder.c_str()), closedir);
  if (listing == nullptr) return FileError(errno, folder, "can't be opened");
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(listing.get());
    if (entry == nullptr && errno != 0) return FileError(errno, folder, "can't be read");
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace phalanx::checkpoint
