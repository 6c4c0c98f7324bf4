#include "world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "world_parts.h"

namespace phalanx::ordering::simulation {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kTick = 2 * kMillisecond;
// Far beyond what any program of the simulation needs.
constexpr int64_t kEnd = 5'000 * kMillisecond;

}  // namespace

World::World(const Program& program, const Options& options)
    : program_(program), options_(options), roster_(program.MakeRoster()), random_(options.seed) {
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    QueueSettings settings;
    settings.rank = rank;
    settings.slots = program.slots;
    settings.report_ns = 30 * kMillisecond;
    settings.report_early_ns = 5 * kMillisecond;
    settings.stall_ns = 60 * kMillisecond;
    settings.run_ahead = options.run_ahead;
    members_.push_back(std::make_unique<Member>(settings, program.device_wait_holds));
    members_.back()->hosts.resize(program.ranks[static_cast<size_t>(rank)].size());
  }
  for (int node = 0; node < roster_.nodes(); ++node) {
    nodes_.push_back(std::make_unique<Node>(NodeSettings{node, options.adaptive}, &roster_));
  }
}

World::~World() = default;

Result World::Run() {
  StartSequencer(0);
  if (options_.suggestion.has_value()) FeedSequencer(Suggest{*options_.suggestion});
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    Member& member = *members_[static_cast<size_t>(rank)];
    for (size_t thread = 0; thread < member.hosts.size(); ++thread) {
      Feed(rank, HostGoesOn{static_cast<uint32_t>(thread)});
      At(Random(0, 100 * kMicrosecond), [this, rank, thread] { RunHost(rank, thread); });
    }
    At(Random(0, kTick), [this, rank] { TickRank(rank); });
  }
  for (int node = 0; node < roster_.nodes(); ++node) {
    At(Random(0, kTick), [this, node] { TickNode(node); });
  }
  for (int i = 0; i < options_.crashes; ++i) {
    At(Random(0, Chance(0.5) ? kMillisecond : 10 * kMillisecond), [this] { Crash(); });
  }
  while (!events_.empty() && !IsOver() && now_ns_ < kEnd) {
    Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    event.what();
  }
  result_.finished = IsFinished();
  result_.completed =
      result_.finished && std::all_of(members_.begin(), members_.end(),
                                      [](const auto& member) { return member->aborted.empty(); });
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    const Member& member = *members_[static_cast<size_t>(rank)];
    for (const uint64_t id : member.device.Incomplete()) {
      if (missed_.contains(member.ops.at(id).name)) result_.waits_for_absent = true;
      absl::StrAppend(&result_.waits, "  rank ", rank, ": ", NameOf(rank, id),
                      member.device.IsResident(id) ? " resident" : "", "\n");
    }
    if (member.device.overflows() > 0) Violate("a device was given more than its slots hold");
  }
  for (const auto& member : members_) result_.ended.push_back(member->completed);
  if (sequencer_ != nullptr) result_.fences += sequencer_->fences();
  CheckOrder();
  CheckAborts();
  return result_;
}

bool World::IsOver() const {
  if (!result_.violation.empty()) return true;
  if (result_.verdict.has_value() && !options_.goes_on &&
      result_.verdict->kind != Explanation::Kind::kRankBehind) {
    return true;
  }
  return IsFinished();
}

bool World::IsFinished() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->IsFinished(); });
}

void World::At(int64_t delay_ns, std::function<void()> what) {
  events_.push({now_ns_ + delay_ns, events_made_++, std::move(what)});
}

int64_t World::Random(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random_);
}

bool World::Chance(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

// In order, exactly once: what comes a second time is dropped by its number, as a shell does.
void World::Deliver(Link* link, int64_t mean_ns, const std::function<void()>& what) {
  int64_t delay = Random(1, 2 * mean_ns);
  if (Chance(0.02)) delay *= 50;
  link->last_ns = std::max(link->last_ns, now_ns_ + delay);
  const uint64_t number = ++link->sent;
  const int copies = Chance(0.05) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const int64_t later = copy * Random(0, kMillisecond);
    At(link->last_ns - now_ns_ + later, [link, number, what] {
      if (number <= link->received) return;
      link->received = number;
      what();
    });
  }
}

void World::Violate(const std::string& what) {
  if (result_.violation.empty()) result_.violation = what;
}

void World::Trace(const std::function<std::string()>& line) {
  if (!options_.trace) return;
  options_.trace(
      absl::StrCat(absl::Dec(now_ns_ / kMicrosecond, absl::kSpacePad8), " us  ", line()));
}

std::string World::NameOf(int rank, uint64_t id) const {
  const auto& ops = members_[static_cast<size_t>(rank)]->ops;
  const auto found = ops.find(id);
  if (found == ops.end()) return "?";
  return absl::StrCat(found->second.label, " [", ordering::Describe(found->second.name), "]");
}

