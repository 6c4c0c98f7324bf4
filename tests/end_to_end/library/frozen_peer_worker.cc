// A rank of a job in which somebody is frozen: `frozen_peer_worker WHERE FILE`. Ranks append lines
// to FILE, since whoever passes on what they print may be frozen too. When it has come to WHERE,
// each writes `ready` with its number and process and waits for SIGUSR1. Rank 0 then makes every
// blocking call of the library's that belongs there and writes for each: its name, the code that it
// came back with, and after how many milliseconds; the others do nothing more. After the line `end`
// it has returned from all of them.
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

using phalanx::DataType;
using phalanx::ReduceOp;

constexpr size_t kCount = 50'000;  // of a rank's part; too much to be sent without its receiver
constexpr std::chrono::milliseconds kOperation{1000};
constexpr std::chrono::milliseconds kJoin{2000};
constexpr std::chrono::milliseconds kCall{100};

class Lines {
 public:
  explicit Lines(const std::string& file) : out_(file, std::ios::app) {}

  void Make(const char* name, const std::function<absl::Status()>& call) {
    const auto start = std::chrono::steady_clock::now();
    const absl::Status status = call();
    const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    Add(std::string(name) + ' ' + absl::StatusCodeToString(status.code()) + ' ' +
        std::to_string(taken.count()));
  }

  // In one write, so that lines of several ranks don't mix.
  void Add(const std::string& line) { out_ << line + '\n' << std::flush; }

 private:
  std::ofstream out_;
};

// Only rank 0 goes on from here.
void AwaitFreeze(int rank, Lines* lines) {
  lines->Add("ready " + std::to_string(rank) + ' ' + std::to_string(getpid()));
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  const timespec longest{60, 0};
  if (sigtimedwait(&signals, nullptr, &longest) != SIGUSR1) std::abort();
  if (rank != 0) pause();
}

// All that is in flight is given its buffers here, which outlive it.
struct Buffers {
  explicit Buffers(int size) : small(kCount, 1), large(kCount * static_cast<size_t>(size), 1) {}
  std::vector<int32_t> small;
  std::vector<int32_t> large;
};

using AllBuffers = std::vector<std::unique_ptr<Buffers>>;

void Collectives(phalanx::Communicator& world, AllBuffers* buffers, Lines* lines) {
  const phalanx::OpOptions brief{.timeout = kCall};
  const auto make = [&](const char* name, const auto& start) {
    buffers->push_back(std::make_unique<Buffers>(world.size()));
    int32_t* small = buffers->back()->small.data();
    int32_t* large = buffers->back()->large.data();
    lines->Make(name, [&] { return start(small, large).Wait(); });
  };
  constexpr DataType kType = DataType::kInt32;
  const int last = world.size() - 1;
  make("AllReduce", [&](auto* small, auto*) {
    return world.AllReduce(small, small, kCount, kType, ReduceOp::kSum, brief);
  });
  make("ReduceScatter", [&](auto* small, auto* large) {
    return world.ReduceScatter(large, small, kCount, kType, ReduceOp::kSum, brief);
  });
  make("AllGather", [&](auto* small, auto* large) {
    return world.AllGather(small, large, kCount, kType, brief);
  });
  make("Broadcast", [&](auto* small, auto*) {
    return world.Broadcast(small, small, kCount, kType, last, brief);
  });
  make("Reduce", [&](auto* small, auto*) {
    return world.Reduce(small, small, kCount, kType, ReduceOp::kSum, 0, brief);
  });
  make("Gather", [&](auto* small, auto* large) {
    return world.Gather(small, large, kCount, kType, 0, brief);
  });
  make("Scatter", [&](auto* small, auto* large) {
    return world.Scatter(large, small, kCount, kType, last, brief);
  });
  std::vector<int32_t> sent(kCount * static_cast<size_t>(world.size()), 1);
  make("AllToAll", [&](auto*, auto* large) {
    return world.AllToAll(sent.data(), large, kCount, kType, brief);
  });
  make("Send", [&](auto* small, auto*) { return world.Send(small, kCount, kType, last, brief); });
  make("Receive",
       [&](auto* small, auto*) { return world.Receive(small, kCount, kType, last, brief); });
  make("Barrier", [&](auto*, auto*) { return world.Barrier(brief); });
  // The one that is named in the call goes before the operation's own.
  make("Wait", [&](auto* small, auto*) {
    phalanx::Work work = world.AllReduce(small, small, kCount, kType, ReduceOp::kSum);
    return phalanx::Work(work.Wait(kCall));
  });
  make("Group", [&](auto* small, auto* large) {
    phalanx::Group group;
    const phalanx::OpOptions grouped{.group = &group, .timeout = kCall};
    world.Send(small, kCount, kType, last, grouped);
    world.Receive(large, kCount, kType, last, grouped);
    phalanx::Work work = group.Launch();
    return phalanx::Work(work.Wait(kCall));
  });
  // `sent` is a local, and an operation that timed out still reads it.
  buffers->push_back(std::make_unique<Buffers>(0));
  buffers->back()->large = std::move(sent);
}

