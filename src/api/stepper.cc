#include "stepper.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::api {
namespace {

constexpr int kSliceMs = 1000;
constexpr Clock::duration kLook = std::chrono::milliseconds(1);

// Of what the coordinator says; nothing else comes this way.
std::optional<checkpoint::StepMemberInput> InputOf(const checkpoint::Message& message) {
  using Input = std::optional<checkpoint::StepMemberInput>;
  return std::visit(
      [](const auto& value) -> Input {
        using Kind = std::decay_t<decltype(value)>;
        constexpr bool is_order = std::is_same_v<Kind, checkpoint::AskStanding> ||
                                  std::is_same_v<Kind, checkpoint::Resolve> ||
                                  std::is_same_v<Kind, checkpoint::CopyRegions> ||
                                  std::is_same_v<Kind, checkpoint::ServeRegions> ||
                                  std::is_same_v<Kind, checkpoint::ResumeSteps> ||
                                  std::is_same_v<Kind, checkpoint::ApplyStep> ||
                                  std::is_same_v<Kind, checkpoint::RollBackSteps>;
        if constexpr (is_order) {
          return value;
        } else {
          return std::nullopt;
        }
      },
      message);
}

}  // namespace

void Stepper::BeginView(uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  end_ = absl::OkStatus();
  follows_ = true;
}

void Stepper::EndView(const absl::Status& reason, bool follows) {
  const std::lock_guard lock(mutex_);
  if (end_.ok()) end_ = reason;
  follows_ = follows;
  changed_.notify_all();
}

void Stepper::NoneFollows() {
  const std::lock_guard lock(mutex_);
  follows_ = false;
  changed_.notify_all();
}

absl::Status Stepper::OnMessage(absl::string_view payload) {
  PHX_ASSIGN_OR_RETURN(const checkpoint::Message message, checkpoint::Decode(payload));
  std::optional<checkpoint::StepMemberInput> input = InputOf(message);
  if (!input.has_value()) {
    return absl::InvalidArgumentError("the coordinator said of steps what makes no sense");
  }
  const std::lock_guard lock(mutex_);
  inbox_.push_back(*std::move(input));
  Drain();
  return absl::OkStatus();
}

void Stepper::OnRestored(int64_t step) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(checkpoint::RegionsRestored{step});
  Drain();
}

// A step is applied before anything else is heard, and by the program's thread.
void Stepper::Drain() {
  while (!to_apply_.has_value() && !inbox_.empty()) {
    const checkpoint::StepMemberInput input = std::move(inbox_.front());
    inbox_.pop_front();
    Feed(input);
  }
  changed_.notify_all();
}

void Stepper::Feed(const checkpoint::StepMemberInput& input) {
  const checkpoint::Term before = member_.term();
  const std::vector<checkpoint::StepMemberOutput> outputs = member_.Step(input);
  if (member_.term() != before) {
    restores_ = false;
    copy_.reset();
    copy_begun_ = false;
    to_serve_.clear();
    served_.clear();
  }
  for (const checkpoint::StepMemberOutput& output : outputs) Perform(output);
}

void Stepper::Perform(const checkpoint::StepMemberOutput& output) {
  if (const auto* apply = std::get_if<checkpoint::ApplyNow>(&output)) {
    to_apply_ = apply->step;
  } else if (const auto* copy = std::get_if<checkpoint::StartCopy>(&output)) {
    // Once: it is served once. One that fails ends the rank's part in the view.
    if (!std::exchange(copy_begun_, true)) copy_ = *copy;
  } else if (const auto* serve = std::get_if<checkpoint::ServeCopy>(&output)) {
    if (served_.insert(serve->to).second) to_serve_.push_back(serve->to);
  } else if (std::holds_alternative<checkpoint::RestoreInstead>(output)) {
    restores_ = true;
  } else if (const auto* report = std::get_if<checkpoint::StepReport>(&output)) {
    Say(*report);
  } else if (const auto* stands = std::get_if<checkpoint::StepStands>(&output)) {
    Say(*stands);
  } else if (const auto* vote = std::get_if<checkpoint::Vote>(&output)) {
    Say(*vote);
  }
  // Whose step is void sees that it has no vote any more.
}

