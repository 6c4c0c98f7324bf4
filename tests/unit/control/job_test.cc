// Agent, coordinator and clients together, in one process.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "job_fixture.h"

namespace phalanx::control {
namespace {

using ::testing::Test;

struct Joined {
  std::unique_ptr<Client> client;
  absl::StatusOr<ViewDescription> view = absl::UnknownError("not joined");
};

class JobTest : public JobFixture {
 protected:
  // Joins `world_size` clients, spread over the agents in turn.
  std::vector<Joined> JoinAll(int world_size, bool name_ranks = true) {
    std::vector<Joined> all(static_cast<size_t>(world_size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([this, &all, rank, world_size, name_ranks] {
        Joined& joined = all[static_cast<size_t>(rank)];
        joined.client = Connect(static_cast<size_t>(rank) % agents_.size());
        joined.view = joined.client->Join(Request(name_ranks ? rank : -1, world_size), {}, Soon());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return all;
  }

  static void LeaveAll(std::vector<Joined>& all) {
    std::vector<std::thread> threads;
    for (Joined& joined : all) {
      threads.emplace_back(
          [&joined] { EXPECT_EQ(joined.client->Leave(Soon()), absl::OkStatus()); });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(JobTest, JoinsSeeOneViewAndLeave) {
  StartCoordinator();
  StartAgent();
  std::vector<Joined> all = JoinAll(4);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i].view.ok()) << all[i].view.status();
    const ViewDescription& view = *all[i].view;
    EXPECT_EQ(view.epoch, Epoch{1});
    EXPECT_EQ(view.job_token, all[0].view->job_token);
    EXPECT_NE(view.job_token, 0U);
    EXPECT_EQ(view.node_cores, std::vector<int>{3});
    ASSERT_EQ(view.members.size(), 4U);
    for (int rank = 0; rank < 4; ++rank) {
      const Member& member = view.members[static_cast<size_t>(rank)];
      EXPECT_EQ(member.rank, rank);
      EXPECT_EQ(member.incarnation, all[0].view->members[static_cast<size_t>(rank)].incarnation);
      EXPECT_EQ(member.node, 0);
      EXPECT_EQ(member.pid, ::getpid());
      EXPECT_EQ(member.addresses.at("ucx"), std::string("\0\x01\xff", 3));
    }
    EXPECT_EQ(all[i].client->segment_fds(), std::vector<int>(4, -1));
  }
  std::vector<std::unique_ptr<ClientBox>> events;
  for (Joined& joined : all) {
    events.push_back(std::make_unique<ClientBox>());
    joined.client->Start(events.back().get());
  }
  LeaveAll(all);
  for (const auto& box : events) EXPECT_FALSE(box->revoked.has_value());
  EXPECT_EQ(agent_events_[0]->over.Wait(), absl::OkStatus());
  EXPECT_FALSE(agent_events_[0]->revoked.has_value());
  EXPECT_EQ(coordinator_result_.Wait(), 0);
}

TEST_F(JobTest, TwoAgentsMakeTwoNodes) {
  StartCoordinator();
  StartAgent();
  StartAgent();
  std::vector<Joined> all = JoinAll(5);
  for (const Joined& joined : all) {
    ASSERT_TRUE(joined.view.ok()) << joined.view.status();
    EXPECT_EQ(joined.view->node_cores, (std::vector<int>{3, 3}));
    EXPECT_EQ(joined.view->members[0].node, joined.view->members[2].node);
    EXPECT_NE(joined.view->members[0].node, joined.view->members[1].node);
  }
  LeaveAll(all);
}

TEST_F(JobTest, UnnamedRanksAreAssignedByNode) {
  StartCoordinator();
  StartAgent();
  StartAgent();
  std::vector<Joined> all = JoinAll(6, false);
  ASSERT_TRUE(all[0].view.ok()) << all[0].view.status();
  std::vector<int> nodes;
  for (const Member& member : all[0].view->members) nodes.push_back(member.node);
  EXPECT_EQ(nodes, (std::vector<int>{0, 0, 0, 1, 1, 1}));
  LeaveAll(all);
}

TEST_F(JobTest, SegmentsReachTheMembersOfTheNode) {
  StartCoordinator();
  StartAgent();
  StartAgent();
  constexpr int kWorld = 4;
  std::vector<ino_t> inodes(kWorld);
  std::vector<Joined> all(kWorld);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorld; ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<size_t>(rank);
      // Rank 3 brings none.
      const Fd segment(rank == 3 ? -1 : ::memfd_create("segment", MFD_CLOEXEC));
      struct stat facts {};
      if (segment.valid()) {
        ASSERT_EQ(::fstat(segment.get(), &facts), 0);
      }
      inodes[index] = facts.st_ino;
      all[index].client = Connect(index % 2);
      all[index].view = all[index].client->Join(Request(rank, kWorld, segment.get()), {}, Soon());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < kWorld; ++rank) {
    const std::vector<int>& fds = all[static_cast<size_t>(rank)].client->segment_fds();
    ASSERT_EQ(fds.size(), 4U);
    for (int peer = 0; peer < kWorld; ++peer) {
      const int fd = fds[static_cast<size_t>(peer)];
      if (peer % 2 != rank % 2 || peer == 3) {
        EXPECT_EQ(fd, -1) << rank << " of " << peer;
        continue;
      }
      struct stat facts {};
      ASSERT_EQ(::fstat(fd, &facts), 0) << rank << " of " << peer;
      EXPECT_EQ(facts.st_ino, inodes[static_cast<size_t>(peer)]);
    }
  }
  LeaveAll(all);
}

TEST_F(JobTest, ProgressNamesTheMissing) {
  StartCoordinator();
  StartAgent();
  Box<std::string> line;
  Joined first;
  std::thread thread([&] {
    first.client = Connect();
    first.view = first.client->Join(
        Request(0, 2), [&](const std::string& text) { line.Set(text); }, Soon());
  });
  EXPECT_EQ(line.Wait(), "1 of 2 ranks joined, waiting for rank 1");
  Joined second;
  second.client = Connect();
  second.view = second.client->Join(Request(1, 2), {}, Soon());
  thread.join();
  EXPECT_TRUE(first.view.ok()) << first.view.status();
  std::vector<Joined> all;
  all.push_back(std::move(first));
  all.push_back(std::move(second));
  LeaveAll(all);
}

TEST_F(JobTest, ARankIsTakenOnlyOnce) {
  StartCoordinator();
  StartAgent();
  Box<std::string> joined;
  std::unique_ptr<Client> first = Connect();
  absl::Status ended;
  std::thread thread([&] {
    ended = first
                ->Join(
                    Request(1, 2), [&](const std::string& text) { joined.Set(text); }, Soon())
                .status();
  });
  ASSERT_TRUE(joined.Wait().has_value());
  std::unique_ptr<Client> second = Connect();
  const absl::Status refused = second->Join(Request(1, 2), {}, Soon()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "rank 1 is already taken by pid " + std::to_string(::getpid()) +
                                   " on node 0 'host0'; give every process a rank of its own");
  std::unique_ptr<Client> third = Connect();
  EXPECT_EQ(third->Join(Request(0, 3), {}, Soon()).status().code(),
            absl::StatusCode::kInvalidArgument);
  // The refused ones go without harm to the job.
  second.reset();
  third.reset();
  std::unique_ptr<Client> fourth = Connect();
  EXPECT_TRUE(fourth->Join(Request(0, 2), {}, Soon()).ok());
  thread.join();
  EXPECT_EQ(ended, absl::OkStatus());
  std::thread leave([&] { EXPECT_EQ(first->Leave(Soon()), absl::OkStatus()); });
  EXPECT_EQ(fourth->Leave(Soon()), absl::OkStatus());
  leave.join();
}

TEST_F(JobTest, AMissingRankIsNamedAtTheDeadline) {
  StartCoordinator(std::chrono::seconds(3));
  StartAgent();
  std::unique_ptr<Client> client = Connect();
  const absl::Status status = client->Join(Request(0, 3), {}, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(),
            "not all ranks joined within 3 s: 1 of 3 ranks joined, waiting for ranks 1, 2; see "
            "whether the missing processes were started");
  EXPECT_EQ(agent_events_[0]->over.Wait()->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(coordinator_result_.Wait(), 1);
}

TEST_F(JobTest, TheClientsOwnDeadlineHolds) {
  StartCoordinator();
  StartAgent();
  std::unique_ptr<Client> client = Connect();
  const absl::Status status =
      client->Join(Request(0, 3), {}, Deadline::After(std::chrono::seconds(3))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(),
            "joining the job took too long: 1 of 3 ranks joined, waiting for ranks 1, 2");
}

TEST_F(JobTest, AMemberThatGoesRevokesTheView) {
  StartCoordinator();
  StartAgent();
  StartAgent();
  std::vector<Joined> all = JoinAll(4);
  std::vector<std::unique_ptr<ClientBox>> events;
  for (Joined& joined : all) {
    ASSERT_TRUE(joined.view.ok()) << joined.view.status();
    events.push_back(std::make_unique<ClientBox>());
    joined.client->Start(events.back().get());
  }
  const int node = all[0].view->members[2].node;
  all[2].client.reset();
  const std::string expected = "rank 2 (pid " + std::to_string(::getpid()) + " on node " +
                               std::to_string(node) + " 'host0') ended without leaving the job";
  for (const size_t rank : {0U, 1U, 3U}) {
    EXPECT_EQ(events[rank]->revoked.Wait(), absl::UnavailableError(expected)) << rank;
    EXPECT_EQ(events[rank]->goes_on.Wait(), false) << rank;  // no spare is there
    EXPECT_EQ(all[rank].client->Leave(Soon()), absl::UnavailableError(expected)) << rank;
  }
  for (const auto& agent : agent_events_) {
    EXPECT_EQ(agent->revoked.Wait(), absl::UnavailableError(expected));
    EXPECT_EQ(agent->over.Wait(), absl::UnavailableError(expected));
  }
  EXPECT_EQ(coordinator_result_.Wait(), 1);
}

TEST_F(JobTest, AMemberLostWhileJoiningFailsTheOthers) {
  StartCoordinator();
  StartAgent();
  Box<std::string> joined;
  std::unique_ptr<Client> first = Connect();
  absl::Status ended;
  std::thread thread([&] {
    ended = first
                ->Join(
                    Request(0, 3), [&](const std::string& text) { joined.Set(text); }, Soon())
                .status();
  });
  ASSERT_TRUE(joined.Wait().has_value());
  {
    std::unique_ptr<Client> second = Connect();
    const Deadline short_deadline = Deadline::After(std::chrono::milliseconds(200));
    EXPECT_FALSE(second->Join(Request(1, 3), {}, short_deadline).ok());
  }
  thread.join();
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(ended.message().find("rank 1"), absl::string_view::npos) << ended;
}

TEST_F(JobTest, LosingAnAgentRevokesItsMembers) {
  StartCoordinator();
  StartAgent();
  StartAgent();
  std::vector<Joined> all = JoinAll(2);
  ClientBox first;
  ClientBox second;
  all[0].client->Start(&first);
  all[1].client->Start(&second);
  agents_[1]->Stop(Deadline::After(std::chrono::seconds(0)));
  ASSERT_TRUE(first.revoked.Wait().has_value());
  const absl::Status reason = *first.revoked.Wait();
  EXPECT_EQ(reason.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(reason.message().find("rank 1 (pid "), absl::string_view::npos) << reason;
  EXPECT_NE(reason.message().find("was lost with its agent"), absl::string_view::npos) << reason;
  EXPECT_EQ(second.revoked.Wait()->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.agent_lost.Wait(), true);
  EXPECT_FALSE(first.agent_lost.has_value());
  all.clear();
}

TEST_F(JobTest, AWrongKeyIsRefusedAndTheJobGoesOn) {
  StartCoordinator();
  AgentOptions options = MakeAgentOptions(false);
  options.key = Key("quite another secret of enough bytes");
  StartAgent(options);
  std::unique_ptr<Client> client = Connect(0);
  const absl::Status status = client->Join(Request(0, 1), {}, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_EQ(agent_events_[0]->over.Wait()->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(coordinator_log_.Has("the handshake failed: wrong key"));
  StartAgent();
  std::unique_ptr<Client> right = Connect(1);
  EXPECT_TRUE(right->Join(Request(0, 1), {}, Soon()).ok());
  EXPECT_EQ(right->Leave(Soon()), absl::OkStatus());
}

TEST_F(JobTest, NobodyAtTheAgentsName) {
  const absl::Status status =
      Client::Connect("phalanx/" + job_ + "/nobody", Logger(), Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(JobTest, NoCoordinator) {
  absl::StatusOr<Listener> listener = Listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok());
  endpoint_ = listener->endpoint;
  listener->fd.Reset(-1);
  AgentOptions options = MakeAgentOptions(false);
  options.connect_timeout = std::chrono::milliseconds(200);
  StartAgent(options);
  std::unique_ptr<Client> client = Connect();
  const absl::Status status = client->Join(Request(0, 1), {}, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.message().find("cannot reach the coordinator at 127.0.0.1:"),
            absl::string_view::npos)
      << status;
}

TEST_F(JobTest, OneAgentPerName) {
  AgentOptions options = MakeAgentOptions(true);
  options.coordinator = {"127.0.0.1", 1};
  options.socket_name = "phalanx/" + job_ + "/agent";
  StartAgent(options);
  AgentBox events;
  EXPECT_EQ(Agent::Start(options, &events).status().code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace phalanx::control
