// What a rank of a scenario about order can do.
#ifndef PHALANX_TESTS_ORDERING_RANK_H_
#define PHALANX_TESTS_ORDERING_RANK_H_

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "phalanx/phalanx.h"

namespace phalanx::testing_support {

// Communicators are made when first named, and hold all ranks; streams count from 0, and -1 is
// none.
class Rank {
 public:
  static constexpr size_t kCount = 1024;

  explicit Rank(Session* session)
      : session_(session), communicators_(std::make_shared<Communicators>()) {}
  ~Rank() {
    for (Beside& other : beside_) {
      if (other.thread.joinable()) other.thread.join();
    }
  }

  int rank() { return session_->view().rank(); }
  int size() { return session_->view().size(); }

  // `parent`: the communicator that it is split from; empty: the world.
  Communicator& On(const std::string& name, const std::string& parent = "") {
    Communicators& all = *communicators_;
    {
      const std::lock_guard lock(all.mutex);
      if (const auto found = all.by_name.find(name); found != all.by_name.end()) {
        return *found->second;
      }
    }
    Communicator& whole = parent.empty() ? session_->view().world() : On(parent);
    std::unique_ptr<Communicator> made = *whole.Split(0, rank());
    const std::lock_guard lock(all.mutex);
    return *(all.by_name[name] = std::move(made));
  }
  // Starts to make communicators from their parents, one after the other, then waits for all.
  void Make(const std::vector<std::pair<std::string, std::string>>& names_and_parents) {
    std::vector<std::pair<std::string, PendingCommunicator>> pending;
    for (const auto& [name, parent] : names_and_parents) {
      pending.emplace_back(name, On(parent).StartSplit(0, rank()));
    }
    for (auto& [name, communicator] : pending) {
      std::unique_ptr<Communicator> made = *communicator.Wait();
      const std::lock_guard lock(communicators_->mutex);
      communicators_->by_name[name] = std::move(made);
    }
  }
  void Destroy(const std::string& name) {
    const std::lock_guard lock(communicators_->mutex);
    communicators_->by_name.erase(name);
  }

  // Starts an all-reduce whose result is checked at the end.
  void AllReduce(const std::string& name, int stream, size_t count = kCount,
                 ReduceOp op = ReduceOp::kSum, DataType type = DataType::kFloat32) {
    Issued& issued = NewIssued(count);
    issued.sums = op == ReduceOp::kSum && type == DataType::kFloat32;
    OpOptions options{};
    options.stream = StreamOf(stream);
    options.group = group_;
    options.graph = graph_;
    options.key = key_;
    // A graph's operation happens again and again, so its input has to stay.
    if (graph_ != nullptr) issued.other.resize(count);
    float* const result = graph_ == nullptr ? issued.data.data() : issued.other.data();
    issued.work = On(name).AllReduce(issued.data.data(), result, count, type, op, options);
  }
  void Broadcast(const std::string& name, int stream, int root) {
    Issued& issued = NewIssued(kCount);
    OpOptions options{};
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Broadcast(issued.data.data(), issued.data.data(), kCount,
                                     DataType::kFloat32, root, options);
  }
  void AllToAll(const std::string& name, int stream) {
    Issued& issued = NewIssued(kCount);
    issued.other.resize(kCount);
    OpOptions options{};
    options.stream = StreamOf(stream);
    options.key = key_;
    issued.work =
        On(name).AllToAll(issued.data.data(), issued.other.data(),
                          kCount / static_cast<size_t>(size()), DataType::kFloat32, options);
  }
  void Send(const std::string& name, int stream, int peer, size_t count = kCount) {
    Issued& issued = NewIssued(count);
    OpOptions options{};
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Send(issued.data.data(), count, DataType::kFloat32, peer, options);
  }
  void Receive(const std::string& name, int stream, int peer, size_t count = kCount) {
    Issued& issued = NewIssued(count);
    issued.expected = static_cast<float>(peer + 1);
    OpOptions options{};
    options.stream = StreamOf(stream);
    options.group = group_;
    issued.work = On(name).Receive(issued.data.data(), count, DataType::kFloat32, peer, options);
  }
  void Grouped(const std::function<void()>& calls) {
    Group group;
    group_ = &group;
    calls();
    group_ = nullptr;
    groups_.push_back(group.Launch());
  }
  // Reductions and all-to-alls that follow have this key; none if empty.
  void Key(const std::string& key) { key_ = key; }
  // Records what `calls` issue, without streams, to be issued by Replay().
  void Recorded(const std::string& name, const std::function<void()>& calls) {
    graph_ = &graphs_[name];
    calls();
    graph_ = nullptr;
  }
  void Replay(const std::string& name, int stream) {
    groups_.push_back(graphs_.at(name).Launch(StreamOf(stream)));
  }
  // Does `program` on a thread of its own, with streams of its own, beside what follows.
  void OnAThread(const std::function<void(Rank&)>& program) {
    Beside& other = beside_.emplace_back();
    other.rank = std::make_unique<Rank>(session_);
    other.rank->communicators_ = communicators_;
    other.thread = std::thread([program, rank = other.rank.get()] {
      program(*rank);
      rank->SettleAll();
    });
  }
  void SynchronizeDevice() { Note(session_->Synchronize(std::chrono::seconds(60))); }
  // Does something else meanwhile.
  void Computes(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }
  // The host waits for what was issued last.
  void HostWaits() { Settle(issued_.back().get()); }
  void HostWaitsForAll() {
    for (; waited_ < issued_.size(); ++waited_) Settle(issued_[waited_].get());
  }

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
    SettleAll();
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
    std::vector<float> other;  // the result, where it isn't in place
    Work work;
    bool sums = false;
    float expected = 0;  // of every element, unless 0
    bool settled = false;
  };

  struct Communicators {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<Communicator>> by_name;
  };
  struct Beside {
    std::unique_ptr<Rank> rank;
    std::thread thread;
  };

  void SettleAll() {
    for (size_t i = 0; i < groups_.size() && status_.ok(); ++i) Note(groups_[i].Wait());
    for (size_t i = 0; i < issued_.size() && status_.ok(); ++i) Settle(issued_[i].get());
    for (Beside& other : beside_) {
      other.thread.join();
      Note(other.rank->status_);
      wrong_ = wrong_ || other.rank->wrong_;
    }
  }
  Issued& NewIssued(size_t count) {
    issued_.push_back(std::make_unique<Issued>());
    issued_.back()->data.assign(count, static_cast<float>(rank() + 1));
    return *issued_.back();
  }
  Stream* StreamOf(int index) {
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
    const std::vector<float>& result =
        issued->sums && !issued->other.empty() ? issued->other : issued->data;
    for (const float value : result) wrong_ = wrong_ || value != expected;
  }

  Session* const session_;
  std::shared_ptr<Communicators> communicators_;
  std::map<int, std::unique_ptr<Stream>> streams_;
  Group* group_ = nullptr;
  Graph* graph_ = nullptr;
  std::string key_;
  std::map<std::string, Graph> graphs_;
  std::vector<Beside> beside_;
  std::vector<std::unique_ptr<Issued>> issued_;
  size_t waited_ = 0;  // HostWaitsForAll() has waited for so many
  std::vector<Work> groups_;
  absl::Status status_;
  bool wrong_ = false;
};

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_ORDERING_RANK_H_
