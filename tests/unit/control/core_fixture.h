// The coordinator's core in a test's hands: what agents say to it, and what comes out.
#ifndef PHALANX_TESTS_UNIT_CONTROL_CORE_FIXTURE_H_
#define PHALANX_TESTS_UNIT_CONTROL_CORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control_coordinator/core.h"

namespace phalanx::control {

inline constexpr Clock::time_point kStart{};

// Feeds the core and keeps what came out of the last step.
class CoreFixture : public ::testing::Test {
 protected:
  CoreFixture() { core_.emplace(SettingsOf(std::nullopt), kStart); }

  static CoordinatorSettings SettingsOf(std::optional<JobRecord> record) {
    return {"job", 42, std::chrono::seconds(60), std::move(record)};
  }

  void Step(const CoordinatorInput& input, Clock::duration at = std::chrono::milliseconds(0)) {
    now_ = std::max(now_, kStart + at);
    outputs_ = core_->Step(input, now_);
    while (writes_at_once_ && Written() != nullptr) {
      record_ = Written()->record;
      std::erase_if(outputs_, [](const CoordinatorOutput& output) {
        return std::holds_alternative<WriteRecord>(output);
      });
      for (CoordinatorOutput& output : core_->Step(RecordWritten{}, now_)) {
        outputs_.push_back(std::move(output));
      }
    }
    TakeHeartbeats();
  }
  const WriteRecord* Written() const {
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* write = std::get_if<WriteRecord>(&output)) return write;
    }
    return nullptr;
  }
  // Out of outputs_, where they say nothing.
  void TakeHeartbeats() {
    heartbeats_.clear();
    std::erase_if(outputs_, [&](const CoordinatorOutput& output) {
      const auto* send = std::get_if<SendToAgent>(&output);
      const bool is_one =
          send != nullptr && std::holds_alternative<message::Heartbeat>(send->message);
      if (is_one) heartbeats_.push_back(send->agent.value);
      return is_one;
    });
  }
  void Say(uint64_t agent, Message message, Clock::duration at = std::chrono::milliseconds(0)) {
    Step(AgentSaid{AgentId{agent}, std::move(message)}, at);
  }
  void Hello(uint64_t agent, int node = -1, int cores = 4, int spares = 0) {
    message::AgentHello hello;
    hello.job = "job";
    hello.node = node;
    hello.node_name = "host" + std::to_string(agent);
    hello.cores = cores;
    hello.spares = spares;
    hello.machine = "one";  // so nobody copies anything
    Say(agent, hello);
  }
  static message::Join Join(int rank, int world_size, uint64_t incarnation) {
    message::Join join;
    join.member.rank = rank;
    join.member.incarnation = Incarnation{incarnation};
    join.member.pid = static_cast<int>(100 + incarnation);
    join.world_size = world_size;
    return join;
  }
  // Two agents with ranks 0, 2 and 1, 3; incarnation = rank + 1. The second announces spares.
  void Run4(int spares = 0) {
    Hello(1);
    Hello(2, -1, 4, spares);
    for (int rank = 0; rank < 4; ++rank) {
      Say(rank % 2 == 0 ? 1 : 2, Join(rank, 4, static_cast<uint64_t>(rank + 1)));
    }
  }

  template <typename Kind>
  std::vector<std::pair<uint64_t, Kind>> Sent() const {
    std::vector<std::pair<uint64_t, Kind>> found;
    for (const CoordinatorOutput& output : outputs_) {
      const auto* send = std::get_if<SendToAgent>(&output);
      if (send == nullptr) continue;
      if (const auto* kind = std::get_if<Kind>(&send->message)) {
        found.emplace_back(send->agent.value, *kind);
      }
    }
    return found;
  }
  std::vector<uint64_t> Closed() const {
    std::vector<uint64_t> closed;
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* close = std::get_if<CloseAgent>(&output))
        closed.push_back(close->agent.value);
    }
    return closed;
  }
  const JobOver* Over() const {
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* over = std::get_if<JobOver>(&output)) return over;
    }
    return nullptr;
  }
  absl::Status Refusal(uint64_t agent, uint64_t incarnation) const {
    const auto refused = Sent<message::Refused>();
    if (refused.size() != 1 || refused[0].first != agent ||
        refused[0].second.incarnation != Incarnation{incarnation}) {
      return absl::UnknownError("not one refusal of that member");
    }
    return refused[0].second.status;
  }

  std::optional<CoordinatorCore> core_;
  bool writes_at_once_ = true;
  std::optional<JobRecord> record_;  // what was written last
  Clock::time_point now_ = kStart;
  std::vector<CoordinatorOutput> outputs_;  // but heartbeats
  std::vector<uint64_t> heartbeats_;        // of the last step: to which agents
};

}  // namespace phalanx::control

#endif  // PHALANX_TESTS_UNIT_CONTROL_CORE_FIXTURE_H_
