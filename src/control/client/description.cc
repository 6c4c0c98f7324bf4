#include "description.h"

#include <utility>

namespace phalanx::control {

ViewDescription ToDescription(message::View view) {
  ViewDescription description;
  description.epoch = view.epoch;
  description.job_token = view.job_token;
  description.settings = view.settings;
  description.performed_faults = std::move(view.performed_faults);
  description.node_cores = std::move(view.node_cores);
  description.members.reserve(view.members.size());
  for (message::Member& member : view.members) {
    description.members.push_back(Member{member.rank, member.incarnation, member.node, member.pid,
                                         std::move(member.addresses)});
  }
  return description;
}

}  // namespace phalanx::control
