// Ranks on two nodes agree on one order, over real sockets. They speak by hand, as a launch queue
// would.
#include <algorithm>
#include <atomic>
#include <deque>
#include <random>

#include "job_fixture.h"
#include "ordering/explanation.h"
#include "ordering_wire/codec.h"

namespace phalanx::control {
namespace {

using ordering::Lane;
using ordering::OpName;
using ordering::Order;
using ordering::Ticket;
using ordering::TicketNumber;

constexpr CommunicatorId kLocal{1};  // ranks 0 and 1, both on node 0

ordering::Signature AllReduceOf(uint64_t count) {
  return {ordering::OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, count, 0};
}

// One rank of the job, and what it was ordered to.
class Rank : public ClientBox {
 public:
  ~Rank() override { client.reset(); }  // its thread tells us what comes

  void OnOrdering(absl::string_view payload) override {
    absl::StatusOr<Order> order = ordering::DecodeDownlink(payload);
    ASSERT_TRUE(order.ok()) << order.status();
    const std::lock_guard lock(mutex_);
    orders_.push_back(*std::move(order));
    came_.notify_all();
  }

  Order Next() {
    std::unique_lock lock(mutex_);
    const bool came = came_.wait_for(lock, kPatience, [this] { return !orders_.empty(); });
    EXPECT_TRUE(came) << "no order came to rank " << rank;
    if (!came) return Order{{}, ordering::Fence{}};
    Order order = std::move(orders_.front());
    orders_.pop_front();
    return order;
  }
  // The next order of this kind; others on the way are left out.
  template <typename Body>
  Body NextOf() {
    while (true) {
      const Order order = Next();
      if (const auto* body = std::get_if<Body>(&order.body)) {
        term_ = order.term;
        return *body;
      }
      if (HasFailure()) return Body{};
    }
  }

  void Say(ordering::ReportBody body) const {
    client->SendOrdering(ordering::Encode(ordering::Report{term_, std::move(body)}));
  }
  void IsPresent(const OpName& op, uint64_t count = 8) const {
    Say(ordering::Present{op, AllReduceOf(count), false, rank});
  }
  void Announce(CommunicatorId id, std::vector<int> members) const {
    client->SendOrdering(ordering::Encode(ordering::NewCommunicator{id, std::move(members)}));
  }

  int rank = 0;
  std::unique_ptr<Client> client;

