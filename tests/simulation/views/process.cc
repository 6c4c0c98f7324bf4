// The processes of a node: they join, come into Run, work, join again, finish and leave.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent.h"

namespace phalanx::control::simulation {

Agent::Process* Agent::Living(uint64_t incarnation) {
  const auto found = processes_.find(incarnation);
  return alive_ && found != processes_.end() && found->second.alive ? &found->second : nullptr;
}

// Once it isn't stopped.
void Agent::Do(uint64_t incarnation, std::function<void(Process&)> what) {
  Process* const process = Living(incarnation);
  if (process == nullptr) return;
  if (!process->stopped) return what(*process);
  process->held.push_back([this, incarnation, what = std::move(what)] {
    if (Process* const living = Living(incarnation)) what(*living);
  });
}

void Agent::Act(uint64_t incarnation, Clock::duration delay, std::function<void(Process&)> what) {
  time_->After(delay, [this, incarnation, what = std::move(what)] { Do(incarnation, what); });
}

void Agent::SayToAgent(Process& process, Message message) {
  process.to_agent = std::max(process.to_agent, time_->now() + time_->Up(300));
  time_->At(process.to_agent, [this, incarnation = process.incarnation, message] {
    if (alive_) OnProcess(incarnation, message);
  });
}

void Agent::Tell(Process& process, Message message) {
  process.to_process = std::max(process.to_process, time_->now() + time_->Up(300));
  time_->At(process.to_process, [this, incarnation = process.incarnation, message] {
    Do(incarnation, [this, message](Process& living) { Hear(living, message); });
  });
}

void Agent::StartProcess(int rank, bool spare) {
  Process process;
  process.incarnation = wires_->NewIncarnation();
  process.rank = rank;
  process.spare = spare;
  const uint64_t incarnation = process.incarnation;
  processes_.emplace(incarnation, std::move(process));
  const int64_t most_us = time_->OneIn(10) ? 3'000'000 : 200'000;
  Act(incarnation, time_->Up(most_us), [this](Process& self) {
    message::Join join;
    join.member.rank = self.rank;
    join.member.incarnation = Incarnation{self.incarnation};
    join.member.pid = static_cast<int>(self.incarnation);
    join.world_size = plan_.world_size;
    join.settings = plan_.settings;
    join.spare = self.spare;
    SayToAgent(self, join);
  });
}

void Agent::Hear(Process& process, const Message& message) {
  if (const auto* view = std::get_if<message::View>(&message)) {
    process.view = view->epoch;
    if (process.in_run) return Work(process, view->epoch);
    const Clock::duration enters = process.spare ? Clock::duration(0) : time_->Up(50'000);
    Act(process.incarnation, enters, [this](Process& self) {
      if (self.in_run || self.leaving) return;
      self.in_run = true;
      SayToAgent(self, message::Recoverable{Incarnation{self.incarnation}});
      if (self.must_rejoin) return Rejoin(self);
      Work(self, self.view);
    });
  } else if (const auto* revoked = std::get_if<message::Revoked>(&message)) {
    process.view = Epoch{};
    if (!revoked->goes_on) {
      const uint64_t incarnation = process.incarnation;
      return Act(incarnation, time_->Up(100'000),
                 [this, incarnation](Process&) { Exit(incarnation); });
    }
    process.must_rejoin = true;
    if (process.in_run) Rejoin(process);
  } else if (std::holds_alternative<message::AllFinished>(message)) {
    Leave(process);
  } else if (std::holds_alternative<message::AllLeft>(message) ||
             std::holds_alternative<message::Refused>(message)) {
    const uint64_t incarnation = process.incarnation;
    Act(incarnation, time_->Up(50'000), [this, incarnation](Process&) { Exit(incarnation); });
  }
}

void Agent::Work(Process& process, Epoch view) {
  Act(process.incarnation, time_->Up(500'000), [this, view](Process& self) {
    if (self.view == view) SayToAgent(self, message::Finished{Incarnation{self.incarnation}});
  });
}

void Agent::Rejoin(Process& process) {
  Act(process.incarnation, time_->Up(20'000), [this](Process& self) {
    if (!self.must_rejoin || self.leaving) return;
    self.must_rejoin = false;
    message::Join join;
    join.member.rank = self.rank;
    join.member.incarnation = Incarnation{self.incarnation};
    join.world_size = plan_.world_size;
    join.settings = plan_.settings;
    SayToAgent(self, join);
  });
}

void Agent::Leave(Process& process) {
  if (process.leaving) return;
  process.leaving = true;
  Act(process.incarnation, time_->Up(100'000), [this](Process& self) {
    SayToAgent(self, message::Leave{Incarnation{self.incarnation}});
    const uint64_t incarnation = self.incarnation;
    Act(incarnation, time_->Up(300'000), [this, incarnation](Process&) { Exit(incarnation); });
  });
}

// However it ends: its agent hears it after all that it has said.
void Agent::Exit(uint64_t incarnation) {
  Process* const process = Living(incarnation);
  if (process == nullptr) return;
  process->alive = false;
  process->held.clear();
  process->to_agent = std::max(process->to_agent, time_->now() + time_->Up(3'000));
  time_->At(process->to_agent, [this, incarnation] {
    if (alive_) OnEnded(incarnation);
  });
}

void Agent::Kill(uint64_t incarnation) {
  const Process* const process = Living(incarnation);
  if (process == nullptr) return;
  if (time_->traces()) time_->Say(absl::StrCat("FAULT kill ", Name(*process)));
  Exit(incarnation);
}

void Agent::Stop(uint64_t incarnation, Clock::duration duration) {
  Process* const process = Living(incarnation);
  if (process == nullptr || process->stopped) return;
  if (time_->traces()) time_->Say(absl::StrCat("FAULT stop ", Name(*process)));
  process->stopped = true;
  process->stopped_until = time_->now() + duration;
  time_->After(duration, [this, incarnation] { Continue(incarnation); });
  time_->After(std::chrono::milliseconds(700), [this, incarnation] { Watch(incarnation); });
}

void Agent::Continue(uint64_t incarnation) {
  Process* const process = Living(incarnation);
  if (process == nullptr || !process->stopped) return;
  process->stopped = false;
  if (time_->traces()) time_->Say(absl::StrCat(Name(*process), " goes on"));
  if (std::exchange(process->said_silent, false)) {
    Send(message::MemberHeard{Incarnation{incarnation}, 700});
  }
  for (const auto& what : std::exchange(process->held, {})) what();
}

void Agent::Watch(uint64_t incarnation) {
  Process* const process = Living(incarnation);
  if (process == nullptr || !process->stopped || phase_ == Phase::kOver) return;
  if (connection_ != 0 && IsAwaited(*process)) {
    process->said_silent = true;
    Send(message::MemberSilent{Incarnation{incarnation}, "is stopped"});
  }
  time_->After(std::chrono::seconds(1), [this, incarnation] { Watch(incarnation); });
}

std::string Agent::Name(const Process& process) const {
  return absl::StrCat(process.incarnation, " (rank ", process.rank, ", node ", plan_.node, ")");
}

}  // namespace phalanx::control::simulation
