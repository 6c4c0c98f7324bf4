#include "agent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "said.h"

namespace phalanx::control::simulation {

Agent::Agent(NodeTime* time, Wires* wires, AgentPlan plan)
    : time_(time),
      wires_(wires),
      plan_(std::move(plan)),
      spares_to_come_(plan_.spares),
      restarts_left_(plan_.restarts) {}

bool Agent::IsAwaited(const Process& process) {
  return process.state != State::kStarting && process.state != State::kNone;
}

void Agent::Start() {
  time_->After(plan_.starts_after, [this] {
    if (!alive_) return;
    hello_ = Hello();
    wires_->Connect(plan_.node);
    if (plan_.is_watched) SayThatItIsThere();
    for (const int rank : plan_.ranks) StartProcess(rank, false);
    for (int i = 0; i < plan_.spares; ++i) StartProcess(-1, true);
  });
}

message::AgentHello Agent::Hello() const {
  message::AgentHello hello;
  hello.job = "job";
  hello.node = plan_.node;
  hello.node_name = absl::StrCat("n", plan_.node);
  hello.machine = "one";
  hello.spares = spares_to_come_;
  hello.restarts = restarts_left_;
  if (plan_.is_watched) hello.peers = {"peers", 1};
  hello.returns = returns_;
  for (const auto& [incarnation, process] : processes_) {
    if (process.join.has_value() && process.join->spare && IsAwaited(process)) ++hello.spares;
  }
  return hello;
}

void Agent::Send(const Message& message) {
  if (connection_ != 0) {
    wires_->SendToCoordinator(connection_, message);
  } else {
    queued_.push_back(message);
  }
}

void Agent::SayAlways(const Message& message) {
  said_.push_back(message);
  Send(message);
}

void Agent::Opened(uint64_t connection) {
  connection_ = connection;
  came_ = true;
  wires_->SendToCoordinator(connection, hello_);
  for (const Message& message : std::exchange(queued_, {})) {
    wires_->SendToCoordinator(connection, message);
  }
}

void Agent::Closed() {
  connection_ = 0;
  if (phase_ == Phase::kOver) return;
  returns_ = true;
  for (const Message& message : said_) queued_.push_back(message);
  if (phase_ == Phase::kRunning && !all_finished_) {
    RevokeView(absl::UnavailableError("the coordinator is gone"));
  }
  for (const auto& [incarnation, process] : processes_) {
    if (process.join.has_value() && IsAwaited(process)) queued_.push_back(*process.join);
  }
  hello_ = Hello();
  wires_->Connect(plan_.node);
}

void Agent::NoSuccessor() {
  if (phase_ == Phase::kOver) return;
  OnRevoked({epoch_, absl::UnavailableError("no other coordinator came"), false});
}

// The view is over for us, as the coordinator is: its members may join again.
void Agent::RevokeView(const absl::Status& reason) {
  phase_ = Phase::kJoining;
  for (auto& [incarnation, process] : processes_) {
    if (process.state != State::kMember) continue;
    if (process.recoverable) {
      process.state = State::kReturning;
      Tell(process, message::Revoked{epoch_, reason, true});
    } else {
      Tell(process, message::Revoked{epoch_, reason, false});
      ReportLost(process, "was outside of Run");
    }
  }
}

void Agent::Receive(const Message& message) {
  if (const auto* view = std::get_if<message::View>(&message)) {
    OnView(*view);
  } else if (const auto* revoked = std::get_if<message::Revoked>(&message)) {
    OnRevoked(*revoked);
  } else if (const auto* refused = std::get_if<message::Refused>(&message)) {
    OnRefused(*refused);
  } else if (std::holds_alternative<message::AllLeft>(message)) {
    if (phase_ == Phase::kOver) return;
    EndJob(absl::OkStatus());
    for (auto& [incarnation, process] : processes_) Tell(process, message);
  } else if (const auto* accepted = std::get_if<message::SpareAccepted>(&message)) {
    const auto found = processes_.find(accepted->incarnation.value);
    if (found == processes_.end() || found->second.state != State::kJoining) return;
    found->second.state = State::kSpare;
  } else if (std::holds_alternative<message::AllFinished>(message)) {
    all_finished_ = true;
    for (auto& [incarnation, process] : processes_) {
      if (IsAwaited(process)) Tell(process, message);
    }
  } else if (const auto* evict = std::get_if<message::Evict>(&message)) {
    OnEvict(*evict);
  } else if (const auto* start = std::get_if<message::StartSpare>(&message)) {
    OnStartSpare(*start);
  } else if (const auto* ask = std::get_if<message::AskWitness>(&message)) {
    OnAskWitness(*ask);
  }
}

void Agent::OnView(const message::View& view) {
  if (view.epoch.value <= epoch_.value) {
    wires_->Violate(absl::StrCat("node ", plan_.node, " hears of epoch ", view.epoch.value,
                                 " after ", epoch_.value));
  }
  if (phase_ != Phase::kJoining) return;
  phase_ = Phase::kRunning;
  epoch_ = view.epoch;
  all_finished_ = false;
  ForgetWhatIsKnown(view, &said_);
  for (const message::Member& member : view.members) {
    const auto found = processes_.find(member.incarnation.value);
    if (member.node != plan_.node || found == processes_.end()) continue;
    Process& process = found->second;
    if (process.state != State::kJoining && process.state != State::kSpare) continue;
    process.state = State::kMember;
    process.rank = member.rank;
    process.recoverable = view.epoch != Epoch{1} || process.join->spare;
    process.join.reset();
    Tell(process, view);
  }
}

void Agent::OnRevoked(const message::Revoked& revoked) {
  if (phase_ == Phase::kOver) return;
  if (revoked.goes_on) {
    if (phase_ != Phase::kRunning) return;
    phase_ = Phase::kJoining;
    for (auto& [incarnation, process] : processes_) {
      if (process.state != State::kMember) continue;
      process.state = State::kReturning;
      Tell(process, revoked);
    }
    return;
  }
  for (auto& [incarnation, process] : processes_) {
    if (process.state == State::kJoining) process.state = State::kNone;
    Tell(process, revoked);
  }
  EndJob(revoked.reason);
}

void Agent::OnRefused(const message::Refused& refused) {
  if (refused.incarnation == Incarnation{0}) {
    if (refused.evicted) {
      for (auto& [incarnation, process] : processes_) Exit(incarnation);
    }
    return OnRevoked({epoch_, refused.status, false});
  }
  const auto found = processes_.find(refused.incarnation.value);
  if (found == processes_.end() || found->second.state != State::kJoining) return;
  found->second.state = State::kNone;
  Tell(found->second, refused);
}

// Nothing that it says counts from here on.
void Agent::OnEvict(const message::Evict& evict) {
  const auto found = processes_.find(evict.incarnation.value);
  if (found == processes_.end() || !IsAwaited(found->second)) return;
  found->second.evicted = true;
  if (plan_.evicts_early) ReportLost(found->second, "was killed");
  const uint64_t incarnation = evict.incarnation.value;
  time_->After(time_->Up(5'000), [this, incarnation] { Exit(incarnation); });
}

void Agent::OnAskWitness(const message::AskWitness& ask) {
  const uint64_t connection = connection_;
  wires_->Probe(plan_.node, ask.suspect, std::chrono::milliseconds(ask.wait_ms),
                [this, connection, suspect = ask.suspect, round = ask.round](bool answered) {
                  if (!alive_ || connection_ != connection) return;
                  Send(message::WitnessSays{suspect, round, answered});
                });
}

void Agent::SayThatItIsThere() {
  constexpr Clock::duration kInterval = std::chrono::milliseconds(100);
  if (!alive_ || phase_ == Phase::kOver) return;
  if (connection_ != 0) Send(message::Heartbeat{});
  time_->After(kInterval, [this] { SayThatItIsThere(); });
}

void Agent::OnStartSpare(const message::StartSpare& start) {
  if (phase_ == Phase::kOver || restarts_left_ == 0) return;
  --restarts_left_;
  ++spares_to_come_;
  for (Message& said : said_) {
    auto* const lost = std::get_if<message::MemberLost>(&said);
    if (lost != nullptr && lost->incarnation == start.lost) lost->restarted = true;
  }
  StartProcess(-1, true);
}

void Agent::OnProcess(uint64_t incarnation, const Message& message) {
  Process& process = processes_.at(incarnation);
  if (process.evicted) return;
  if (const auto* join = std::get_if<message::Join>(&message)) {
    if (phase_ == Phase::kOver) {
      process.state = State::kNone;
      return Tell(process, message::Refused{Incarnation{incarnation}, over_});
    }
    if (process.state != State::kStarting && process.state != State::kReturning) return;
    if (join->spare && process.state == State::kStarting && spares_to_come_ > 0) --spares_to_come_;
    process.state = State::kJoining;
    process.join = *join;
    Send(*join);
  } else if (std::holds_alternative<message::Recoverable>(message)) {
    if (process.state != State::kMember) return;
    process.recoverable = true;
    Send(message);
  } else if (std::holds_alternative<message::Finished>(message)) {
    if (process.state == State::kMember) Send(message);
  } else if (std::holds_alternative<message::Leave>(message)) {
    if (!IsAwaited(process)) return;
    process.state = State::kNone;
    SayAlways(message);
  }
}

void Agent::OnEnded(uint64_t incarnation) {
  Process& process = processes_.at(incarnation);
  if (process.state == State::kStarting) {
    process.state = State::kNone;
    if (!process.spare || spares_to_come_ == 0 || phase_ == Phase::kOver) return;
    --spares_to_come_;
    return Send(message::SpareGone{"was killed"});
  }
  ReportLost(process, "was killed");
}

void Agent::ReportLost(Process& process, const std::string& how) {
  if (IsAwaited(process)) {
    SayAlways(message::MemberLost{Incarnation{process.incarnation}, how, false});
  }
  process.state = State::kNone;
}

// Its launcher ends the rest after a failure.
void Agent::EndJob(const absl::Status& status) {
  phase_ = Phase::kOver;
  over_ = status;
  if (time_->traces()) {
    time_->Say(absl::StrCat("node ", plan_.node, ": the job is over: ", status.ToString()));
  }
  time_->After(std::chrono::seconds(1), [this] {
    if (!alive_) return;
    for (auto& [incarnation, process] : processes_) Exit(incarnation);
  });
  time_->After(std::chrono::milliseconds(1'500), [this] {
    if (alive_ && connection_ != 0) wires_->HangUp(connection_);
  });
}

void Agent::Die() {
  alive_ = false;
  connection_ = 0;
  for (auto& [incarnation, process] : processes_) process.alive = false;
}

}  // namespace phalanx::control::simulation
