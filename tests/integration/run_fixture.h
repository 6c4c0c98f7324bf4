// A job whose processes are threads, in Session::Run: some are lost on purpose, and spares take
// their places.
#ifndef PHALANX_TESTS_INTEGRATION_RUN_FIXTURE_H_
#define PHALANX_TESTS_INTEGRATION_RUN_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {

inline constexpr DataType kInt = DataType::kInt64;
inline constexpr size_t kMany = size_t{1} << 17;  // more than any transport sends at once

inline absl::Status Sum(Communicator& world, std::vector<int64_t>* values,
                        const OpOptions& options = {}) {
  return world
      .AllReduce(values->data(), values->data(), values->size(), kInt, ReduceOp::kSum, options)
      .Wait();
}

// What the body of a process that is to be lost returns.
inline absl::Status Doomed() { return absl::CancelledError("doomed"); }

class RunTest : public Ranks {
 protected:
  // What became of a process: of the rank of this number in the first view, or behind those, of a
  // spare.
  struct End {
    absl::Status run;
    absl::Status closed;
    int rank = -2;
    int size = -2;
    std::vector<uint64_t> epochs;  // in which its body ran
    bool lost = false;             // on purpose
  };
  using Body = std::function<absl::Status(Session& session, View& view)>;
  using MakeBody = std::function<Body(int process)>;

  // Runs the body of every process, which a process has to itself over all views. One whose body
  // returns Doomed() is lost with it, at the latest when it would run again.
  std::vector<End> RunJob(int size, int spares, const MakeBody& make_body) {
    StartCoordinator();
    for (int i = 0; i < nodes_; ++i) StartAgent();
    std::vector<End> ends(static_cast<size_t>(size + spares));
    std::vector<std::thread> threads;
    std::latch spares_there(spares);
    for (int process = 0; process < size + spares; ++process) {
      threads.emplace_back([&, process] {
        Options options = OptionsOf(process < size ? process : 0, size);
        if (process >= size) {
          MakeSpare(process - size, &options);
        } else {
          spares_there.wait();
        }
        auto session = Session::Join(options);
        if (process >= size) spares_there.count_down();
        ASSERT_TRUE(session.ok()) << session.status();
        RunOne(*std::move(session), make_body(process), &ends[static_cast<size_t>(process)]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  void TearDown() override {
    Ranks::TearDown();
    if (HasFailure()) std::printf("the coordinator's log:\n%s", coordinator_log_.Text().c_str());
  }

  // The same body for all, which has nothing to remember.
  std::vector<End> RunJob(int size, int spares, const Body& body) {
    return RunJob(size, spares, [&](int) { return body; });
  }

  // One on each node in turn, from the last on.
  void MakeSpare(int number, Options* options) {
    options->spare = true;
    options->rank = -1;
    options->agent =
        agents_[agents_.size() - 1 - static_cast<size_t>(number) % agents_.size()]->socket_name();
  }

  // Comes back when all ranks are known to be in Run: the job can't be recovered before.
  static absl::Status AwaitAll(View& view) {
    const auto alone = view.world().Split(view.rank(), 0);
    if (!alone.ok()) return alone.status();
    // Asks the coordinator for a number, after this rank has told it that it is recoverable.
    const auto again = (*alone)->Split(0, 0);
    if (!again.ok()) return again.status();
    return view.world().Barrier().Wait();
  }

  // The rank of that number in that view is lost, and all others see it.
  static absl::Status LoseIn(View& view, uint64_t epoch, const std::vector<int>& ranks) {
    if (view.epoch() != epoch) return absl::OkStatus();
    const absl::Status all = AwaitAll(view);
    if (std::find(ranks.begin(), ranks.end(), view.rank()) != ranks.end()) return Doomed();
    if (!all.ok()) return all;
    std::vector<int64_t> values(kMany, 1);
    const absl::Status status = Sum(view.world(), &values);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    return status.ok() ? absl::InternalError("nobody was lost") : status;
  }

  static void ExpectGoodEnd(const End& end) {
    EXPECT_TRUE(end.run.ok()) << end.run;
    EXPECT_TRUE(end.closed.ok()) << end.closed;
    EXPECT_FALSE(end.lost);
  }
  static void ExpectNamed(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(text));
  }

 private:
  static void RunOne(std::unique_ptr<Session> session, const Body& body, End* end) {
    bool doomed = false;
    end->run = session->Run([&](View& view) {
      EXPECT_EQ(&view, &session->view());
      end->epochs.push_back(view.epoch());
      if (doomed) return Doomed();
      const absl::Status status = body(*session, view);
      doomed = status == Doomed();
      return status;
    });
    if (doomed) {
      end->lost = true;
      Lose(std::move(session));
      return;
    }
    end->rank = session->view().rank();
    end->size = session->view().size();
    end->closed = session->Close();
  }

  // Without a word to anybody, as an operation is still in flight: one that its stream hasn't
  // reached, so that no loss of another rank's ends it.
  static void Lose(std::unique_ptr<Session> session) {
    const auto stream = *session->CreateStream();
    std::latch reached(1);
    ASSERT_TRUE(stream->Enqueue([&] { reached.wait(); }).ok());
    OpOptions options;
    options.stream = stream.get();
    Work never = session->view().world().Barrier(options);
    session.reset();
    EXPECT_FALSE(never.Wait().ok());
    reached.count_down();
    EXPECT_TRUE(stream->Synchronize(control::kPatience).ok());
  }
};

}  // namespace phalanx

#endif  // PHALANX_TESTS_INTEGRATION_RUN_FIXTURE_H_
