// The core's part for agents that say nothing. Other agents are asked whether they hear one; if
// nobody does, and the job can go on without its node, the node is evicted as a whole.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control_coordinator/core.h"

namespace phalanx::control {
namespace {

// As the agents name a silent coordinator.
constexpr Clock::duration kAgentNamedAfter = std::chrono::seconds(10);
constexpr Clock::duration kWarnAgain = std::chrono::seconds(10);

std::string Seconds(Clock::duration duration) {
  return absl::StrFormat("%.1f s", std::chrono::duration<double>(duration).count());
}

}  // namespace

void CoordinatorCore::HearAgent(AgentId agent) {
  const std::optional<Clock::duration> silent_for = agents_heard_.Hear(agent.value, now_);
  if (!silent_for.has_value()) return;
  inquiries_.End(agent.value);
  if (named_agents_.erase(agent) == 0) return;  // it was slow, which is no news
  Log(LogSeverity::kWarning, absl::StrCat("the agent of ", DescribeNode(agent),
                                          " answers again after ", Seconds(*silent_for)));
}

void CoordinatorCore::CheckAgents() {
  const bool matters = phase_ == Phase::kRunning || phase_ == Phase::kRecovering;
  for (const auto& [agent, record] : agents_) {
    if (matters) {
      agents_heard_.Watch(agent.value, now_);
    } else {
      agents_heard_.Forget(agent.value);
      inquiries_.End(agent.value);
    }
  }
  agents_heard_.set_suspect_after(std::chrono::milliseconds(job_settings_.suspect_after_ms));
  for (const uint64_t silent : agents_heard_.Tick(now_)) {
    // One that others can't reach can't answer them.
    if (agents_.at(AgentId{silent}).peers.port != 0) inquiries_.Begin(silent);
  }
  NameSilentAgents();
  AskWitnesses();
}

void CoordinatorCore::NameSilentAgents() {
  for (const uint64_t silent : agents_heard_.Suspects()) {
    const Clock::duration silent_for = agents_heard_.SilentFor(silent, now_);
    if (silent_for < kAgentNamedAfter) continue;
    if (!named_agents_.emplace(AgentId{silent}, now_).second) continue;
    Log(LogSeverity::kWarning,
        absl::StrCat("the agent of ", DescribeNode(AgentId{silent}), " has said nothing for ",
                     Seconds(silent_for),
                     " although its connection is open; the job waits for it"));
  }
}

void CoordinatorCore::AskWitnesses() {
  std::vector<uint64_t> witnesses;
  for (const auto& [agent, record] : agents_) {
    if (!agents_heard_.IsSuspect(agent.value)) witnesses.push_back(agent.value);
  }
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.witness_wait);
  const membership::Inquiries::Findings findings = inquiries_.Tick(now_, witnesses);
  for (const membership::Inquiries::Question& question : findings.questions) {
    const AgentRecord& suspect = agents_.at(AgentId{question.suspect});
    Send(AgentId{question.witness}, message::AskWitness{suspect.node, question.round, suspect.peers,
                                                        static_cast<uint32_t>(wait.count())});
  }
  for (const uint64_t suspect : findings.unanswered) OnUnanswered(AgentId{suspect});
}

void CoordinatorCore::OnWitnessSays(AgentId agent, const message::WitnessSays& says) {
  for (const auto& [suspect, record] : agents_) {
    if (record.node != says.suspect) continue;
    inquiries_.Report(suspect.value, agent.value, says.round, says.answered, now_);
  }
}

void CoordinatorCore::OnUnanswered(AgentId agent) {
  if (!agents_heard_.IsSuspect(agent.value) || phase_ == Phase::kOver) return;
  if (CanGoOnWithoutNode(agent)) return EvictNode(agent);
  const auto [named, is_new] = named_agents_.emplace(agent, now_);
  if (!is_new && now_ - named->second < kWarnAgain) return;
  named->second = now_;
  Log(LogSeverity::kWarning,
      absl::StrCat(DescribeNode(agent), " has said nothing for ",
                   Seconds(agents_heard_.SilentFor(agent.value, now_)),
                   ", and no other node hears it; the job can't go on without it and waits"));
}

// Spares of others can take all its ranks, from copies that others have. A node without ranks holds
// nobody up but whoever waits for its end.
bool CoordinatorCore::CanGoOnWithoutNode(AgentId agent) const {
  if (phase_ != Phase::kRunning && phase_ != Phase::kRecovering) return false;
  if (!checkpoints_.HasCopiesWithout(static_cast<checkpoint::AgentId>(agent.value))) return false;
  std::set<uint64_t> there;
  for (const auto& [incarnation, record] : members_) {
    if (record.agent == agent) there.insert(incarnation);
  }
  if (phase_ == Phase::kRunning && there.empty()) return true;
  if (SparesWithout(there, agent) < 0) return false;
  return phase_ == Phase::kRecovering || CanGoOnWithout(there);
}

// Its processes may go on at any moment, so from here on nothing counts that comes from there: not
// over this connection, nor over another one. What they write is their own memory, which nobody
// else maps; who has links to them is told that the view is over.
void CoordinatorCore::EvictNode(AgentId agent) {
  const AgentRecord& record = agents_.at(agent);
  const std::string why =
      absl::StrCat("it has said nothing for ", Seconds(agents_heard_.SilentFor(agent.value, now_)),
                   ", and no other node hears it");
  const std::string line = absl::StrCat(DescribeNode(agent), " is evicted: ", why);
  evicted_nodes_.insert(record.node);
  evicted_agents_[agent] = Evicted(why);
  evicted_untold_.emplace_back(agent, record.node);
  Tell({"node_evicted", {{"node", record.node}}});
  WriteFirst(Afterwards::kTellEvicted);
  LoseAgent(agent, line, absl::StrCat("was evicted with its node (", why, ")"));
}

void CoordinatorCore::TellEvicted() {
  for (const auto& [agent, node] : std::exchange(evicted_untold_, {})) {
    outputs_.push_back(NodeEvicted{node});
    if (evicted_agents_.count(agent) == 0) continue;  // it isn't here
    Send(agent, message::Refused{Incarnation{0}, evicted_agents_.at(agent), /*evicted=*/true});
    outputs_.push_back(CloseAgent{agent});
  }
}

absl::Status CoordinatorCore::Evicted(const std::string& why) {
  return absl::UnavailableError(
      absl::StrCat("this node was evicted, and the job goes on without it: ", why));
}

}  // namespace phalanx::control
