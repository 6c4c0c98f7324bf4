#include "ordering_wire/registry.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::ordering {
namespace {

std::vector<int> SortedOnce(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<int> PlacesByRank(const std::vector<int>& nodes, const std::vector<int>& node_of_rank) {
  std::vector<int> places;
  places.reserve(node_of_rank.size());
  for (const int node : node_of_rank) {
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), node);
    places.push_back(static_cast<int>(found - nodes.begin()));
  }
  return places;
}

bool Holds(const std::vector<int>& sorted, int value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

std::string NameOf(const Speaker& speaker) {
  return speaker.rank.has_value() ? absl::StrCat("rank ", *speaker.rank) : "the node";
}

std::string NameOf(const Lane& lane) {
  std::string name = absl::StrCat("communicator ", lane.communicator.value);
  if (lane.kind == Lane::Kind::kPair) {
    absl::StrAppend(&name, ", messages from rank ", lane.source(), " to rank ", lane.destination());
  }
  return name;
}

}  // namespace

Registry::Registry(const std::vector<int>& node_of_rank)
    : nodes_(SortedOnce(node_of_rank)), roster_(PlacesByRank(nodes_, node_of_rank)) {
  std::vector<int> all(node_of_rank.size());
  std::iota(all.begin(), all.end(), 0);
  Insert({kWorldCommunicator, all}, all);
}

std::optional<int> Registry::PlaceOf(int node) const {
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  if (found == nodes_.end() || *found != node) return std::nullopt;
  return static_cast<int>(found - nodes_.begin());
}

void Registry::Insert(const NewCommunicator& communicator, std::vector<int> sorted) {
  Group group;
  group.members = communicator.members;
  for (const int rank : sorted) group.places.push_back(roster_.NodeOf(rank));
  group.places = SortedOnce(std::move(group.places));
  group.ranks = std::move(sorted);
  groups_[communicator.id.value] = std::move(group);
  roster_.Add(communicator.id, Ranks(communicator.members.begin(), communicator.members.end()));
}

absl::StatusOr<bool> Registry::Add(const Speaker& speaker, const NewCommunicator& communicator) {
  const std::string name = absl::StrCat("communicator ", communicator.id.value);
  std::vector<int> sorted = SortedOnce(communicator.members);
  if (sorted.empty() || sorted.size() != communicator.members.size() || sorted.front() < 0 ||
      sorted.back() >= roster_.ranks()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no members, one twice, or one outside of the job"));
  }
  const bool takes_part = speaker.rank.has_value()
                              ? Holds(sorted, *speaker.rank)
                              : std::any_of(sorted.begin(), sorted.end(), [&](int rank) {
                                  return roster_.NodeOf(rank) == speaker.node;
                                });
  if (!takes_part) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(speaker), " has no part in ", name));
  }
  const auto known = groups_.find(communicator.id.value);
  if (known == groups_.end()) {
    Insert(communicator, std::move(sorted));
    return true;
  }
  if (known->second.members != communicator.members) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is known with other members"));
  }
  return false;
}

absl::Status Registry::CheckPart(const Speaker& speaker, const Lane& lane) const {
  const auto group = groups_.find(lane.communicator.value);
  if (group == groups_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("communicator ", lane.communicator.value, " was never announced"));
  }
  const Group& known = group->second;
  bool takes_part = false;
  if (lane.kind != Lane::Kind::kPair) {
    takes_part = speaker.rank.has_value() ? Holds(known.ranks, *speaker.rank)
                                          : Holds(known.places, speaker.node);
  } else if (lane.source() != lane.destination() && Holds(known.ranks, lane.source()) &&
             Holds(known.ranks, lane.destination())) {
    takes_part = speaker.rank.has_value()
                     ? *speaker.rank == lane.source() || *speaker.rank == lane.destination()
                     : roster_.NodeOf(lane.source()) == speaker.node ||
                           roster_.NodeOf(lane.destination()) == speaker.node;
  }
  if (takes_part) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(speaker), " has no part in ", NameOf(lane)));
}

absl::Status Registry::CheckVoice(const Speaker& speaker, int rank) const {
  const bool may = speaker.rank.has_value()
                       ? rank == *speaker.rank
                       : rank < roster_.ranks() && roster_.NodeOf(rank) == speaker.node;
  if (may) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(speaker), " does not speak for rank ", rank));
}

// One overload a report.
class Registry::ReportCheck {
 public:
  ReportCheck(const Registry& registry, const Speaker& speaker)
      : registry_(registry), speaker_(speaker) {}

