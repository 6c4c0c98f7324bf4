#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "host_event.h"
#include "host_stream.h"

namespace phalanx::device {
namespace {

constexpr size_t kAlignment = 64;

// 0 if unknown.
uint64_t PhysicalBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

class HostDevice : public Device {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes) override {
    // The system promises more than it has; what can't fit is refused here, not when touched.
    const uint64_t physical_bytes = PhysicalBytes();
    if (bytes > PTRDIFF_MAX - kAlignment || (physical_bytes != 0 && bytes > physical_bytes)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot allocate ", bytes, " bytes of host memory: the machine has ", physical_bytes));
    }
    const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    void* const memory = std::aligned_alloc(kAlignment, rounded);
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot allocate ", bytes,
          " bytes of host memory: none is left, or a limit of the process is reached"));
    }
    return memory;
  }

  void Free(void* memory) override { std::free(memory); }

  absl::Status Copy(void* destination, const void* source, size_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    if (destination == nullptr || source == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("a copy of ", bytes, " bytes has a null buffer"));
    }
    std::memmove(destination, source, bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override { return streams_.Create(); }

  std::shared_ptr<ManualEvent> CreateEvent() override { return std::make_shared<HostEvent>(); }

  absl::Status Synchronize(Deadline deadline) override { return streams_.Synchronize(deadline); }

 private:
  HostStreams streams_;
};

}  // namespace

std::unique_ptr<Device> OpenHostDevice() { return std::make_unique<HostDevice>(); }

}  // namespace phalanx::device
