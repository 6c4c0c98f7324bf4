// A process as a file descriptor.
#ifndef PHALANX_CONTROL_PROCESS_PROCESS_DESCRIPTOR_H_
#define PHALANX_CONTROL_PROCESS_PROCESS_DESCRIPTOR_H_

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "control_process/fd.h"

namespace phalanx::control {

// Readable once process `pid` has ended; not valid, with errno, on failure. The header of
// glibc 2.36 declares pidfd_open() without C linkage, so the call is made by its number.
inline Fd OpenProcess(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

// To the process of that descriptor; one that has ended is none the worse for it.
inline absl::Status SignalProcess(int process, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0) == 0 || errno == ESRCH) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(strerror(errno));
}

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_PROCESS_DESCRIPTOR_H_
