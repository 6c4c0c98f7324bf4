#include "leftovers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace phalanx::stress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Name() { return "phalanx-leftovers-" + std::to_string(getpid()); }

Deadline Soon() { return Deadline::After(std::chrono::milliseconds(200)); }

pid_t StartSleeper(const std::string& mark) {
  const pid_t pid = fork();
  if (pid == 0) {
    execle("/bin/sleep", "sleep", "1000", nullptr,
           std::vector<const char*>{mark.c_str(), nullptr}.data());
    _exit(127);
  }
  return pid;
}

// Its environment is there once it runs.
void AwaitSleeper(const Leftovers& leftovers, std::vector<std::string>* found) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (found->empty() && !deadline.Passed(Clock::now())) *found = leftovers.Find(Soon());
}

TEST(LeftoversTest, FindsAndKillsProcessesWithTheMark) {
  const std::string mark = "LEFTOVERS_TEST=" + Name();
  const Leftovers leftovers(mark);
  EXPECT_THAT(leftovers.Find(Soon()), IsEmpty());
  const pid_t other = StartSleeper(mark + "0");
  const pid_t pid = StartSleeper(mark);
  std::vector<std::string> found;
  AwaitSleeper(leftovers, &found);
  EXPECT_THAT(found, ElementsAre("process " + std::to_string(pid) + " (sleep)"));
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(waitpid(other, &status, WNOHANG), 0) << "it has another mark";
  kill(other, SIGKILL);
  waitpid(other, &status, 0);
}

TEST(LeftoversTest, FindsNamesOfSharedMemoryThatNobodyUses) {
  const std::string name = "/" + Name();
  const Leftovers leftovers("LEFTOVERS_TEST=none");
  const int fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  void* const memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  close(fd);
  EXPECT_THAT(leftovers.Find(Soon()), testing::Not(testing::Contains(HasSubstr(name))))
      << "somebody uses it";
  munmap(memory, 4096);
  EXPECT_THAT(leftovers.Find(Soon()), testing::Contains("/dev/shm" + name));
  EXPECT_THAT(Leftovers("LEFTOVERS_TEST=none").Find(Soon()),
              testing::Not(testing::Contains(HasSubstr(name))))
      << "it was there before";
  shm_unlink(name.c_str());
}

}  // namespace
}  // namespace phalanx::stress
