// Files as this room needs them: written whole or not at all, read without trust.
#ifndef PHALANX_CHECKPOINT_FILES_FILE_IO_H_
#define PHALANX_CHECKPOINT_FILES_FILE_IO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace phalanx::checkpoint {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// "PATH: WHAT: (the system's words for `error`)", with the code that fits.
absl::Status FileError(int error, const std::string& path, const std::string& what);

// A regular file open for reading, with the length that it had then. Doesn't wait for a pipe's
// writer.
class InputFile {
 public:
  static absl::StatusOr<InputFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  // DATA_LOSS if the file ends before.
  absl::Status ReadAt(uint64_t offset, void* data, size_t bytes) const;

 private:
  InputFile(Descriptor fd, std::string path, uint64_t bytes)
      : fd_(std::move(fd)), path_(std::move(path)), bytes_(bytes) {}

  Descriptor fd_;
  std::string path_;
  uint64_t bytes_;
};

// A file that appears under its name, whole and on the disk, by Commit; else it is gone with the
// object. A process that dies meanwhile leaves "PATH.partial-…".
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;

  absl::Status Append(const void* data, size_t bytes);
  // Syncs the file, renames it, syncs its folder. The last call.
  absl::Status Commit();

 private:
  OutputFile(Descriptor fd, std::string path, std::string partial_path)
      : fd_(std::move(fd)), path_(std::move(path)), partial_path_(std::move(partial_path)) {}

  Descriptor fd_;
  std::string path_;
  std::string partial_path_;
};

// A name beside `path` that nobody else has drawn.
std::string PartialName(const std::string& path);

absl::StatusOr<uint64_t> SizeOfFile(const std::string& path);
bool Exists(const std::string& path);
// Follows links.
bool IsFolder(const std::string& path);
// Fine if it is there.
absl::Status MakeFolder(const std::string& path);
absl::Status SyncFolder(const std::string& path);
// Fine if it isn't there.
absl::Status RemoveFile(const std::string& path);
// All but "." and "..", sorted.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);
std::string FolderOf(const std::string& path);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_FILE_IO_H_