 private:
  static bool HasFailure() { return ::testing::Test::HasFailure(); }

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Order> orders_;
  ordering::Term term_;
};

class OrderingTest : public JobFixture {
 protected:
  // Ranks 0 and 1 on node 0, rank 2 on node 2; nodes 1 and 3 have none, node 1 not even an agent.
  void Begin(OrderingMode mode) {
    StartCoordinator();
    for (const int node : {0, 2, 3}) {
      AgentOptions options = MakeAgentOptions(false);
      options.node = node;
      StartAgent(std::move(options));
    }
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([this, rank, mode] {
        Rank& it = ranks_[static_cast<size_t>(rank)];
        it.rank = rank;
        it.client = Connect(rank < 2 ? 0 : 1);
        JoinRequest request = Request(rank, 3);
        request.settings.ordering = mode;
        const absl::StatusOr<ViewDescription> view = it.client->Join(request, {}, Soon());
        ASSERT_TRUE(view.ok()) << view.status();
        EXPECT_EQ(view->settings.ordering, mode);
        it.client->Start(&it);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void AnnounceLocal() {
    for (const size_t rank : {0U, 1U}) ranks_[rank].Announce(kLocal, {0, 1});
  }

  void Leave() {
    std::vector<std::thread> threads;
    for (Rank& rank : ranks_) {
      threads.emplace_back([&] { EXPECT_EQ(rank.client->Leave(Soon()), absl::OkStatus()); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void ExpectRevoked(size_t rank, const std::string& why) {
    const std::optional<absl::Status> reason = ranks_[rank].revoked.Wait();
    ASSERT_TRUE(reason.has_value());
    EXPECT_NE(reason->message().find("was dropped by its agent: " + why), absl::string_view::npos)
        << *reason;
  }

  std::array<Rank, 3> ranks_;
};

const Lane kWorld = Lane::Of(kWorldCommunicator);

TEST_F(OrderingTest, TicketsReachAllMembersInOneOrder) {
  Begin(OrderingMode::kStrict);
  constexpr int kOps = 20;
  for (Rank& rank : ranks_) {
    std::vector<OpName> ops;
    for (int i = 0; i < kOps; ++i) {
      ops.push_back({Lane::OfKey(kWorldCommunicator, std::to_string(i)), 0});
    }
    std::shuffle(ops.begin(), ops.end(), std::mt19937(static_cast<unsigned>(rank.rank)));
    for (const OpName& op : ops) rank.IsPresent(op);
  }
  std::vector<std::vector<OpName>> orders;
  for (Rank& rank : ranks_) {
    std::vector<OpName>& order = orders.emplace_back();
    TicketNumber previous;
    for (int i = 0; i < kOps; ++i) {
      const auto ticket = rank.NextOf<Ticket>();
      EXPECT_EQ(ticket.number, (TicketNumber{0, static_cast<uint64_t>(i) + 1, 0}));
      EXPECT_EQ(ticket.previous, previous);
      previous = ticket.number;
      order.push_back(ticket.op);
    }
  }
  EXPECT_EQ(orders[1], orders[0]);
  EXPECT_EQ(orders[2], orders[0]);
  Leave();
}

TEST_F(OrderingTest, ALocalOperationIsTicketedByItsNode) {
  Begin(OrderingMode::kStrict);
  AnnounceLocal();
  for (const size_t rank : {0U, 1U}) ranks_[rank].IsPresent({Lane::Of(kLocal), 0});
  for (const size_t rank : {0U, 1U}) {
    const auto ticket = ranks_[rank].NextOf<Ticket>();
    EXPECT_EQ(ticket.op, (OpName{Lane::Of(kLocal), 0}));
    EXPECT_EQ(ticket.number, (TicketNumber{0, 0, 1}));
  }
  // The coordinator has counted nothing before this one.
  for (Rank& rank : ranks_) rank.IsPresent({kWorld, 0});
  for (Rank& rank : ranks_) {
    EXPECT_EQ(rank.NextOf<Ticket>().number, (TicketNumber{0, 1, 0})) << rank.rank;
  }
  Leave();
}

TEST_F(OrderingTest, AMismatchAcrossNodesReachesAllMembers) {
  Begin(OrderingMode::kStrict);
  for (Rank& rank : ranks_) rank.IsPresent({kWorld, 0}, rank.rank == 2 ? 1000 : 1024);
  for (Rank& rank : ranks_) {
    const auto verdict = rank.NextOf<ordering::Verdict>();
    ASSERT_NE(verdict.explanation, nullptr);
    EXPECT_EQ(verdict.explanation->kind, ordering::Explanation::Kind::kMismatch);
    ASSERT_TRUE(verdict.explanation->difference.has_value());
    EXPECT_EQ(verdict.explanation->difference->field, "count");
    EXPECT_EQ(verdict.explanation->aborted, (std::vector<OpName>{{kWorld, 0}}));
  }
  EXPECT_TRUE(coordinator_log_.Has("1000"));
  EXPECT_TRUE(coordinator_log_.Has("1024"));
  Leave();
}

TEST_F(OrderingTest, AMismatchInsideANodeReachesAllRanks) {
  Begin(OrderingMode::kStrict);
  AnnounceLocal();
  for (const size_t rank : {0U, 1U}) ranks_[rank].IsPresent({Lane::Of(kLocal), 0}, rank + 8);
  for (Rank& rank : ranks_) {
    const auto verdict = rank.NextOf<ordering::Verdict>();
    ASSERT_NE(verdict.explanation, nullptr);
    EXPECT_EQ(verdict.explanation->aborted, (std::vector<OpName>{{Lane::Of(kLocal), 0}}));
  }
  Leave();
}

TEST_F(OrderingTest, AnOrderThatRepeatsItselfBecomesASchedule) {
  Begin(OrderingMode::kAdaptive);
  AnnounceLocal();
  for (uint64_t iteration = 0; iteration < 3; ++iteration) {
    for (const size_t rank : {0U, 1U}) ranks_[rank].IsPresent({Lane::Of(kLocal), iteration});
    for (const size_t rank : {0U, 1U}) ranks_[rank].NextOf<Ticket>();
    for (Rank& rank : ranks_) rank.IsPresent({kWorld, iteration});
    for (Rank& rank : ranks_) rank.NextOf<Ticket>();
  }
  // Each hears of what concerns it; node 2 doesn't even know the local communicator.
  for (Rank& rank : ranks_) {
    const auto certify = rank.NextOf<ordering::Certify>();
    ASSERT_NE(certify.schedule, nullptr);
    const size_t lanes = rank.rank == 2 ? 1 : 2;
    EXPECT_EQ(certify.schedule->entries.size(), lanes) << rank.rank;
    EXPECT_EQ(certify.schedule->bases.size(), lanes) << rank.rank;
  }
  ranks_[2].Say(ordering::Diverged{{Lane::OfPair(kWorldCommunicator, 2, 0), 0}});
  for (Rank& rank : ranks_) rank.NextOf<ordering::Fence>();
  EXPECT_FALSE(HasFailure());
  Leave();
}

// A node's own tickets are told within a moment even when it has nothing else to say.
TEST_F(OrderingTest, LocalOperationsAloneBecomeASchedule) {
  Begin(OrderingMode::kAdaptive);
  AnnounceLocal();
  for (uint64_t iteration = 0; iteration < 3; ++iteration) {
    for (const size_t rank : {0U, 1U}) ranks_[rank].IsPresent({Lane::Of(kLocal), iteration});
    for (const size_t rank : {0U, 1U}) ranks_[rank].NextOf<Ticket>();
  }
  EXPECT_EQ(ranks_[0].NextOf<ordering::Certify>().schedule->entries.size(), 1U);
  EXPECT_EQ(ranks_[2].NextOf<ordering::Certify>().schedule->entries.size(), 0U);
  Leave();
}

TEST_F(OrderingTest, ABurstArrivesInOrder) {
  Begin(OrderingMode::kStrict);
  AnnounceLocal();
  constexpr uint64_t kOps = 5000;
  for (uint64_t i = 0; i < kOps; ++i) ranks_[0].IsPresent({Lane::Of(kLocal), i});
  for (uint64_t i = 0; i < kOps; ++i) ranks_[1].IsPresent({Lane::Of(kLocal), i});
  for (const size_t rank : {0U, 1U}) {
    for (uint64_t i = 0; i < kOps; ++i) {
      const auto ticket = ranks_[rank].NextOf<Ticket>();
      ASSERT_EQ(ticket.op.sequence, i);
      ASSERT_EQ(ticket.number, (TicketNumber{0, 0, i + 1}));
    }
  }
  Leave();
}

TEST_F(OrderingTest, AStrangersGarbageHarmsNobody) {
  Begin(OrderingMode::kStrict);
  const std::unique_ptr<Client> stranger = Connect();
  ClientBox events;
  stranger->Start(&events);
  stranger->SendOrdering("garbage");
  EXPECT_TRUE(events.agent_lost.Wait().has_value());
  EXPECT_TRUE(agent_log_.Has("it sent Ordering where nothing is ordered"));
  for (Rank& rank : ranks_) rank.IsPresent({kWorld, 0});
  for (Rank& rank : ranks_) EXPECT_EQ(rank.NextOf<Ticket>().op, (OpName{kWorld, 0}));
  Leave();
}

TEST_F(OrderingTest, AMemberThatTurnsToGarbageIsDropped) {
  Begin(OrderingMode::kStrict);
  ranks_[2].client->SendOrdering("garbage");
  EXPECT_TRUE(ranks_[2].agent_lost.Wait().has_value());
  for (const size_t rank : {0U, 1U}) {
    ExpectRevoked(rank, "malformed ordering message");
    EXPECT_FALSE(ranks_[rank].agent_lost.has_value());
  }
}

TEST_F(OrderingTest, WhatWasNeverAnnouncedIsRefused) {
  Begin(OrderingMode::kStrict);
  ranks_[1].IsPresent({Lane::Of(CommunicatorId{9}), 0});
  EXPECT_TRUE(ranks_[1].agent_lost.Wait().has_value());
  ExpectRevoked(0, "communicator 9 was never announced");
  ExpectRevoked(2, "communicator 9 was never announced");
}

TEST_F(OrderingTest, MembersThatDisagreeOnACommunicatorAreRefused) {
  Begin(OrderingMode::kStrict);
  ranks_[0].Announce(kLocal, {0, 1});
  ranks_[0].IsPresent({Lane::OfPair(kLocal, 0, 1), 0});
  ranks_[0].IsPresent({Lane::OfPair(kWorldCommunicator, 0, 2), 0});
  ranks_[2].IsPresent({Lane::OfPair(kWorldCommunicator, 0, 2), 0});
  ranks_[0].NextOf<Ticket>();  // so that the announcement is in
  ranks_[1].Announce(kLocal, {1, 0});
  ExpectRevoked(0, "communicator 1 is known with other members");
}

// Each order is told once and in its place, whoever reads it.
TEST_F(OrderingTest, ThreadsThatWaitMayRead) {
  Begin(OrderingMode::kStrict);
  std::atomic<bool> reading = true;
  std::vector<std::thread> readers;
  for (Rank& rank : ranks_) {
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        while (reading) rank.client->Receive(std::chrono::microseconds(100));
      });
    }
  }
  constexpr uint64_t kOps = 200;
  for (uint64_t i = 0; i < kOps; ++i) {
    for (const Rank& rank : ranks_) rank.IsPresent({kWorld, i});
    for (Rank& rank : ranks_) EXPECT_EQ(rank.NextOf<Ticket>().op, (OpName{kWorld, i}));
  }
  reading = false;
  for (std::thread& reader : readers) reader.join();
  Leave();
}

TEST_F(OrderingTest, AnUnorderedJobTakesNoOrdering) {
  Begin(OrderingMode::kOff);
  ranks_[1].IsPresent({kWorld, 0});
  ExpectRevoked(0, "it sent Ordering where nothing is ordered");
}

TEST_F(OrderingTest, AnotherModeIsRefused) {
  StartCoordinator();
  StartAgent();
  Box<std::string> joined;
  std::unique_ptr<Client> first = Connect();
  absl::Status ended;
  JoinRequest request = Request(0, 2);
  request.settings.ordering = OrderingMode::kAdaptive;
  std::thread thread([&] {
    ended = first
                ->Join(
                    request, [&](const std::string& text) { joined.Set(text); }, Soon())
                .status();
  });
  ASSERT_TRUE(joined.Wait().has_value());
  JoinRequest other = Request(1, 2);
  other.settings.ordering = OrderingMode::kStrict;
  const absl::Status refused = Connect()->Join(other, {}, Soon()).status();
  EXPECT_EQ(refused,
            absl::InvalidArgumentError("rank 1 has PHALANX_ORDERING=strict, but rank 0 (pid " +
                                       std::to_string(::getpid()) +
                                       " on node 0 'host0') has PHALANX_ORDERING=adaptive; set "
                                       "PHALANX_ORDERING to the same value on all ranks"));
  other = Request(1, 2);
  other.settings.ordering = OrderingMode::kAdaptive;
  const std::unique_ptr<Client> second = Connect();
  EXPECT_TRUE(second->Join(other, {}, Soon()).ok());
  thread.join();
  EXPECT_EQ(ended, absl::OkStatus());
  std::thread leave([&] { EXPECT_EQ(first->Leave(Soon()), absl::OkStatus()); });
  EXPECT_EQ(second->Leave(Soon()), absl::OkStatus());
  leave.join();
}

}  // namespace
}  // namespace phalanx::control
