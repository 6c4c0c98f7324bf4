#include "node_ordering.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "ordering_wire/codec.h"

namespace phalanx::control {

std::unique_ptr<NodeOrdering> NodeOrdering::Make(int node, const message::View& view,
                                                 Handlers handlers) {
  if (view.settings.ordering == OrderingMode::kOff) return nullptr;
  const bool has_ranks =
      std::any_of(view.members.begin(), view.members.end(),
                  [&](const message::Member& member) { return member.node == node; });
  if (!has_ranks) return nullptr;
  return std::unique_ptr<NodeOrdering>(new NodeOrdering(node, view, std::move(handlers)));
}

NodeOrdering::NodeOrdering(int node, const message::View& view, Handlers handlers)
    : handlers_(std::move(handlers)),
      registry_(NodesByRank(view)),
      place_(registry_.PlaceOf(node).value()),
      aggregator_({.node = place_, .learns = view.settings.ordering == OrderingMode::kAdaptive},
                  &registry_.roster()) {}

absl::Status NodeOrdering::FromWorker(int rank, absl::string_view payload) {
  PHX_ASSIGN_OR_RETURN(ordering::Uplink message, ordering::DecodeUplink(payload));
  const ordering::Speaker speaker{place_, rank};
  if (const auto* communicator = std::get_if<ordering::NewCommunicator>(&message)) {
    PHX_ASSIGN_OR_RETURN(const bool is_new, registry_.Add(speaker, *communicator));
    if (is_new) handlers_.to_coordinator(ordering::Encode(message));
    return absl::OkStatus();
  }
  auto& report = std::get<ordering::Report>(message);
  PHX_RETURN_IF_ERROR(registry_.Check(speaker, report));
  if (registry_.IsConcerned(speaker, report)) Step(ordering::FromRank{rank, std::move(report)});
  return absl::OkStatus();
}

absl::Status NodeOrdering::FromCoordinator(absl::string_view payload) {
  PHX_ASSIGN_OR_RETURN(ordering::Order order, ordering::DecodeDownlink(payload));
  PHX_RETURN_IF_ERROR(registry_.Check(place_, order));
  Step(ordering::FromSequencer{std::move(order)});
  return absl::OkStatus();
}

bool NodeOrdering::Tick() { return Step(ordering::NodeTick{}); }

bool NodeOrdering::Step(const ordering::NodeInput& input) {
  const std::vector<ordering::NodeOutput> outputs = aggregator_.Step(input);
  for (const ordering::NodeOutput& output : outputs) {
    if (const auto* down = std::get_if<ordering::ToRank>(&output)) {
      handlers_.to_worker(down->rank, ordering::Encode(down->order));
    } else {
      handlers_.to_coordinator(ordering::Encode(std::get<ordering::ToSequencer>(output).report));
    }
  }
  return !outputs.empty();
}

}  // namespace phalanx::control
