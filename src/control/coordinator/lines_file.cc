#include "lines_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace phalanx::control {

absl::Status LinesFile::Open(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  path_ = path;
  file_ = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file_.valid()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(what_, " can't be written to ", path, ": ", strerror(errno)));
}

absl::Status LinesFile::Append(std::string line) const {
  if (!file_.valid()) return absl::OkStatus();
  line += '\n';
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(what_, " can't be written to ", path_, ": ",
                                             written < 0 ? strerror(errno) : "no space left"));
}

}  // namespace phalanx::control
