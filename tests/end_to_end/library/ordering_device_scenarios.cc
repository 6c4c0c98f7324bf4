#include "ordering_device_scenarios.h"

namespace phalanx::testing_support {
namespace {

using std::chrono::milliseconds;

// One thread reduces, another exchanges messages, ungrouped, on a stream.
void TwoThreads(Rank& r) {
  r.On("b");
  r.OnAThread([](Rank& beside) {
    const int other = 1 - beside.rank();
    for (int i = 0; i < 10; ++i) {
      for (int message = 0; message < 16; ++message) {
        beside.Send("b", 0, other);
        beside.Receive("b", 0, other);
      }
    }
  });
  for (int i = 0; i < 50; ++i) r.AllReduce("a", 0);
}

// The parents are told apart, so which thread comes first doesn't matter.
void ThreadsMakeCommunicators(Rank& r) {
  r.On("a");
  r.On("b");
  r.OnAThread([](Rank& beside) {
    for (int i = 0; i < 10; ++i) beside.On("second" + std::to_string(i), "b");
  });
  for (int i = 0; i < 10; ++i) {
    const std::string name = "first" + std::to_string(i);
    r.On(name, "a");
    r.AllReduce(name, 0);
  }
}

// Each rank begins with another parent.
void MadeInOppositeOrders(Rank& r) {
  r.On("a");
  r.On("b");
  for (int i = 0; i < 5; ++i) {
    if (r.rank() == 0) {
      r.Make({{"one", "a"}, {"two", "b"}, {"three", "a"}});
    } else {
      r.Make({{"two", "b"}, {"one", "a"}, {"three", "a"}});
    }
    r.AllReduce(r.rank() == 0 ? "one" : "two", 0);
    r.AllReduce(r.rank() == 0 ? "two" : "one", 1);
    r.AllReduce("three", 2);
  }
}

void DeviceWaitBetween(Rank& r) {
  if (r.rank() == 0) {
    r.AllToAll("a", 0);
    r.SynchronizeDevice();
    r.AllReduce("b", 1);
  } else {
    r.AllReduce("b", 1);
    r.HostWaits();
    r.AllToAll("a", 0);
  }
}

// When rank 1 comes, rank 0 has been waiting for its device for long.
void DeviceWaitBeforeLaunch(Rank& r) {
  if (r.rank() == 1) r.Computes(milliseconds(300));
  r.AllReduce("a", 0);
  if (r.rank() == 0) r.SynchronizeDevice();
}

void LeavesOneOut(Rank& r) {
  for (int i = 0; i < 5; ++i) {
    r.AllReduce("a", 0);
    if (r.rank() == 0) r.AllReduce("b", 1);
  }
}

void OneLayerAhead(Rank& r) { r.AllReduce("a", -1, r.rank() == 3 ? 2048 : 1024); }

void StopsForAWhile(Rank& r) {
  for (int step = 0; step < 10; ++step) {
    if (step == 5 && r.rank() == 1) r.Computes(milliseconds(1000));
    r.AllReduce("a", 0);
    r.HostWaits();
  }
}

void Graphs(Rank& r) {
  r.Recorded("first", [&] { r.AllReduce("a", -1); });
  r.Recorded("second", [&] { r.AllReduce("b", -1); });
  for (int i = 0; i < 50; ++i) {
    if (r.rank() == 0) r.Replay("first", 0);
    r.Replay("second", 1);
    if (r.rank() != 0) r.Replay("first", 0);
  }
}

void FarAhead(Rank& r) {
  constexpr int kMany = 300;  // beyond the bound
  for (int i = 0; i < 2 * kMany; ++i) {
    const bool first = (i < kMany) == (r.rank() == 0);
    r.AllReduce(first ? "a" : "b", first ? 0 : 1);
  }
}

void DestroyedInOppositeOrders(Rank& r) {
  for (int i = 0; i < 10; ++i) {
    const std::string one = "one" + std::to_string(i);
    const std::string two = "two" + std::to_string(i);
    r.On(one);
    r.On(two);
    r.AllReduce(r.rank() == 0 ? one : two, 0);
    r.AllReduce(r.rank() == 0 ? two : one, 1);
    r.Destroy(r.rank() == 0 ? one : two);
    r.Destroy(r.rank() == 0 ? two : one);
  }
}

}  // namespace

Scenarios DeviceScenarios() {
  return {
      {"two_threads", TwoThreads},
      {"threads_make_communicators", ThreadsMakeCommunicators},
      {"made_in_opposite_orders", MadeInOppositeOrders},
      {"device_wait_between", DeviceWaitBetween},
      {"device_wait_before_launch", DeviceWaitBeforeLaunch},
      {"leaves_one_out", LeavesOneOut},
      {"one_layer_ahead", OneLayerAhead},
      {"stops_for_a_while", StopsForAWhile},
      {"graphs", Graphs},
      {"far_ahead", FarAhead},
      {"destroyed_in_opposite_orders", DestroyedInOppositeOrders},
  };
}

}  // namespace phalanx::testing_support
