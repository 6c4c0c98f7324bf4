// The coordinator's core with four ranks that can take part in another view, and spares.
#ifndef PHALANX_TESTS_UNIT_CONTROL_CORE_RECOVERY_FIXTURE_H_
#define PHALANX_TESTS_UNIT_CONTROL_CORE_RECOVERY_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core_fixture.h"

namespace phalanx::control {

// The incarnation of rank r is r + 1; spares have numbers from kSpare on.
inline constexpr uint64_t kSpare = 11;

class CoreRecoveryFixture : public CoreFixture {
 protected:
  static Message Spare(uint64_t incarnation, int rank = -1) {
    message::Join join = Join(rank, 4, incarnation);
    join.spare = true;
    join.member.addresses = {{"ucx", "spare" + std::to_string(incarnation)}};
    return join;
  }
  static Message Back(uint64_t incarnation) {
    message::Join join = Join(static_cast<int>(incarnation) - 1, 4, incarnation);
    join.member.addresses = {{"ucx", "new" + std::to_string(incarnation)}};
    return join;
  }
  static uint64_t AgentOf(uint64_t incarnation) { return incarnation % 2 == 1 ? 1 : 2; }

  // Four members that can take part in another view, and a spare at each of these agents.
  // The second agent announces so many more.
  void RunWithSpares(const std::vector<uint64_t>& agents, int announced = 0) {
    Run4(announced);
    for (uint64_t incarnation = 1; incarnation <= 4; ++incarnation) {
      Say(AgentOf(incarnation), message::Recoverable{Incarnation{incarnation}});
    }
    for (size_t i = 0; i < agents.size(); ++i) Say(agents[i], Spare(kSpare + i));
  }
  void Lose(uint64_t agent, uint64_t incarnation, Clock::duration at = {}) {
    Say(agent, message::MemberLost{Incarnation{incarnation}, "died"}, at);
  }
  void Return(const std::vector<uint64_t>& incarnations, Clock::duration at = {}) {
    for (const uint64_t incarnation : incarnations)
      Say(AgentOf(incarnation), Back(incarnation), at);
  }
  void SayFinished(const std::vector<uint64_t>& incarnations) {
    for (const uint64_t incarnation : incarnations) {
      Say(AgentOf(incarnation), message::Finished{Incarnation{incarnation}});
    }
  }

  // The view that all of `agents` were sent by the last step.
  message::View ViewSentTo(const std::vector<uint64_t>& agents) const {
    const auto views = Sent<message::View>();
    std::vector<uint64_t> receivers;
    for (const auto& [agent, view] : views) receivers.push_back(agent);
    EXPECT_EQ(receivers, agents);
    return views.empty() ? message::View{} : views[0].second;
  }
  static std::vector<uint64_t> IncarnationsOf(const message::View& view) {
    std::vector<uint64_t> incarnations;
    for (const message::Member& member : view.members) {
      incarnations.push_back(member.incarnation.value);
    }
    return incarnations;
  }
  std::string Logged() const {
    std::string lines;
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* line = std::get_if<LogLine>(&output)) lines += line->line + "\n";
    }
    return lines;
  }
  // What the last step told all agents about the view's end.
  message::Revoked RevokedForAll(const std::vector<uint64_t>& agents) const {
    const auto revoked = Sent<message::Revoked>();
    std::vector<uint64_t> receivers;
    for (const auto& [agent, message] : revoked) {
      receivers.push_back(agent);
      EXPECT_EQ(message, revoked[0].second);
    }
    EXPECT_EQ(receivers, agents);
    return revoked.empty() ? message::Revoked{} : revoked[0].second;
  }
};

}  // namespace phalanx::control

#endif  // PHALANX_TESTS_UNIT_CONTROL_CORE_RECOVERY_FIXTURE_H_
