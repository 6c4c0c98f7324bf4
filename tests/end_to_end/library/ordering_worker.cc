// One rank of a scenario about order: `ordering_worker NAME`. Prints "rank R completed" when every
// operation has ended well, with right results; else "rank R failed: STATUS" for the first that
// didn't, or "rank R wrong".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "ordering_device_scenarios.h"
#include "ordering_keyed_scenarios.h"
#include "ordering_rank.h"
#include "phalanx/phalanx.h"

namespace {

using phalanx::DataType;
using phalanx::ReduceOp;
using phalanx::testing_support::Rank;

constexpr size_t kCount = Rank::kCount;

void OppositeOrders(Rank& r) {
  for (int i = 0; i < 50; ++i) {
    if (r.rank() == 0) {
      r.AllReduce("a", 0);
      r.AllReduce("b", 1);
    } else {
      r.AllReduce("b", 1);
      r.AllReduce("a", 0);
    }
  }
}

void GroupsThatDiffer(Rank& r) {
  r.Grouped([&] {
    r.Broadcast("a", 0, 0);
    r.AllReduce("a", 0, r.rank() == 0 ? 3 : 2);
    r.AllReduce("a", 0, r.rank() == 0 ? 2 : 3);
  });
}

void GroupsInOppositeOrder(Rank& r) {
  r.Grouped([&] {
    if (r.rank() == 0) r.AllReduce("b", 0);
    r.Broadcast("a", 0, 0);
    if (r.rank() != 0) r.AllReduce("b", 0);
  });
}

// Eight operations, each rank in another order.
void LatinSquare(Rank& r) {
  const char* const orders[] = {"05264173", "10325467", "21036745", "32107654",
                                "43570216", "56741032", "67413520", "74652301"};
  for (int i = 0; i < 25; ++i) {
    for (const char* op = orders[r.rank()]; *op != '\0'; ++op) {
      r.AllReduce(std::string(1, *op), *op - '0');
    }
  }
}

void SameOrderThreeStreams(Rank& r) {
  for (int i = 0; i < 50; ++i) {
    r.AllReduce("a", 0);
    r.AllReduce("b", 1);
    r.AllReduce("c", 2);
  }
}

void BesideMessages(Rank& r) {
  const int other = 1 - r.rank();
  const auto messages = [&] {
    if (r.rank() == 0) {
      r.Send("b", 1, other);
    } else {
      r.Receive("b", 1, other);
    }
  };
  for (int i = 0; i < 50; ++i) {
    if (r.rank() == 0) r.AllReduce("a", 0);
    messages();
    if (r.rank() != 0) r.AllReduce("a", 0);
  }
}

void DifferentKinds(Rank& r) {
  if (r.rank() == 0) r.AllToAll("a", -1);
  r.AllReduce("a", -1);
  if (r.rank() != 0) r.AllToAll("a", -1);
}

void OneMore(Rank& r) {
  for (int i = 0; i < (r.rank() == 0 ? 4 : 5); ++i) r.AllReduce("a", -1);
}

// One rank's only thread that has used the library ends before the last operation.
void ThreadEnds(Rank& r) {
  for (int i = 0; i < (r.rank() == 1 ? 4 : 5); ++i) {
    r.AllReduce("a", -1);
    r.HostWaits();
  }
}

// One order throughout; once it is learned, one rank comes late by 1 to 20 ms, irregularly.
void Pauses(Rank& r) {
  for (int i = 0; i < 100; ++i) {
    r.AllReduce("a", 0);
    r.HostWaits();
    r.AllReduce("b", 1);
    r.HostWaits();
    if (i >= 50 && r.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + i * 7 % 20));
    }
  }
}

void CountDiffers(Rank& r) { r.AllReduce("a", -1, r.rank() == 0 ? 409600 : 409598); }
void OpDiffers(Rank& r) {
  r.AllReduce("a", -1, kCount, r.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax);
}
void TypeDiffers(Rank& r) {
  r.AllReduce("a", -1, kCount, ReduceOp::kSum,
              r.rank() == 0 ? DataType::kFloat32 : DataType::kInt32);
}
void RootDiffers(Rank& r) { r.Broadcast("a", -1, r.rank()); }

// The communicator goes on where nobody had launched what the ranks disagreed about.
void AfterAMismatch(Rank& r) {
  CountDiffers(r);
  r.ExpectsRefusal();
  r.AllReduce("a", -1);
}

void ExchangeOn(Rank& r, int stream) {
  constexpr size_t kMany = size_t{32} << 20;  // 128 MiB
  const int other = 1 - r.rank();
  r.Send("a", stream, other, kMany);
  r.Receive("a", stream, other, kMany);
}
void Exchange(Rank& r) { ExchangeOn(r, -1); }
void ExchangeOnAStream(Rank& r) { ExchangeOn(r, 0); }

void ExchangeInAGroup(Rank& r) {
  constexpr size_t kMany = size_t{8} << 20;
  const int other = 1 - r.rank();
  r.Grouped([&] {
    r.Send("a", 0, other, kMany);
    r.Receive("a", 0, other, kMany);
  });
}

