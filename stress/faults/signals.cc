#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace phalanx::stress {

EndSignals::EndSignals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    const bool is_ignored =
        sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!is_ignored) sigaddset(&ours, signal);
  }
  sigprocmask(SIG_BLOCK, &ours, &before_);
  fd_ = control::Fd(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
}

EndSignals::~EndSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> EndSignals::Take() {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) {
    return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

}  // namespace phalanx::stress
