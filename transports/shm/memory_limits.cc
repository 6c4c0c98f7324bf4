#include "memory_limits.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace phalanx::shm {
namespace {

constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

// The whole text of a small file of the kernel's; empty if it can't be read.
std::string ReadText(const std::string& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) {
    text.append(buffer, got);
  }
  std::fclose(file);
  return text;
}

std::optional<uint64_t> ParseNumber(const std::string& text) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;  // skips white space around it
  return value;
}

}  // namespace

std::optional<uint64_t> ParseMeminfo(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  const std::string wanted = key + ":";
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kib = 0;
    if (words >> name && name == wanted && words >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::string ParseCgroupPath(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return "";
}

std::optional<uint64_t> ParseCgroupRoom(const std::string& max, const std::string& current,
                                        const std::string& stat) {
  const std::optional<uint64_t> limit = ParseNumber(max);  // "max" when unlimited
  const std::optional<uint64_t> used = ParseNumber(current);
  if (!limit || !used) return std::nullopt;
  uint64_t reclaimable = 0;
  std::istringstream words(stat);
  std::string name;
  for (uint64_t value = 0; words >> name >> value;) {
    if (name == "inactive_file") reclaimable = value;
  }
  const uint64_t held = *used - std::min(*used, reclaimable);
  return *limit - std::min(*limit, held);
}

uint64_t AvailableMemory() {
  uint64_t available = ParseMeminfo(ReadText("/proc/meminfo"), "MemAvailable").value_or(UINT64_MAX);
  std::string path = ParseCgroupPath(ReadText("/proc/self/cgroup"));
  while (!path.empty()) {
    const std::string folder = absl::StrCat(kCgroupRoot, path == "/" ? "" : path);
    const std::optional<uint64_t> room =
        ParseCgroupRoom(ReadText(folder + "/memory.max"), ReadText(folder + "/memory.current"),
                        ReadText(folder + "/memory.stat"));
    if (room) available = std::min(available, *room);
    if (path == "/") break;
    const size_t slash = path.rfind('/');
    path = slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
  }
  return available;
}

uint64_t PhysicalMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace phalanx::shm
