// One rank of a scenario about order: `ordering_worker NAME`. Prints "rank R completed" when every
// operation has ended well, with right results; else "rank R failed: STATUS" for the first that
// didn't, or "rank R wrong".
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

using phalanx::Communicator;
using phalanx::DataType;
using phalanx::ReduceOp;

constexpr size_t kCount = 1024;

// What a rank of a scenario can do. Communicators a, b, c hold all ranks; streams count from 0.
class Rank {
 public:
  explicit Rank(phalanx::Session* session) : session_(session) {}

  int rank() { return session_->view().rank(); }
  int size() { return session_->view().size(); }

  Communicator& On(const std::string& name) {
    auto& communicator = communicators_[name];
    if (communicator == nullptr) communicator = *session_->view().world().Split(0, rank());
    return *communicator;
  }

  // Starts an all-reduce whose result is checked at the end.
  void AllReduce(const std::string& name, int stream, size_t count = kCount,
                 ReduceOp op = ReduceOp::kSum, DataType type = DataType::kFloat32) {
    Issued& issued = NewIssued(count);
    issued.sums = op == ReduceOp::kSum && type == DataType::kFloat32;
    phalanx::OpOptions options;
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work =
        On(name).AllReduce(issued.data.data(), issued.data.data(), count, type, op, options);
  }
  void Broadcast(const std::string& name, int stream, int root) {
    Issued& issued = NewIssued(kCount);
    phalanx::OpOptions options;
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Broadcast(issued.data.data(), issued.data.data(), kCount,
                                     DataType::kFloat32, root, options);
  }
  void AllToAll(const std::string& name, int stream) {
    Issued& issued = NewIssued(kCount);
    issued.other.resize(kCount);
    phalanx::OpOptions options;
    options.stream = StreamOf(stream);
    issued.work =
        On(name).AllToAll(issued.data.data(), issued.other.data(),
                          kCount / static_cast<size_t>(size()), DataType::kFloat32, options);
  }
  void Send(const std::string& name, int stream, int peer, size_t count = kCount) {
    Issued& issued = NewIssued(count);
    phalanx::OpOptions options;
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Send(issued.data.data(), count, DataType::kFloat32, peer, options);
  }
  void Receive(const std::string& name, int stream, int peer, size_t count = kCount) {
    Issued& issued = NewIssued(count);
    issued.expected = static_cast<float>(peer + 1);
    phalanx::OpOptions options;
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Receive(issued.data.data(), count, DataType::kFloat32, peer, options);
  }
  void Grouped(const std::function<void()>& calls) {
    phalanx::Group group;
    group_ = &group;
    calls();
    group_ = nullptr;
    groups_.push_back(group.Launch());
  }
  // The host waits for what was issued last.
  void HostWaits() { Settle(issued_.back().get()); }

  // What was issued last is refused, since the ranks disagree about it.
  void ExpectsRefusal() {
    Issued& last = *issued_.back();
    last.settled = true;
    const absl::Status status = last.work.Wait();
    if (status.code() != absl::StatusCode::kInvalidArgument) {
      Note(absl::InternalError("not refused: " + status.ToString()));
    }
  }

  // Waits for everything, up to the first that fails.
  void Finish() {
    for (size_t i = 0; i < groups_.size() && status_.ok(); ++i) Note(groups_[i].Wait());
    for (size_t i = 0; i < issued_.size() && status_.ok(); ++i) Settle(issued_[i].get());
    if (!status_.ok()) {
      std::printf("rank %d failed: %s\n", rank(), status_.ToString().c_str());
    } else {
      std::printf("rank %d %s\n", rank(), wrong_ ? "wrong" : "completed");
    }
    std::fflush(stdout);
  }
  bool ok() const { return status_.ok() && !wrong_; }

 private:
  struct Issued {
    std::vector<float> data;
    std::vector<float> other;
    phalanx::Work work;
    bool sums = false;
    float expected = 0;  // of every element, unless 0
    bool settled = false;
  };

  Issued& NewIssued(size_t count) {
    issued_.push_back(std::make_unique<Issued>());
    issued_.back()->data.assign(count, static_cast<float>(rank() + 1));
    return *issued_.back();
  }
  phalanx::Stream* StreamOf(int index) {
    if (index < 0) return nullptr;
    auto& stream = streams_[index];
    if (stream == nullptr) stream = *session_->CreateStream();
    return stream.get();
  }
  void Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  void Settle(Issued* issued) {
    if (std::exchange(issued->settled, true)) return;
    const absl::Status status = issued->work.Wait();
    Note(status);
    if (!status.ok()) return;
    float expected = issued->expected;
    if (issued->sums) expected = static_cast<float>(size() * (size() + 1)) / 2;
    if (expected == 0) return;
    for (const float value : issued->data) wrong_ = wrong_ || value != expected;
  }

  phalanx::Session* const session_;
  std::map<std::string, std::unique_ptr<Communicator>> communicators_;
  std::map<int, std::unique_ptr<phalanx::Stream>> streams_;
  phalanx::Group* group_ = nullptr;
  std::vector<std::unique_ptr<Issued>> issued_;
  std::vector<phalanx::Work> groups_;
  absl::Status status_;
  bool wrong_ = false;
};

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

void Exchange(Rank& r) {
  constexpr size_t kMany = size_t{32} << 20;  // 128 MiB
  const int other = 1 - r.rank();
  r.Send("a", -1, other, kMany);
  r.Receive("a", -1, other, kMany);
}

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

const std::map<std::string, void (*)(Rank&)>& Scenarios() {
  static const auto* const scenarios = new std::map<std::string, void (*)(Rank&)>{
      {"opposite_orders", OppositeOrders},
      {"groups_that_differ", GroupsThatDiffer},
      {"groups_in_opposite_order", GroupsInOppositeOrder},
      {"latin_square", LatinSquare},
      {"same_order_three_streams", SameOrderThreeStreams},
      {"beside_messages", BesideMessages},
      {"different_kinds", DifferentKinds},
      {"one_more", OneMore},
      {"count_differs", CountDiffers},
      {"after_a_mismatch", AfterAMismatch},
      {"op_differs", OpDiffers},
      {"type_differs", TypeDiffers},
      {"root_differs", RootDiffers},
      {"exchange", Exchange},
      {"exchange_in_a_group", ExchangeInAGroup},
      {"host_waits_between", HostWaitsBetween},
      {"learned_then_turned", LearnedThenTurned},
  };
  return *scenarios;
}

int Run(const std::string& name) {
  const auto scenario = Scenarios().find(name);
  if (scenario == Scenarios().end()) {
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
  Rank rank(session->get());
  // Communicators first, in one order: making one is a collective too.
  for (const char* communicator : {"a", "b", "c", "0", "1", "2", "3", "4", "5", "6", "7"}) {
    const bool wanted = name == "latin_square" ? *communicator < 'a' : *communicator >= 'a';
    if (wanted) rank.On(communicator);
  }
  scenario->second(rank);
  rank.Finish();
  return rank.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return Run(argc > 1 ? argv[1] : ""); }
