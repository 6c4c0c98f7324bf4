// Signals that end us, as something to wait for.
#ifndef PHALANX_FAULT_STRESS_SIGNALS_H_
#define PHALANX_FAULT_STRESS_SIGNALS_H_

#include <csignal>
#include <optional>

#include "control_process/fd.h"

namespace phalanx::stress {

// SIGINT, SIGTERM and SIGHUP, unless whoever started us ignores them, are blocked while it lives.
// For the main and only thread.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  int fd() const { return fd_.get(); }  // readable when one has come
  std::optional<int> Take();            // one that has come

 private:
  sigset_t before_;
  control::Fd fd_;
};

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_SIGNALS_H_