void Stepper::Say(const checkpoint::Message& message) {
  if (to_apply_.has_value()) {
    unsaid_.push_back(message);
  } else {
    hooks_.send(message);
  }
}

absl::StatusOr<Stepper::Todo> Stepper::AwaitTodo(Deadline deadline) {
  Lock lock(mutex_);
  while (true) {
    if (!end_.ok()) return end_;
    if (IsInView()) {
      if (std::exchange(restores_, false)) return Todo{Todo::Kind::kRestore, 0, -1, {}};
      if (copy_.has_value()) {
        const checkpoint::StartCopy copy = *std::exchange(copy_, std::nullopt);
        return Todo{Todo::Kind::kCopy, copy.from, copy.step, copy.term};
      }
      if (!to_serve_.empty()) {
        const int to = to_serve_.front();
        to_serve_.pop_front();
        return Todo{Todo::Kind::kServe, to, member_.committed(), member_.term()};
      }
      if (member_.running()) return Todo{Todo::Kind::kGoOn, 0, member_.committed(), {}};
    }
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError(
          "it wasn't decided in time from which step all ranks go on");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(deadline.LeftMs(Clock::now(), kSliceMs)));
  }
}

void Stepper::Copied(const Todo& copy, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(checkpoint::RegionsCopied{copy.term, copy.step, bytes});
  Drain();
}

absl::Status Stepper::CheckStep(int64_t step) const {
  if (!member_.running() || !IsInView()) {
    return absl::FailedPreconditionError(
        "Step needs Restore before it, in every view: call it first in the function that "
        "Session::Run is given");
  }
  if (step != member_.committed() + 1) {
    return absl::InvalidArgumentError(absl::StrCat("Step ", step, " after step ",
                                                   member_.committed(),
                                                   "; each step follows the one before it"));
  }
  return absl::OkStatus();
}

absl::Status Stepper::Step(int64_t step, const std::function<absl::Status()>& apply,
                           Deadline deadline, Clock::duration patience) {
  Lock lock(mutex_);
  if (!end_.ok()) return end_;
  PHX_RETURN_IF_ERROR(CheckStep(step));
  Feed(checkpoint::StepComplete{step});
  AwaitDecision(lock, deadline, patience);
  if (to_apply_.has_value()) return Apply(lock, apply);
  // The step's inputs are the caller's again, so nobody may count on them any more.
  if (member_.has_voted()) Feed(checkpoint::RegionsLost{});
  if (!end_.ok()) return end_;
  return absl::DeadlineExceededError(
      absl::StrCat("not all ranks came to the end of step ", step, " in time"));
}

// Until it is to be applied, or is void; or nobody decides any more.
void Stepper::AwaitDecision(Lock& lock, Deadline deadline, Clock::duration patience) {
  std::optional<Deadline> last;  // once the view is over
  while (!to_apply_.has_value() && member_.has_voted()) {
    if (!end_.ok() && !last.has_value()) last = Deadline::After(patience);
    if (last.has_value() && !follows_) return;
    if (last.value_or(deadline).Passed(Clock::now())) return;
    lock.unlock();
    const bool has_read = hooks_.receive(kLook);
    lock.lock();
    if (has_read || to_apply_.has_value() || !member_.has_voted()) continue;
    changed_.wait_for(lock, kLook);
  }
}

absl::Status Stepper::Apply(Lock& lock, const std::function<absl::Status()>& apply) {
  lock.unlock();
  const absl::Status applied = apply();
  lock.lock();
  to_apply_.reset();
  const std::vector<checkpoint::Message> unsaid = std::exchange(unsaid_, {});
  if (applied.ok()) {
    for (const checkpoint::Message& message : unsaid) hooks_.send(message);
  } else {
    Feed(checkpoint::RegionsLost{});
  }
  Drain();
  return applied.ok() ? end_ : applied;
}

}  // namespace phalanx::api
