#include "ordering_keyed_scenarios.h"

#include <string>

namespace phalanx::testing_support {
namespace {

// One order of kinds on rank 0, the other on rank 1, of operations with keys.
void KeyedKinds(Rank& r) {
  for (int i = 0; i < 50; ++i) {
    for (const bool reduces : {r.rank() != 0, r.rank() == 0}) {
      r.Key(reduces ? "y" : "x");
      if (reduces) r.AllReduce("a", -1);
      if (!reduces) r.AllToAll("a", -1);
    }
  }
}

// Rank 0 waits for its operation at the end, where it would otherwise have to wait for the device.
void KeyedHostWaits(Rank& r) {
  for (int i = 0; i < 50; ++i) {
    if (r.rank() == 0) {
      r.Key("x");
      r.AllToAll("a", -1);
    }
    r.Key("y");
    r.AllReduce("b", -1);
    if (r.rank() != 0) {
      r.HostWaits();
      r.Key("x");
      r.AllToAll("a", -1);
    }
  }
}

// Many keys on one communicator, from first to last on rank 0, from last to first on rank 1, and
// operations without a key between them.
void KeyedOppositeOrders(Rank& r) {
  constexpr int kKeys = 8;
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < kKeys; ++k) {
      r.Key("layer" + std::to_string(r.rank() == 0 ? k : kKeys - 1 - k));
      r.AllReduce("a", -1);
      r.Key("");
      if (k % 3 == 0) r.AllReduce("a", -1);
    }
  }
}

void KeyedGroup(Rank& r) {
  for (int i = 0; i < 20; ++i) {
    r.Grouped([&] {
      for (int k = 0; k < 3; ++k) {
        r.Key("layer" + std::to_string(r.rank() == 0 ? k : 2 - k));
        r.AllReduce("a", 0);
      }
    });
  }
}

void KeyedCountDiffers(Rank& r) {
  r.Key("layer3.weight");
  r.AllReduce("a", -1, r.rank() == 0 ? 409600 : 409598);
}

// Rank 0 never issues the second.
void KeyedOneMore(Rank& r) {
  r.Key("layer3.weight");
  for (int i = 0; i < 1 + r.rank(); ++i) r.AllReduce("a", -1);
}

// Many small operations, forwards on rank 0 and backwards on the others, waited for in the end.
void KeyedGradients(Rank& r) {
  constexpr int kTensors = 40;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < kTensors; ++i) {
      r.Key("layer" + std::to_string(r.rank() == 0 ? i : kTensors - 1 - i));
      r.AllReduce("a", -1);
    }
  }
  r.Key("");
}

}  // namespace

Scenarios KeyedScenarios() {
  return {
      {"keyed_gradients", KeyedGradients},  {"keyed_kinds", KeyedKinds},
      {"keyed_host_waits", KeyedHostWaits}, {"keyed_opposite_orders", KeyedOppositeOrders},
      {"keyed_group", KeyedGroup},          {"keyed_count_differs", KeyedCountDiffers},
      {"keyed_one_more", KeyedOneMore},
  };
}

}  // namespace phalanx::testing_support