// --- hosts
// ------------------------------------------------------------------------------------------

void World::RunHost(int rank, size_t thread) {
  Member& member = *members_[static_cast<size_t>(rank)];
  Host& host = member.hosts[thread];
  const Thread& code = program_.ranks[static_cast<size_t>(rank)][thread];
  if (host.waits || host.ended) return;
  if (host.at == code.size()) {
    host.ended = true;
    Feed(rank, HostEnds{static_cast<uint32_t>(thread)});
    return;
  }
  const Instruction& instruction = code[host.at];
  if (instruction.kind == Instruction::Kind::kStop) return;
  if (instruction.kind == Instruction::Kind::kIssue) {
    if (member.queue.MustWait(now_ns_)) {
      At(100 * kMicrosecond, [this, rank, thread] { RunHost(rank, thread); });
      return;
    }
    host.issued.emplace_back();
    bool beside = instruction.beside;
    for (const Call& call : instruction.calls) {
      IssueOne(rank, &host, call, instruction.stream, beside);
      beside = true;
    }
  } else {
    host.issued.emplace_back();
    if (BeginWait(rank, thread, instruction)) return;
  }
  ++host.at;
  int64_t pause = Random(0, 20 * kMicrosecond);
  if (Chance(options_.pauses)) pause = Random(0, 20 * kMillisecond);
  At(pause, [this, rank, thread] { RunHost(rank, thread); });
}

void World::IssueOne(int rank, Host* host, const Call& call, uint32_t stream, bool beside) {
  Member& member = *members_[static_cast<size_t>(rank)];
  const uint64_t id = ++member.last_id;
  const OpName name{call.lane, member.next[call.lane]++};
  member.ops[id] = {name, call.signature, call.label};
  member.ids[name] = id;
  host->issued.back().push_back(id);
  Trace([&] { return absl::StrCat("rank ", rank, " issues ", NameOf(rank, id)); });
  member.device.Issue(id, stream, beside);
  const uint32_t lane = member.queue.LaneOf(call.lane);
  int64_t position = CertifiedRun::kNotLaunched;
  if (!beside && options_.certified_path) {
    position = member.queue.TryLaunch(lane, HashOf(call.signature), stream, id);
  }
  if (position == CertifiedRun::kNotLaunched) {
    Feed(rank, ordering::Issue{id, lane, call.signature, stream, beside, call.label});
    return;
  }
  Trace([&] { return absl::StrCat("rank ", rank, " launches it at once"); });
  ++result_.certified_launches;
  member.positions[id] = position;
  member.device.Launch(id);
  Settle(rank);
}

// False if there is nothing to wait for.
bool World::BeginWait(int rank, size_t thread, const Instruction& instruction) {
  Member& member = *members_[static_cast<size_t>(rank)];
  Host& host = member.hosts[thread];
  host.device_wide = instruction.kind == Instruction::Kind::kDeviceWait;
  host.waits_for = host.device_wide ? member.device.Incomplete() : host.issued[instruction.target];
  const bool waits = std::any_of(host.waits_for.begin(), host.waits_for.end(),
                                 [&](uint64_t id) { return !member.device.IsComplete(id); });
  if (!waits) return false;
  host.waits = true;
  const bool holds = host.device_wide && program_.device_wait_holds;
  if (holds) member.device.Hold();
  Trace([&] { return absl::StrCat("rank ", rank, " thread ", thread, " waits"); });
  Feed(rank, HostWaits{static_cast<uint32_t>(thread), host.waits_for, host.device_wide, holds});
  return true;
}

void World::WakeHosts(int rank) {
  Member& member = *members_[static_cast<size_t>(rank)];
  for (size_t thread = 0; thread < member.hosts.size(); ++thread) {
    Host& host = member.hosts[thread];
    if (!host.waits) continue;
    const bool over = std::all_of(host.waits_for.begin(), host.waits_for.end(),
                                  [&](uint64_t id) { return member.device.IsComplete(id); });
    if (!over) continue;
    host.waits = false;
    ++host.at;
    if (host.device_wide && program_.device_wait_holds) member.device.Release();
    Feed(rank, HostGoesOn{static_cast<uint32_t>(thread)});
    At(Random(0, 20 * kMicrosecond), [this, rank, thread] { RunHost(rank, thread); });
  }
}

// --- cores
// ------------------------------------------------------------------------------------------

