// A program that a test runs, watches and kills.
#ifndef PHALANX_TESTS_END_TO_END_SUBPROCESS_H_
#define PHALANX_TESTS_END_TO_END_SUBPROCESS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace phalanx::testing_support {

// Every wait has a deadline of a minute: far more than needed, so that a loaded machine is no
// failure. Failures are reported to GoogleTest.
class Subprocess {
 public:
  struct Options {
    std::map<std::string, std::string> environment;  // added to ours
    std::string input;                               // its standard input
  };

  // Starts it with the default disposition of every signal.
  explicit Subprocess(const std::vector<std::string>& arguments) : Subprocess(arguments, {}) {}
  Subprocess(const std::vector<std::string>& arguments, const Options& options);
  // Kills it if it still runs.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }

  // Reads until `done` says so. False (and a failure) at the deadline or the end of the output.
  bool AwaitOutput(const std::function<bool()>& done);
  // Until its standard output holds `text` `times` times.
  bool AwaitText(const std::string& text, int times = 1);
  // Until it has ended and nobody holds its output; the wait status.
  int AwaitEnd();
  // AwaitEnd as a shell reports it.
  int AwaitExitCode();
  void CloseOutput();

 private:
  bool ReadOnce(int timeout_ms);

  pid_t pid_ = -1;
  bool reaped_ = false;
  int output_fd_ = -1;
  int error_fd_ = -1;
  std::string output_;
  std::string error_;
};

int Count(const std::string& text, const std::string& part);

// Every number that follows `word` in `text`: pids that workers print.
std::vector<pid_t> NumbersAfter(const std::string& text, const std::string& word);

// The children of `parent` whose command line holds `word` as an argument of its own; all if empty.
std::vector<pid_t> ChildrenOf(pid_t parent, const std::string& word);

// Waits until no process `pid` runs (it may be somebody's zombie). False at the deadline.
bool AwaitGone(pid_t pid);

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_SUBPROCESS_H_
