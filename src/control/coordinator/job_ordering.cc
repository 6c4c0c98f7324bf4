#include "control_coordinator/job_ordering.h"

#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ordering/explanation.h"
#include "ordering_wire/codec.h"

namespace phalanx::control {
namespace {

ordering::SequencerSettings SettingsFor(const message::View& view) {
  ordering::SequencerSettings settings;
  settings.adaptive = view.settings.ordering == OrderingMode::kAdaptive;
  settings.fewest_slots = view.settings.device_slots == 0 ? std::numeric_limits<int>::max()
                                                          : view.settings.device_slots;
  settings.aborts_cycles = view.settings.stall_action == StallAction::kAbort;
  return settings;
}

}  // namespace

JobOrdering::JobOrdering(const message::View& view)
    : registry_(NodesByRank(view)), sequencer_(SettingsFor(view), &registry_.roster()) {}

JobOrdering::Outputs JobOrdering::Begin() { return Step(ordering::SequencerBegins{}); }

absl::StatusOr<JobOrdering::Outputs> JobOrdering::FromNode(int node, absl::string_view payload) {
  const std::optional<int> place = registry_.PlaceOf(node);
  if (!place.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " has no ranks to speak for"));
  }
  PHX_ASSIGN_OR_RETURN(ordering::Uplink message, ordering::DecodeUplink(payload));
  const ordering::Speaker speaker{*place, {}};
  if (const auto* communicator = std::get_if<ordering::NewCommunicator>(&message)) {
    PHX_RETURN_IF_ERROR(registry_.Add(speaker, *communicator).status());
    return Outputs{};
  }
  auto& report = std::get<ordering::Report>(message);
  PHX_RETURN_IF_ERROR(registry_.Check(speaker, report));
  if (!registry_.IsConcerned(speaker, report)) return Outputs{};
  if (auto* part = std::get_if<ordering::SnapshotPart>(&report.body);
      part != nullptr && part->round >= kFirstRound) {
    if (part->round == round_) answers_[part->snapshot.rank] = std::move(part->snapshot);
    return Outputs{};
  }
  return Step(ordering::NodeSaid{*place, std::move(report)});
}

JobOrdering::Outputs JobOrdering::AskRanks() {
  answers_.clear();
  ++round_;
  Outputs outputs;
  const std::string payload =
      ordering::Encode(ordering::Order{sequencer_.term(), ordering::AskSnapshot{round_}});
  for (const int node : registry_.nodes()) outputs.messages.push_back({node, payload});
  return outputs;
}

JobOrdering::Outputs JobOrdering::Step(const ordering::SequencerInput& input) {
  Outputs outputs;
  for (const ordering::SequencerOutput& output : sequencer_.Step(input)) {
    if (const auto* tell = std::get_if<ordering::TellNode>(&output)) {
      outputs.messages.push_back({registry_.nodes()[static_cast<size_t>(tell->node)],
                                  ordering::Encode(ForNode(tell->node, tell->order))});
      continue;
    }
    const auto& conclude = std::get<ordering::Conclude>(output);
    outputs.conclusions.push_back(conclude.explanation);
    ++conclusions_made_;
    conclusions_.push_back(conclude.explanation);
    if (conclusions_.size() > kConclusionsKept) conclusions_.pop_front();
  }
  return outputs;
}

// A node doesn't know the communicators that none of its ranks is in, and need not hear of them.
ordering::Order JobOrdering::ForNode(int place, const ordering::Order& order) {
  const auto* certify = std::get_if<ordering::Certify>(&order.body);
  if (certify == nullptr) return order;
  if (schedule_ != certify->schedule) {
    schedule_ = certify->schedule;
    parts_.clear();
    for (size_t i = 0; i < registry_.nodes().size(); ++i) {
      parts_.push_back(std::make_shared<ordering::Schedule>());
    }
    for (const ordering::Schedule::Entry& entry : schedule_->entries) {
      for (const int part : registry_.PlacesOf(entry.lane)) {
        parts_[static_cast<size_t>(part)]->entries.push_back(entry);
      }
    }
    for (const ordering::Schedule::Base& base : schedule_->bases) {
      for (const int part : registry_.PlacesOf(base.lane)) {
        parts_[static_cast<size_t>(part)]->bases.push_back(base);
      }
    }
  }
  return {order.term, ordering::Certify{parts_[static_cast<size_t>(place)]}};
}

}  // namespace phalanx::control