void World::Feed(int rank, const QueueInput& input) {
  Member& member = *members_[static_cast<size_t>(rank)];
  const int node = roster_.NodeOf(rank);
  for (const QueueOutput& output : member.queue.Step(input, now_ns_)) {
    if (const auto* launch = std::get_if<Launch>(&output)) {
      Trace([&] {
        return absl::StrCat("rank ", rank, " launches ", NameOf(rank, launch->id),
                            launch->by_ticket ? " by ticket" : " by schedule");
      });
      if (launch->by_ticket) {
        member.ticketed.push_back(member.ops.at(launch->id).name);
      } else {
        ++result_.certified_launches;
      }
      // Chained to its stream by an event, it couldn't be taken back.
      if (!launch->on_user_stream && !member.device.IsPresent(launch->id)) {
        Violate("launched beside its stream before that had reached it");
      }
      member.device.Launch(launch->id);
    } else if (const auto* up = std::get_if<ToNode>(&output)) {
      const Report report = up->report;
      Trace([&] { return absl::StrCat("rank ", rank, " says ", TextOf(report)); });
      Deliver(&member.up, 10 * kMicrosecond, [this, node, rank, report] {
        FeedNode(node, FromRank{rank, report});
      });
    } else if (const auto* failed = std::get_if<Failed>(&output)) {
      member.device.Complete(failed->id);
      member.aborted.insert(member.ops.at(failed->id).name);
      WakeHosts(rank);
    } else if (const auto* explained = std::get_if<Explained>(&output)) {
      const Explanation::Kind kind = explained->explanation->kind;
      if (kind == Explanation::Kind::kAbsentRank || kind == Explanation::Kind::kRankBehind) {
        for (const auto& line : explained->explanation->lines) missed_.insert(line.op);
      }
      if (!result_.verdict.has_value() || result_.verdict->kind == Explanation::Kind::kRankBehind) {
        result_.verdict = *explained->explanation;
      }
    }
  }
  Settle(rank);
}

void World::FeedNode(int index, const NodeInput& input) {
  Node& node = *nodes_[static_cast<size_t>(index)];
  for (const NodeOutput& output : node.aggregator.Step(input)) {
    if (const auto* down = std::get_if<ToRank>(&output)) {
      const ToRank order = *down;
      Trace([&] {
        return absl::StrCat("node ", index, " tells rank ", order.rank, " ", TextOf(order.order));
      });
      Deliver(&members_[static_cast<size_t>(order.rank)]->down, 10 * kMicrosecond,
              [this, order] { Feed(order.rank, FromNode{order.order}); });
    } else if (const auto* up = std::get_if<ToSequencer>(&output)) {
      const Report report = up->report;
      const uint64_t epoch = epoch_;
      Trace([&] { return absl::StrCat("node ", index, " says ", TextOf(report)); });
      Deliver(&node.up[epoch], 100 * kMicrosecond, [this, index, report, epoch] {
        if (epoch == epoch_) FeedSequencer(NodeSaid{index, report});
      });
    }
  }
}

void World::FeedSequencer(const SequencerInput& input) {
  if (sequencer_ == nullptr) return;
  const uint64_t epoch = epoch_;
  for (const SequencerOutput& output : sequencer_->Step(input)) {
    const auto* tell = std::get_if<TellNode>(&output);
    if (tell == nullptr) continue;
    const TellNode order = *tell;
    Trace([&] {
      return absl::StrCat("sequencer tells node ", order.node, " ", TextOf(order.order));
    });
    // What a dead sequencer had sent may still arrive.
    Deliver(&nodes_[static_cast<size_t>(order.node)]->down[epoch], 100 * kMicrosecond,
            [this, order] { FeedNode(order.node, FromSequencer{order.order}); });
  }
}

void World::StartSequencer(uint64_t epoch) {
  epoch_ = epoch;
  SequencerSettings settings;
  settings.epoch = epoch;
  settings.adaptive = options_.adaptive;
  settings.fewest_slots = program_.slots;
  settings.iterations = options_.iterations;
  sequencer_ = std::make_unique<Sequencer>(settings, &roster_);
  FeedSequencer(SequencerBegins{});
}

void World::Crash() {
  if (sequencer_ == nullptr) return;
  Trace([] { return std::string("the sequencer dies"); });
  result_.fences += sequencer_->fences();
  sequencer_ = nullptr;
  At(Random(0, 5 * kMillisecond), [this] { StartSequencer(epoch_ + 1); });
}

void World::TickRank(int rank) {
  Feed(rank, Tick{});
  At(kTick, [this, rank] { TickRank(rank); });
}

void World::TickNode(int node) {
  FeedNode(node, NodeTick{});
  At(kTick, [this, node] { TickNode(node); });
}

// --- devices
// ----------------------------------------------------------------------------------------

