// What the kernel says about a process.
#ifndef PHALANX_CONTROL_PROCESS_PROCESS_STATE_H_
#define PHALANX_CONTROL_PROCESS_PROCESS_STATE_H_

namespace phalanx::control {

enum class ProcessState {
  kStopped,  // by a signal (SIGSTOP, SIGTSTP): does nothing until SIGCONT
  kTraced,   // held by a debugger
  kGoesOn,   // runs, waits, or is waiting for a processor
  kUnknown,  // has ended, or can't be seen
};

ProcessState StateOf(int pid);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_PROCESS_STATE_H_
