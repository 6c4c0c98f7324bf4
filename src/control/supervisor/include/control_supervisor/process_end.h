// How a process ended, in the words and numbers that a shell uses.
#ifndef PHALANX_CONTROL_SUPERVISOR_PROCESS_END_H_
#define PHALANX_CONTROL_SUPERVISOR_PROCESS_END_H_

#include <string>

namespace phalanx::control {

struct ProcessEnd {
  bool by_signal = false;
  int value = 0;  // the exit code, or the number of the signal

  static ProcessEnd Exited(int code) { return {false, code}; }
  static ProcessEnd Killed(int signal) { return {true, signal}; }
  // From what waitpid() gave for a process that ended.
  static ProcessEnd From(int wait_status);

  bool Succeeded() const { return !by_signal && value == 0; }
  // What a shell reports: the exit code, or 128 plus the signal.
  int ExitCode() const { return by_signal ? 128 + value : value; }
  // "exited with code 3" or "was killed by signal 9 (SIGKILL)".
  std::string Describe() const;
};

// "SIGKILL"; "signal 77" for a number without a name.
std::string SignalName(int signal);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_PROCESS_END_H_