// Passes on what the device has done.
void World::Settle(int rank) {
  Member& member = *members_[static_cast<size_t>(rank)];
  for (const uint64_t id : member.device.TakeResident()) {
    // Unless it was aborted together with what stood before it.
    if (!member.device.IsComplete(id)) Arrive(member.ops.at(id).name, rank);
  }
  for (const uint64_t id : member.device.TakeReached()) {
    At(Random(0, kMicrosecond), [this, rank, id] {
      Member& at = *members_[static_cast<size_t>(rank)];
      if (at.device.IsComplete(id)) return;
      const auto position = at.positions.find(id);
      if (position != at.positions.end() && at.queue.ReachLaunched(position->second)) return;
      Feed(rank, Reached{id});
    });
  }
}

// The operation is resident on the rank.
void World::Arrive(const OpName& op, int rank) {
  const auto signature_of = [&](int member) -> const Signature& {
    const Member& at = *members_[static_cast<size_t>(member)];
    return at.ops.at(at.ids.at(op)).signature;
  };
  const Signature& signature = signature_of(rank);
  const auto [found, is_new] = meetings_.try_emplace(op);
  Meeting& meeting = found->second;
  if (is_new) {
    meeting.early = !Synchronizes(signature) && Chance(options_.early);
    meeting.duration_ns = Random(1 * kMicrosecond, 50 * kMicrosecond);
  }
  if (!is_new && signature_of(*meeting.there.begin()) != signature) {
    Violate("two different operations were paired");
  }
  meeting.there.insert(rank);
  for (const int member : meeting.there) {
    if (!NeedsNoMore(meeting, op, signature, member)) continue;
    if (!meeting.completing.insert(member).second) continue;
    const uint64_t id = members_[static_cast<size_t>(member)]->ids.at(op);
    At(meeting.duration_ns + Random(0, 5 * kMicrosecond),
       [this, member, id] { Complete(member, id); });
  }
}

// Whether the member can complete with those that are there.
bool World::NeedsNoMore(const Meeting& meeting, const OpName& op, const Signature& signature,
                        int member) const {
  if (meeting.there.size() == roster_.MembersOf(op.lane).size()) return true;
  if (!meeting.early) return false;
  if (signature.kind == OpKind::kMessage) return member == op.lane.source();
  if (signature.kind == OpKind::kBroadcast) return meeting.there.contains(signature.root);
  return signature.kind == OpKind::kReduce && member != signature.root;
}

void World::Complete(int rank, uint64_t id) {
  Member& member = *members_[static_cast<size_t>(rank)];
  if (member.device.IsComplete(id)) return;  // aborted: what others need more than this one
  Trace([&] { return absl::StrCat("rank ", rank, " completes ", NameOf(rank, id)); });
  const OpName& op = member.ops.at(id).name;
  if (meetings_.at(op).there.size() < roster_.MembersOf(op.lane).size()) ++result_.apart;
  member.completed.insert(op);
  member.device.Complete(id);
  const auto position = member.positions.find(id);
  if (position == member.positions.end() || !member.queue.CompleteLaunched(position->second)) {
    Feed(rank, Completed{id});
  }
  Settle(rank);
  WakeHosts(rank);
}

// Nothing is complete on one member and aborted on another, but what members complete apart.
void World::CheckAborts() {
  std::set<OpName> completed;
  for (const auto& member : members_)
    completed.insert(member->completed.begin(), member->completed.end());
  for (const auto& member : members_) {
    for (const OpName& op : member->aborted) {
      if (completed.count(op) > 0 && !meetings_.at(op).early)
        Violate("complete here, aborted there: " + ordering::Describe(op));
    }
  }
}

// There is one order that all devices' tickets follow. What some members have completed and nobody
// holds when a sequencer dies gets another place in it for the others.
void World::CheckOrder() {
  std::map<OpName, std::set<OpName>> later;
  std::map<OpName, int> earlier;
  for (const auto& member : members_) {
    const OpName* before = nullptr;
    for (const OpName& op : member->ticketed) {
      const auto meeting = meetings_.find(op);
      if (options_.crashes > 0 && meeting != meetings_.end() && meeting->second.early) continue;
      earlier.emplace(op, 0);
      if (before != nullptr && later[*before].insert(op).second) ++earlier[op];
      before = &op;
    }
  }
  std::vector<OpName> open;
  for (const auto& [op, count] : earlier) {
    if (count == 0) open.push_back(op);
  }
  size_t placed = 0;
  while (!open.empty()) {
    const OpName op = open.back();
    open.pop_back();
    ++placed;
    for (const OpName& next : later[op]) {
      if (--earlier[next] == 0) open.push_back(next);
    }
  }
  if (placed != earlier.size()) Violate("devices launched tickets in contradicting orders");
}

}  // namespace phalanx::ordering::simulation
