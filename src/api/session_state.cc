#include "session_state.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/slot_gate.h"
#include "ordering_wire/codec.h"

namespace phalanx::api {
namespace {

// Where a member's prepared part of the world's group travels, beside the wires' addresses.
constexpr char kWorldGroup[] = "world_group";
// How long a session that ends in disorder waits for its operations to let go of their buffers.
constexpr auto kShutdownTimeout = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kCloseTimeout = std::chrono::seconds(30);
// For what a view that has ended still has to say to those who are there.
constexpr auto kFarewell = std::chrono::milliseconds(100);

Incarnation RandomIncarnation() {
  std::random_device random;
  return Incarnation{(uint64_t{random()} << 32) | random()};
}

control::OrderingMode OrderingModeOf(const Options& options) {
  if (options.ordering == "off") return control::OrderingMode::kOff;
  return options.ordering == "strict" ? control::OrderingMode::kStrict
                                      : control::OrderingMode::kAdaptive;
}

control::JobSettings SettingsOf(const Options& options) {
  control::JobSettings settings;
  settings.ordering = OrderingModeOf(options);
  settings.device_slots = options.device_slots;
  settings.stall_timeout_ms = static_cast<uint32_t>(options.stall_timeout.count());
  settings.stall_action =
      options.stall_action == "warn" ? control::StallAction::kWarn : control::StallAction::kAbort;
  settings.fusion_threshold = options.fusion_threshold;
  settings.suspect_after_ms = static_cast<uint32_t>(options.suspect_after.count());
  settings.replicas = options.replicas;
  settings.live = options.live;
  settings.on_loss = control::LossPolicy::Parse(options.on_loss).value_or(control::LossPolicy());
  settings.checkpoint_every = options.checkpoint_every;
  return settings;
}

LogSeverity LeastSeverity(const std::string& name) {
  if (name == "info") return LogSeverity::kInfo;
  return name == "error" ? LogSeverity::kError : LogSeverity::kWarning;
}

}  // namespace

// What lives as long as the participant.
void SessionState::MakeParts(Participant* participant) {
  participant->stepper = std::make_unique<Stepper>(Stepper::Hooks{
      .send =
          [participant](const checkpoint::Message& message) {
            participant->client->SendSteps(checkpoint::Encode(message));
          },
      .receive = [participant](
                     Clock::duration patience) { return participant->client->Receive(patience); }});
  participant->saver = std::make_unique<Saver>(
      Saver::Hooks{.send =
                       [participant](const checkpoint::Message& message) {
                         participant->client->SendCheckpoint(checkpoint::Encode(message));
                       },
                   .restored = [participant](
                                   int64_t version) { participant->stepper->OnRestored(version); }},
      participant->options.live, participant->options.checkpoint_every);
}

SessionState::SessionState(std::shared_ptr<Participant> participant)
    : participant_(std::move(participant)) {}

SessionState::~SessionState() {
  if (ordered_gate_ != nullptr) ordered_gate_->Disconnect();
  if (participant_->client != nullptr) participant_->client->Detach(this);
}

absl::StatusOr<std::shared_ptr<SessionState>> SessionState::Join(const Options& options) {
  PHX_RETURN_IF_ERROR(options.Validate());
  const std::string label = options.spare       ? "spare"
                            : options.rank >= 0 ? absl::StrCat("rank ", options.rank)
                                                : "";
  auto participant = std::make_shared<Participant>(
      Participant{options, Logger::ToStderr(label, LeastSeverity(options.log)), RandomIncarnation(),
                  device::OpenHostDevice(), FoundAgent{}, nullptr, nullptr, nullptr});
  MakeParts(participant.get());
  auto state = std::shared_ptr<SessionState>(new SessionState(std::move(participant)));
  PHX_RETURN_IF_ERROR(state->Connect(Deadline::After(options.join_timeout)));
  return state;
}

absl::StatusOr<std::shared_ptr<SessionState>> SessionState::After(SessionState& last) {
  if (!last.Retire()) {
    return absl::DeadlineExceededError(
        absl::StrCat("operations of rank ", last.rank(), " don't end although its view is over"));
  }
  auto state = std::shared_ptr<SessionState>(new SessionState(last.participant_));
  PHX_ASSIGN_OR_RETURN(state->return_, state->Prepare());
  return state;
}

// What the others need to reach this process in the view to come.
absl::StatusOr<control::JoinRequest> SessionState::Prepare() {
  const bool one_node = options().local_world_size == options().world_size;
  PHX_ASSIGN_OR_RETURN(transports_,
                       Transports::Open(options(), participant_->incarnation, one_node, logger()));
  control::JoinRequest request;
  request.rank = options().rank;
  request.world_size = options().world_size;
  request.incarnation = participant_->incarnation;
  request.addresses = transports_->Addresses();
  request.segment_fd = domain().segment_fd();
  request.settings = SettingsOf(options());
  if (transports_->shares_memory()) {
    PHX_ASSIGN_OR_RETURN(request.addresses[kWorldGroup],
                         domain().PrepareGroup(options().world_size));
  }
  return request;
}

absl::Status SessionState::Connect(Deadline deadline) {
  PHX_ASSIGN_OR_RETURN(const control::JoinRequest request, Prepare());
  PHX_ASSIGN_OR_RETURN(participant_->agent, FindAgent(options(), deadline));
  PHX_ASSIGN_OR_RETURN(participant_->client,
                       control::Client::Connect(participant_->agent.socket, logger(), deadline));
  client().SetSteps([participant = participant_.get()](absl::string_view payload) {
    const absl::Status status = participant->stepper->OnMessage(payload);
    if (!status.ok()) participant->logger.Error(std::string(status.message()));
  });
  if (options().spare) return client().JoinAsSpare(request, deadline);
  // Only when somebody is late enough for a person to ask.
  const Deadline soon = Deadline::After(std::chrono::seconds(1));
  const auto progress = [&](const std::string& line) {
    if (soon.Passed(Clock::now())) logger().Warning(line);
  };
  PHX_ASSIGN_OR_RETURN(control::ViewDescription view, client().Join(request, progress, deadline));
  return Enter(std::move(view));
}

absl::Status SessionState::AwaitPlace() {
  PHX_ASSIGN_OR_RETURN(control::ViewDescription view,
                       return_.has_value()
                           ? client().Return(*return_, Deadline::After(options().join_timeout))
                           : client().AwaitPlace(Deadline::Never()));
  return Enter(std::move(view));
}

absl::Status SessionState::Enter(control::ViewDescription view) {
  view_ = std::move(view);
  for (const control::Member& member : view_.members) {
    if (member.incarnation == participant_->incarnation) rank_ = member.rank;
  }
  for (const control::Member& member : view_.members) {
    if (member.node == view_.members[static_cast<size_t>(rank_)].node) {
      node_ranks_.push_back(member.rank);
    }
  }
  PHX_ASSIGN_OR_RETURN(std::vector<faults::Fault> faults, faults::ParseFaults(options().faults));
  faults_ = FaultInjector(std::move(faults), view_.performed_faults);
  return BuildEngine();
}

absl::Status SessionState::BuildEngine() {
  engine::EngineConfig config;
  PHX_ASSIGN_OR_RETURN(config.routes, transports_->Connect(view_, rank_, client().segment_fds()));
  config.wires = transports_->wires();
  config.device = &device();
  MakeGate();
  config.gate = gate_.get();
  config.oversubscribed = Oversubscribed(node_ranks_);
  engine_ = std::make_unique<engine::Engine>(std::move(config));
  open_.store(true, std::memory_order_release);
  saver().BeginView();
  stepper().BeginView(view_.epoch.value);
  client().Start(this);
  return absl::OkStatus();
}

// Where a device has room for everything, an operation can start when its stream reaches it; only
// "strict" compares it with its peers' before.
void SessionState::MakeGate() {
  const int slots = options().device_slots;
  if (options().ordering == "off") {
    if (slots > 0) gate_ = std::make_unique<launch::SlotGate>(slots);
    return;
  }
  if (!SettingsOf(options()).TracksOperations()) return;
  launch::OrderedGate::Options gate;
  gate.queue.rank = rank_;
  gate.queue.slots = slots > 0 ? slots : control::kMaxDeviceSlots;
  gate.device_wait_holds = options().device_wait_holds;
  gate.queue.stall_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(options().stall_timeout).count();
  gate.logger = logger();
  gate.send = [this](const ordering::Report& report) {
    client().SendOrdering(ordering::Encode(ordering::Uplink(report)));
  };
  gate.receive = [this](std::chrono::nanoseconds patience) { return client().Receive(patience); };
  gate.abort = [this](const absl::Status& status) { engine_->Abort(status); };
  auto ordered = std::make_unique<launch::OrderedGate>(std::move(gate));
  ordered_gate_ = ordered.get();
  gate_ = std::move(ordered);
}

bool SessionState::SharesMemory(const std::vector<int>& ranks) const {
  if (!transports_->shares_memory()) return false;
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return view_.members[static_cast<size_t>(rank)].node ==
           view_.members[static_cast<size_t>(ranks.front())].node;
  });
}