  absl::Status operator()(const Present& present) const {
    PHX_RETURN_IF_ERROR(registry_.CheckVoice(speaker_, present.rank));
    return Part(present.op);
  }
  absl::Status operator()(const Done& done) const { return Part(done.op); }
  absl::Status operator()(const Diverged& diverged) const { return Part(diverged.op); }
  absl::Status operator()(const Clear& /*clear*/) const { return absl::OkStatus(); }
  absl::Status operator()(const Held& held) const {
    for (const Ticket& ticket : held.tickets) PHX_RETURN_IF_ERROR(Part(ticket.op));
    return absl::OkStatus();
  }
  absl::Status operator()(const LocalTickets& tickets) const {
    PHX_RETURN_IF_ERROR(NodesOnly());
    for (const Schedule::Entry& entry : tickets.entries) {
      PHX_RETURN_IF_ERROR(registry_.CheckPart(speaker_, entry.lane));
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const Disagreement& disagreement) const {
    PHX_RETURN_IF_ERROR(NodesOnly());
    PHX_RETURN_IF_ERROR(registry_.CheckVoice(speaker_, disagreement.left.rank));
    PHX_RETURN_IF_ERROR(registry_.CheckVoice(speaker_, disagreement.right.rank));
    return Part(disagreement.op);
  }
  absl::Status operator()(const Stalled& stalled) const {
    return registry_.CheckVoice(speaker_, stalled.rank);
  }
  absl::Status operator()(const Passed& passed) const {
    PHX_RETURN_IF_ERROR(registry_.CheckVoice(speaker_, passed.rank));
    for (const Passed::OfLane& lane : passed.lanes) {
      PHX_RETURN_IF_ERROR(registry_.CheckPart(speaker_, lane.lane));
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const SnapshotPart& part) const {
    const RankSnapshot& snapshot = part.snapshot;
    PHX_RETURN_IF_ERROR(registry_.CheckVoice(speaker_, snapshot.rank));
    // All that a rank waits for is its own, whoever carries the message.
    const Speaker owner{speaker_.node, snapshot.rank};
    for (const OpView& view : snapshot.ops) {
      PHX_RETURN_IF_ERROR(registry_.CheckPart(owner, view.name.lane));
    }
    for (const ThreadView& thread : snapshot.threads) {
      for (const OpName& op : thread.waits_for) {
        PHX_RETURN_IF_ERROR(registry_.CheckPart(owner, op.lane));
      }
    }
    for (const RankSnapshot::Issued& issued : snapshot.issued) {
      PHX_RETURN_IF_ERROR(registry_.CheckPart(owner, issued.lane));
    }
    return absl::OkStatus();
  }
  // A verdict is told to all ranks, and by each to the next sequencer; see IsConcerned().
  absl::Status operator()(const Refused& /*refused*/) const { return absl::OkStatus(); }

 private:
  absl::Status Part(const OpName& op) const { return registry_.CheckPart(speaker_, op.lane); }
  absl::Status NodesOnly() const {
    if (!speaker_.rank.has_value()) return absl::OkStatus();
    return absl::InvalidArgumentError("ranks don't send this report");
  }

  const Registry& registry_;
  const Speaker speaker_;
};

// One overload an order.
class Registry::OrderCheck {
 public:
  OrderCheck(const Registry& registry, int place) : registry_(registry), node_{place, {}} {}

  absl::Status operator()(const Ticket& ticket) const { return Part(ticket.op.lane); }
  absl::Status operator()(const Certify& certify) const {
    for (const Schedule::Entry& entry : certify.schedule->entries) {
      PHX_RETURN_IF_ERROR(Part(entry.lane));
    }
    for (const Schedule::Base& base : certify.schedule->bases) PHX_RETURN_IF_ERROR(Part(base.lane));
    return absl::OkStatus();
  }
  absl::Status operator()(const Fence& /*fence*/) const { return absl::OkStatus(); }
  absl::Status operator()(const Question& /*question*/) const { return absl::OkStatus(); }
  absl::Status operator()(const Resume& resume) const {
    for (const Ticket& ticket : resume.tickets) PHX_RETURN_IF_ERROR(Part(ticket.op.lane));
    return absl::OkStatus();
  }
  absl::Status operator()(const AskSnapshot& /*ask*/) const { return absl::OkStatus(); }
  absl::Status operator()(const Verdict& /*verdict*/) const { return absl::OkStatus(); }

 private:
  absl::Status Part(const Lane& lane) const { return registry_.CheckPart(node_, lane); }

  const Registry& registry_;
  const Speaker node_;
};

absl::Status Registry::Check(const Speaker& speaker, const Report& report) const {
  return std::visit(ReportCheck(*this, speaker), report.body);
}

bool Registry::IsConcerned(const Speaker& speaker, const Report& report) const {
  const auto* refused = std::get_if<Refused>(&report.body);
  if (refused == nullptr) return true;
  const std::vector<OpName>& aborted = refused->explanation->aborted;
  return std::any_of(aborted.begin(), aborted.end(),
                     [&](const OpName& op) { return CheckPart(speaker, op.lane).ok(); });
}

absl::Status Registry::Check(int place, const Order& order) const {
  return std::visit(OrderCheck(*this, place), order.body);
}

}  // namespace phalanx::ordering
