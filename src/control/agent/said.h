// What an agent has said about its members and says again to a coordinator that comes after
// another.
#ifndef PHALANX_CONTROL_AGENT_SAID_H_
#define PHALANX_CONTROL_AGENT_SAID_H_

#include <algorithm>
#include <variant>
#include <vector>

#include "control_protocol/message.h"

namespace phalanx::control {

// A view has come: what it knows needn't be said again. What was said while it was on its way it
// doesn't know: that one of its members is lost or has left, or which fault was performed.
inline void ForgetWhatIsKnown(const message::View& view, std::vector<Message>* said) {
  const auto is_member = [&](Incarnation incarnation) {
    return std::any_of(
        view.members.begin(), view.members.end(),
        [&](const message::Member& member) { return member.incarnation == incarnation; });
  };
  std::erase_if(*said, [&](const Message& message) {
    if (const auto* lost = std::get_if<message::MemberLost>(&message)) {
      return !is_member(lost->incarnation);
    }
    if (const auto* leave = std::get_if<message::Leave>(&message)) {
      return !is_member(leave->incarnation);
    }
    const auto* fault = std::get_if<message::FaultPerformed>(&message);
    return fault == nullptr || std::find(view.performed_faults.begin(), view.performed_faults.end(),
                                         fault->index) != view.performed_faults.end();
  });
}

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_SAID_H_