bool SessionState::Oversubscribed(const std::vector<int>& ranks) const {
  std::map<int, int> members;
  for (const int rank : ranks) ++members[view_.members[static_cast<size_t>(rank)].node];
  return std::any_of(members.begin(), members.end(), [&](const auto& node_members) {
    return node_members.second > view_.node_cores[static_cast<size_t>(node_members.first)];
  });
}

absl::StatusOr<std::shared_ptr<engine::Channel>> SessionState::OpenChannel(
    CommunicatorId id, std::vector<int> ranks, const std::vector<std::string>& prepared) {
  engine::ChannelConfig config;
  config.id = id;
  config.group.size = static_cast<int>(ranks.size());
  config.group.rank =
      static_cast<int>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  config.group.shares_memory = SharesMemory(ranks);
  // Other communicators of the same node compete for its cores, so all of the view's ranks count.
  std::vector<int> all;
  for (const control::Member& member : view_.members) all.push_back(member.rank);
  config.group.oversubscribed = Oversubscribed(all);
  if (config.group.shares_memory) {
    PHX_ASSIGN_OR_RETURN(config.transport,
                         domain().OpenGroup(id, ranks, prepared, config.group.oversubscribed));
  }
  if (ordered_gate_ != nullptr) {
    client().SendOrdering(ordering::Encode(ordering::Uplink(ordering::NewCommunicator{id, ranks})));
  }
  config.ranks = std::move(ranks);
  return engine_->OpenChannel(std::move(config));
}

