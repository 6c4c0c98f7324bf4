// Runs a function as every rank of a job, each on a thread of its own.
#ifndef PHALANX_TESTS_INTEGRATION_RANKS_H_
#define PHALANX_TESTS_INTEGRATION_RANKS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "job_fixture.h"
#include "phalanx/phalanx.h"

namespace phalanx {

class Ranks : public control::JobFixture {
 protected:
  // Options of one rank; rank r belongs to agent r / ranks_per_agent.
  Options OptionsOf(int rank, int size) {
    Options options;
    options.rank = rank;
    options.world_size = size;
    options.local_world_size = agents_.size() == 1 ? size : 0;
    const int per_agent =
        (size + static_cast<int>(agents_.size()) - 1) / static_cast<int>(agents_.size());
    options.agent = agents_[static_cast<size_t>(rank / per_agent)]->socket_name();
    options.transport = transport_;
    options.join_timeout = std::chrono::seconds(20);
    options.operation_timeout = std::chrono::seconds(30);
    options.shared_memory_limit = size_t{1} << 30;
    options.cross_memory_attach = cross_memory_attach_;
    options.ordering = ordering_;
    options.device_slots = device_slots_;
    options.fusion_threshold = fusion_threshold_;
    options.live = live_;
    return options;
  }

  // Starts the control plane, joins all ranks, runs `body` on each, closes.
  void Run(int size, const std::function<void(Session&)>& body) {
    StartCoordinator();
    for (int i = 0; i < nodes_; ++i) StartAgent();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        auto session = Session::Join(OptionsOf(rank, size));
        ASSERT_TRUE(session.ok()) << session.status();
        body(**session);
        const absl::Status closed = (*session)->Close();
        EXPECT_TRUE(closed.ok() || !expect_orderly_) << closed;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  int nodes_ = 1;
  std::string transport_ = "auto";
  bool cross_memory_attach_ = true;
  std::string ordering_ = "adaptive";
  int device_slots_ = 0;
  size_t fusion_threshold_ = 0;
  bool expect_orderly_ = true;
  bool live_ = false;
};

}  // namespace phalanx

#endif  // PHALANX_TESTS_INTEGRATION_RANKS_H_