// Both communicators have operations in flight when they are destroyed, one after the other.
absl::Status Operations(phalanx::Session& session, std::unique_ptr<phalanx::Communicator> second,
                        AllBuffers* buffers, Lines* lines) {
  phalanx::Communicator& world = session.view().world();
  Collectives(world, buffers, lines);
  buffers->push_back(std::make_unique<Buffers>(0));
  int32_t* const stuck = buffers->back()->small.data();
  const phalanx::Work work =
      second->AllReduce(stuck, stuck, kCount, DataType::kInt32, ReduceOp::kSum);
  lines->Make("~Communicator", [&] {
    second.reset();
    return absl::OkStatus();
  });
  lines->Make("Split", [&] { return world.Split(0, 0).status(); });
  lines->Make("StartSplit", [&] { return world.StartSplit(0, 0).Wait().status(); });
  lines->Make("~PendingCommunicator", [&] {
    auto dropped = world.StartSplit(0, 0);
    return absl::OkStatus();
  });
  auto stream = session.CreateStream();
  if (!stream.ok()) return stream.status();
  buffers->push_back(std::make_unique<Buffers>(0));
  int32_t* values = buffers->back()->small.data();
  world.AllReduce(values, values, kCount, DataType::kInt32, ReduceOp::kSum,
                  {.stream = stream->get()});
  lines->Make("Stream::Synchronize", [&] { return (*stream)->Synchronize(kCall); });
  lines->Make("Session::Synchronize", [&] { return session.Synchronize(kCall); });
  lines->Make("~Stream", [&] {
    stream->reset();
    return absl::OkStatus();
  });
  lines->Make("Close", [&] { return session.Close(kCall); });
  return absl::OkStatus();
}

// The state of a rank for Restore() and Checkpoint().
struct State {
  std::vector<float> weights = std::vector<float>(1000, 1.0F);
  std::vector<phalanx::StateRegion> regions() {
    return {{"weights", weights.data(), weights.size() * sizeof(float)}};
  }
};

absl::Status Checkpoints(const std::string& where, phalanx::View& view, Lines* lines) {
  State state;
  const std::vector<phalanx::StateRegion> regions = state.regions();
  if (where == "restore") {
    AwaitFreeze(view.rank(), lines);
    lines->Make("Restore", [&] { return view.Restore(regions).status(); });
    return absl::OkStatus();
  }
  const absl::Status restored = view.Restore(regions).status();
  if (!restored.ok()) return restored;
  if (absl::Status together = view.world().Barrier().Wait(); !together.ok()) return together;
  AwaitFreeze(view.rank(), lines);
  if (where == "checkpoint") {
    lines->Make("Checkpoint", [&] { return view.Checkpoint(regions, 0); });
  }
  return absl::OkStatus();
}

absl::Status Perform(const std::string& where, Lines* lines) {
  auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  options->operation_timeout = kOperation;
  options->join_timeout = kJoin;
  if (where == "join") {
    AwaitFreeze(options->rank, lines);
    lines->Make("Join", [&] { return phalanx::Session::Join(*options).status(); });
    return absl::OkStatus();
  }
  AllBuffers buffers;  // in use until the session is gone
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  if (where == "operations") {
    phalanx::View& view = (*session)->view();
    auto second = view.world().Split(0, 0);
    if (!second.ok()) return second.status();
    if (absl::Status together = (*second)->Barrier().Wait(); !together.ok()) return together;
    AwaitFreeze(view.rank(), lines);
    const absl::Status made = Operations(**session, *std::move(second), &buffers, lines);
    if (!made.ok()) return made;
  } else {
    lines->Make("Run", [&] {
      return (*session)->Run([&](phalanx::View& view) { return Checkpoints(where, view, lines); });
    });
  }
  lines->Make("~Session", [&] {
    session->reset();
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sigset_t signals;  // before there are other threads
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Lines lines(argv[2]);
  const absl::Status status = Perform(argv[1], &lines);
  if (!status.ok()) {
    std::fprintf(stderr, "failed: %s\n", std::string(status.message()).c_str());
    return 3;
  }
  lines.Add("end");
  return 0;
}