absl::StatusOr<std::shared_ptr<engine::Channel>> SessionState::OpenWorld() {
  std::vector<int> ranks;
  std::vector<std::string> prepared;
  for (const control::Member& member : view_.members) {
    ranks.push_back(member.rank);
    const auto group = member.addresses.find(kWorldGroup);
    prepared.push_back(group == member.addresses.end() ? "" : group->second);
  }
  return OpenChannel(kWorldCommunicator, std::move(ranks), prepared);
}

void SessionState::OnOrdering(absl::string_view payload) {
  if (ordered_gate_ == nullptr) return;
  const absl::StatusOr<ordering::Order> order = ordering::DecodeDownlink(payload);
  if (order.ok()) {
    ordered_gate_->OnOrder(*order);
  } else {
    logger().Error(absl::StrCat("the agent sent what is no order: ", order.status().message()));
  }
}

void SessionState::OnCheckpoint(absl::string_view payload, std::vector<control::Fd> fds) {
  const absl::Status status = saver().OnMessage(payload, std::move(fds));
  if (!status.ok()) logger().Error(std::string(status.message()));
}

void SessionState::OnRevoked(const absl::Status& reason, bool goes_on) {
  engine_->Abort(reason);
  saver().EndView(reason);
  stepper().EndView(reason, goes_on);
}