void HostWaitsBetween(Rank& r) {
  const char* const first = r.rank() == 0 ? "a" : "b";
  const char* const second = r.rank() == 0 ? "b" : "a";
  r.AllReduce(first, 0);
  r.HostWaits();
  r.AllReduce(second, 1);
}

// The same order long enough to be learned; then one rank turns it round.
void LearnedThenTurned(Rank& r) {
  for (int i = 0; i < 200; ++i) {
    r.AllReduce("a", 0);
    r.AllReduce("b", 1);
    if (i % 20 == 19) r.HostWaits();
  }
  if (r.rank() == 0) {
    r.AllReduce("a", 0);
    r.AllReduce("b", 1);
  } else {
    r.AllReduce("b", 1);
    r.HostWaits();
    r.AllReduce("a", 0);
  }
}

void Learn(Rank& r) {
  for (int i = 0; i < 200; ++i) {
    r.AllReduce("a", 0);
    r.AllReduce("b", 1);
    if (i % 20 == 19) r.HostWaits();
  }
}

// The same order long enough to be learned; then one rank's count is another, which the others may
// have launched by then.
void LearnedThenDiffers(Rank& r) {
  Learn(r);
  r.AllReduce("a", 0, r.rank() == 0 ? kCount : kCount / 2);
}

// The last, smaller batch of all ranks.
void LearnedThenSmaller(Rank& r) {
  Learn(r);
  r.AllReduce("a", 0, kCount / 2);
  r.AllReduce("b", 1, kCount / 2);
}

// Operations that one rank may complete before the other comes, beside some that none can.
void MessagesInALoop(Rank& r) {
  const int other = 1 - r.rank();
  for (int i = 0; i < 300; ++i) {
    r.AllReduce("a", 0);
    if (r.rank() == 0) {
      r.Send("b", 1, other);
    } else {
      r.Receive("b", 1, other);
    }
    r.Broadcast("c", 1, 0);
    r.HostWaitsForAll();
  }
}

// Then the receiver waits for a message before it issues what the order has before that; the sender
// is done with it.
void MessagesLearnedThenTurned(Rank& r) {
  MessagesInALoop(r);
  if (r.rank() == 0) {
    r.AllReduce("a", 0);
    r.Send("b", 1, 1);
  } else {
    r.Receive("b", 1, 0);
    r.HostWaits();
    r.AllReduce("a", 0);
  }
}

const phalanx::testing_support::Scenarios& OrderScenarios() {
  static const auto* const scenarios = new phalanx::testing_support::Scenarios{
      {"opposite_orders", OppositeOrders},
      {"groups_that_differ", GroupsThatDiffer},
      {"groups_in_opposite_order", GroupsInOppositeOrder},
      {"latin_square", LatinSquare},
      {"same_order_three_streams", SameOrderThreeStreams},
      {"beside_messages", BesideMessages},
      {"different_kinds", DifferentKinds},
      {"one_more", OneMore},
      {"thread_ends", ThreadEnds},
      {"pauses", Pauses},
      {"count_differs", CountDiffers},
      {"after_a_mismatch", AfterAMismatch},
      {"op_differs", OpDiffers},
      {"type_differs", TypeDiffers},
      {"root_differs", RootDiffers},
      {"exchange", Exchange},
      {"exchange_on_a_stream", ExchangeOnAStream},
      {"exchange_in_a_group", ExchangeInAGroup},
      {"host_waits_between", HostWaitsBetween},
      {"learned_then_turned", LearnedThenTurned},
      {"learned_then_differs", LearnedThenDiffers},
      {"learned_then_smaller", LearnedThenSmaller},
      {"messages_in_a_loop", MessagesInALoop},
      {"messages_learned_then_turned", MessagesLearnedThenTurned},
  };
  return *scenarios;
}

void Play(void (*scenario)(Rank&), const std::string& name, Rank& rank) {
  // Communicators first, in one order: making one is a collective too.
  for (const char* communicator : {"a", "b", "c", "0", "1", "2", "3", "4", "5", "6", "7"}) {
    const bool wanted = name == "latin_square" ? *communicator < 'a' : *communicator >= 'a';
    if (wanted) rank.On(communicator);
  }
  scenario(rank);
  rank.Finish();
}

int Run(const std::string& name) {
  phalanx::testing_support::Scenarios scenarios = OrderScenarios();
  scenarios.merge(phalanx::testing_support::DeviceScenarios());
  scenarios.merge(phalanx::testing_support::KeyedScenarios());
  const auto scenario = scenarios.find(name);
  if (scenario == scenarios.end()) {
    std::fprintf(stderr, "no scenario %s\n", name.c_str());
    return 2;
  }
  auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n", options.status().ToString().c_str());
    return 2;
  }
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", session.status().ToString().c_str());
    return 1;
  }
  if (std::getenv("ORDERING_WORKER_SAYS_AGENT") != nullptr) {
    std::printf("agent %s\n", options->agent.c_str());
    std::fflush(stdout);
  }
  Rank rank(session->get());
  if (name == "thread_ends") {
    std::thread([&] { Play(scenario->second, name, rank); }).join();
    // The session stays open until the others have given up.
    if (rank.rank() == 1) std::this_thread::sleep_for(options->operation_timeout * 2);
  } else {
    Play(scenario->second, name, rank);
  }
  return rank.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return Run(argc > 1 ? argv[1] : ""); }
