// The core's part for those who are there and say nothing: who is evicted, and who is waited for.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control_coordinator/core.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kWarnAgain = std::chrono::seconds(10);

std::string Seconds(Clock::duration duration) {
  return absl::StrFormat("%.1f s", std::chrono::duration<double>(duration).count());
}

}  // namespace

// A member, or else a spare.
CoordinatorCore::MemberRecord* CoordinatorCore::Find(AgentId agent, Incarnation incarnation) {
  const auto member = members_.find(incarnation.value);
  if (member != members_.end()) return member->second.agent == agent ? &member->second : nullptr;
  const auto spare = std::find_if(spares_.begin(), spares_.end(), [&](const MemberRecord& record) {
    return record.member.incarnation == incarnation && record.agent == agent;
  });
  return spare == spares_.end() ? nullptr : &*spare;
}

// It comes again each second, so nothing is to be remembered for a time at which more is possible.
void CoordinatorCore::OnMemberSilent(AgentId agent, const message::MemberSilent& silent) {
  MemberRecord* const record = Find(agent, silent.incarnation);
  if (record == nullptr || record->left || record->evicted) return;
  record->silent = true;
  const bool is_member = members_.count(silent.incarnation.value) > 0;
  const bool is_replaceable =
      is_member &&
      ((phase_ == Phase::kRunning && CanRecoverWithout({silent.incarnation.value})) ||
       (phase_ == Phase::kRecovering && SparesWithout({silent.incarnation.value}) >= 0));
  if (is_replaceable) {
    Evict(*record, silent.how);
  } else {
    WarnOfSilence(*record, silent.how);
  }
  if (!is_member) FillVacancies();  // with others: nobody waits for it
}

void CoordinatorCore::OnMemberHeard(AgentId agent, const message::MemberHeard& heard) {
  MemberRecord* const record = Find(agent, heard.incarnation);
  if (record == nullptr) return;
  record->silent = false;
  if (warned_of_.erase(heard.incarnation.value) > 0) {
    Log(LogSeverity::kWarning, absl::StrCat(Describe(*record), " answers again after ",
                                            Seconds(std::chrono::milliseconds(heard.silent_ms))));
  }
  FillVacancies();  // it may be a spare
}

// Nobody waits for it from here on, but its place is given away only when its agent has seen its
// end: until then it could still go on.
void CoordinatorCore::Evict(MemberRecord& record, const std::string& how) {
  const absl::Status reason = Lost(record, how);
  Log(LogSeverity::kWarning, absl::StrCat(reason.message(), "; it is evicted"));
  record.evicted = true;
  record.ready = false;
  Send(record.agent,
       message::Evict{record.member.incarnation, absl::StrCat(how, ", and was killed for it")});
  if (phase_ == Phase::kRunning) Revoke(reason);
}

void CoordinatorCore::WarnOfSilence(const MemberRecord& record, const std::string& how) {
  const auto [warned, is_new] = warned_of_.emplace(record.member.incarnation.value, now_);
  if (!is_new && now_ - warned->second < kWarnAgain) return;
  warned->second = now_;
  Log(LogSeverity::kWarning,
      absl::StrCat(Describe(record), " ", how,
                   record.member.rank < 0
                       ? "; it can take nobody's place like that"
                       : "; nobody can take its place, so the job waits for it"));
}

}  // namespace phalanx::control