void SessionState::OnNoneFollows() { stepper().NoneFollows(); }

void SessionState::OnAgentLost() {
  stepper().NoneFollows();
  if (!options().supervised) return;
  // A node is up with its agent or it is down: nobody is left to end this process later.
  logger().Error("the agent that started this process is gone; ending with it");
  ::kill(::getpid(), SIGKILL);
}

absl::Status SessionState::Synchronize(Deadline deadline) {
  if (gate_ != nullptr) gate_->HostWaitsForDevice();
  absl::Status status = device().Synchronize(deadline);
  if (gate_ != nullptr) gate_->HostGoesOn();
  if (status.code() != absl::StatusCode::kDeadlineExceeded) return status;
  const std::string report = gate_ == nullptr ? "" : gate_->Report();
  return absl::DeadlineExceededError(
      absl::StrCat("the streams of rank ", rank_, " haven't ended in time",
                   report.empty() ? "" : absl::StrCat(" (", report, ")")));
}

bool SessionState::Retire() {
  const bool was_open = open_.exchange(false, std::memory_order_acq_rel);
  if (!was_open) return true;
  if (ordered_gate_ != nullptr) ordered_gate_->Disconnect();
  const Deadline deadline = Deadline::After(kShutdownTimeout);
  if (!fused_.AwaitNone(deadline) || !engine_->Drain(deadline).ok()) return false;
  // The lost member answers nothing.
  const absl::Status ignored = transports_->Close(Deadline::After(kFarewell));
  return true;
}

absl::Status SessionState::Close(std::chrono::milliseconds timeout) {
  if (!has_place() && participant_->client != nullptr) return LeaveUnused(Deadline::After(timeout));
  if (!open()) return absl::OkStatus();
  if (const int64_t pending = engine_->pending() + fused_.value(); pending > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank_, " closes its session with ", pending,
        " operations in flight; wait for them first, or destroy the session to abort them"));
  }
  open_.store(false, std::memory_order_release);
  const Deadline deadline = Deadline::After(timeout);
  if (ordered_gate_ != nullptr) ordered_gate_->HostsEnd();
  absl::Status status = client().Leave(deadline);
  status.Update(transports_->Close(deadline));
  return status;
}

// A spare that never had a place.
absl::Status SessionState::LeaveUnused(Deadline deadline) {
  const absl::Status status = client().Leave(deadline);
  participant_->client.reset();
  return status;
}

void SessionState::Shutdown() {
  if (!has_place()) {
    participant_->client.reset();
    return;
  }
  if (!open()) return;
  if (engine_->pending() + fused_.value() > 0) {
    engine_->Abort(absl::AbortedError(
        absl::StrCat("the session of rank ", rank_, " was destroyed with operations in flight")));
    const Deadline deadline = Deadline::After(kShutdownTimeout);
    const bool none_fused = fused_.AwaitNone(deadline);
    absl::Status drained = engine_->Drain(deadline);
    if (!none_fused) {
      drained.Update(absl::DeadlineExceededError("keyed operations are still in flight"));
    }
    if (!drained.ok()) logger().Error(std::string(drained.message()));
    // The others can't complete what we gave up: to them this member is lost.
    open_.store(false, std::memory_order_release);
    if (ordered_gate_ != nullptr) ordered_gate_->Disconnect();
    participant_->client.reset();
    return;
  }
  const absl::Status closed = Close(std::min(kCloseTimeout, options().operation_timeout));
  if (!closed.ok()) logger().Warning(std::string(closed.message()));
}

}  // namespace phalanx::api
