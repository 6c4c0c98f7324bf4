// Questions about a job, over real sockets: through an agent, and with the job's key.
#include <future>

#include "control_client/ask_agent.h"
#include "control_status/ask_coordinator.h"
#include "control_status/find_jobs.h"
#include "job_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;

constexpr char kSecret[] = "a secret of at least sixteen bytes";

class StatusTest : public JobFixture {};

TEST_F(StatusTest, AgentAndCoordinatorAnswerAlike) {
  StartCoordinator(std::chrono::seconds(3));  // nobody joins, and then it ends
  StartAgent();
  const absl::StatusOr<std::string> one = AskAgent(agents_[0]->socket_name(), milliseconds(5000));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NE(one->find("\"job\":\"" + job_ + "\""), std::string::npos) << *one;
  EXPECT_NE(one->find("\"phase\":\"joining\""), std::string::npos) << *one;
  const absl::StatusOr<std::string> other =
      AskCoordinator(job_, kSecret, endpoint_, milliseconds(5000));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(*one, *other);
}

TEST_F(StatusTest, AnotherKeyIsRefused) {
  StartCoordinator(std::chrono::seconds(1));
  StartAgent();
  EXPECT_EQ(AskCoordinator(job_, "another secret of sixteen bytes", endpoint_, milliseconds(5000))
                .status()
                .code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(StatusTest, ASilentCoordinatorIsNoWaitForEver) {
  absl::StatusOr<Listener> nobody = Listen({"127.0.0.1", 0});
  ASSERT_TRUE(nobody.ok());
  EXPECT_EQ(AskCoordinator(job_, kSecret, nobody->endpoint, milliseconds(10)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(StatusTest, NobodyAnswersWhereNobodyListens) {
  EXPECT_EQ(AskAgent("phalanx/nobody/here", milliseconds(10)).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(StatusTest, AnAgentsJobIsFound) {
  StartCoordinator(std::chrono::seconds(1));
  StartAgent();
  const absl::StatusOr<std::vector<FoundJob>> jobs = FindJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  int found = 0;
  for (const FoundJob& job : *jobs) {
    if (job.job != job_) continue;
    ++found;
    EXPECT_EQ(job.agent, agents_[0]->socket_name());
  }
  EXPECT_EQ(found, 1);
}

TEST(FindJobsTest, ReadsTheKernelsList) {
  const std::vector<FoundJob> jobs = JobsIn(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 100 @phalanx/one/0a1b\n"
      // Connected, of another program, in a file, of no job's form, without a name.
      "0000000000000000: 00000003 00000000 00000000 0001 03 101 @phalanx/one/0a1b\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 102 @other/one/0a1b\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 103 /phalanx/one/0a1b\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 104 @phalanx/o,e/0a1b\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 105 @phalanx/one/two/three\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 106\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 107 @phalanx/1000/two/agent\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].job, "one");
  EXPECT_EQ(jobs[0].agent, "phalanx/one/0a1b");
  EXPECT_EQ(jobs[1].job, "two");
  EXPECT_EQ(jobs[1].agent, "phalanx/1000/two/agent");
}

}  // namespace
}  // namespace phalanx::control
