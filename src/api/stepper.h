// A rank's part of steps that are applied live: when the program's regions may change.
#ifndef PHALANX_API_STEPPER_H_
#define PHALANX_API_STEPPER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "checkpoint/step_member.h"
#include "checkpoint_wire/codec.h"

namespace phalanx::api {

// Lives as long as the process takes part in the job. Step() and the calls of a restore on the
// program's thread; the rest on any.
class Stepper {
 public:
  struct Hooks {
    // Hands a message to the agent; never blocks.
    std::function<void(const checkpoint::Message&)> send;
    // Takes in what has come, waiting so long at most; false at once if another thread does.
    std::function<bool(Clock::duration patience)> receive;
  };
  explicit Stepper(Hooks hooks) : hooks_(std::move(hooks)), member_(0, /*whole=*/false) {}

  void BeginView(uint64_t epoch);
  // What waits ends with `reason`; but a step that was voted for is decided first, if another view
  // `follows`.
  void EndView(const absl::Status& reason, bool follows);
  void NoneFollows();

  // Of the coordinator. INVALID_ARGUMENT: it makes no sense.
  absl::Status OnMessage(absl::string_view payload);
  // The regions are those after this step, on all ranks, from a checkpoint or the first state.
  void OnRestored(int64_t step);

  // What a rank that is in Restore is to do next; in a view, until it is to go on.
  struct Todo {
    enum class Kind {
      kRestore,  // a checkpoint, or the first state
      kCopy,     // from `rank`, then Copied()
      kServe,    // to `rank`
      kGoOn,     // after `step`
    };
    Kind kind = Kind::kGoOn;
    int rank = 0;
    int64_t step = -1;
    checkpoint::Term term;  // of kCopy
  };
  absl::StatusOr<Todo> AwaitTodo(Deadline deadline);
  void Copied(const Todo& copy, uint64_t bytes);

  // See View::Step(). `patience`: for the decision when the view is over.
  absl::Status Step(int64_t step, const std::function<absl::Status()>& apply, Deadline deadline,
                    Clock::duration patience);

 private:
  using Lock = std::unique_lock<std::mutex>;

  void Drain();
  void Feed(const checkpoint::StepMemberInput& input);
  void Perform(const checkpoint::StepMemberOutput& output);
  void Say(const checkpoint::Message& message);
  bool IsInView() const { return member_.term().epoch == epoch_; }
  absl::Status CheckStep(int64_t step) const;
  void AwaitDecision(Lock& lock, Deadline deadline, Clock::duration patience);
  absl::Status Apply(Lock& lock, const std::function<absl::Status()>& apply);

  const Hooks hooks_;
  std::mutex mutex_;  // covers what follows
  std::condition_variable changed_;
  checkpoint::StepMember member_;
  uint64_t epoch_ = 0;
  absl::Status end_;  // of the view
  bool follows_ = true;
  std::deque<checkpoint::StepMemberInput> inbox_;  // while a step is applied
  std::vector<checkpoint::Message> unsaid_;        // until it is
  std::optional<int64_t> to_apply_;
  bool restores_ = false;
  std::optional<checkpoint::StartCopy> copy_;
  bool copy_begun_ = false;  // in this term
  std::deque<int> to_serve_;
  std::set<int> served_;  // or to be served, in this term
};

}  // namespace phalanx::api

#endif  // PHALANX_API_STEPPER_H_
