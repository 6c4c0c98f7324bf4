#include "subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace phalanx::testing_support {
namespace {

constexpr int kTimeoutMs = 60000;

int LeftMs(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
}

bool AwaitReadable(int fd, int timeout_ms) {
  pollfd waited = {fd, POLLIN, 0};
  return poll(&waited, 1, timeout_ms) > 0;
}

void Drain(int* fd, std::string* text) {
  char bytes[65536];
  const ssize_t count = read(*fd, bytes, sizeof(bytes));
  if (count > 0) {
    text->append(bytes, static_cast<size_t>(count));
  } else {
    close(*fd);
    *fd = -1;
  }
}

// Empty when the process ends meanwhile.
std::string Contents(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char bytes[4096];
  const ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
  if (fd >= 0) close(fd);
  return count > 0 ? std::string(bytes, static_cast<size_t>(count)) : "";
}

// `input` in a file without a name: it never makes anybody wait.
int InputHolding(const std::string& input) {
  std::string path = testing::TempDir() + "/subprocess_XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  EXPECT_GE(fd, 0);
  unlink(path.c_str());
  EXPECT_EQ(write(fd, input.data(), input.size()), static_cast<ssize_t>(input.size()));
  lseek(fd, 0, SEEK_SET);
  return fd;
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& arguments, const Options& options) {
  int output[2];
  int error[2];
  EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(error, O_CLOEXEC), 0);
  const int input = InputHolding(options.input);
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(input, STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(error[1], STDERR_FILENO);
    execvp(words[0], words.data());
    _exit(125);
  }
  close(input);
  close(output[1]);
  close(error[1]);
  output_fd_ = output[0];
  error_fd_ = error[0];
}

Subprocess::~Subprocess() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CloseOutput();
  if (error_fd_ >= 0) close(error_fd_);
}

void Subprocess::CloseOutput() {
  if (output_fd_ >= 0) close(output_fd_);
  output_fd_ = -1;
}

void Subprocess::Signal(int signal) const { EXPECT_EQ(kill(pid_, signal), 0); }

bool Subprocess::ReadOnce(int timeout_ms) {
  pollfd waited[] = {{output_fd_, POLLIN, 0}, {error_fd_, POLLIN, 0}};
  if (output_fd_ < 0 && error_fd_ < 0) return false;
  if (poll(waited, 2, timeout_ms) <= 0) return false;
  if (waited[0].revents != 0) Drain(&output_fd_, &output_);
  if (waited[1].revents != 0) Drain(&error_fd_, &error_);
  return true;
}

bool Subprocess::AwaitOutput(const std::function<bool()>& done) {
  const auto deadline = Soon();
  while (!done()) {
    if (ReadOnce(LeftMs(deadline))) continue;
    ADD_FAILURE() << "what was awaited didn't come; output so far:\n" << output_ << error_;
    return false;
  }
  return true;
}

bool Subprocess::AwaitText(const std::string& text, int times) {
  return AwaitOutput([&] { return Count(output_, text) >= times; });
}

int Subprocess::AwaitEnd() {
  const auto deadline = Soon();
  while (ReadOnce(LeftMs(deadline))) {
  }
  EXPECT_TRUE(output_fd_ < 0 && error_fd_ < 0) << "somebody still holds its output:\n"
                                               << output_ << error_;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  EXPECT_TRUE(AwaitReadable(process, LeftMs(deadline))) << "it doesn't end";
  close(process);
  int status = -1;
  if (waitpid(pid_, &status, WNOHANG) == pid_) reaped_ = true;
  return status;
}

int Subprocess::AwaitExitCode() {
  const int status = AwaitEnd();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::vector<pid_t> NumbersAfter(const std::string& text, const std::string& word) {
  std::vector<pid_t> numbers;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    numbers.push_back(static_cast<pid_t>(std::atol(text.c_str() + at + word.size())));
  }
  return numbers;
}

std::vector<pid_t> ChildrenOf(pid_t parent, const std::string& word) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
    const std::string stat = Contents(entry.path() / "stat");
    const size_t bracket = stat.rfind(')');
    if (pid <= 0 || bracket == std::string::npos) continue;
    if (std::atol(stat.c_str() + bracket + 4) != parent) continue;
    const std::string line = Contents(entry.path() / "cmdline");
    if (word.empty() || line.find('\0' + word + '\0') != std::string::npos) children.push_back(pid);
  }
  return children;
}

bool AwaitGone(pid_t pid) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;
  const bool gone = AwaitReadable(process, kTimeoutMs);
  close(process);
  return gone;
}

}  // namespace phalanx::testing_support
