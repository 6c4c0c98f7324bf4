// A rank's part of checkpoints: copies its regions into its agent's memory and back.
#ifndef PHALANX_API_SAVER_H_
#define PHALANX_API_SAVER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "checkpoint_wire/codec.h"
#include "control_process/fd.h"
#include "first_state.h"
#include "helper_thread.h"
#include "mapping.h"
#include "phalanx/state.h"

namespace phalanx::api {

// Lives as long as the process takes part in the job; knows of one view at a time. Restore()
// and what saves on one thread at a time; the rest on any.
class Saver {
 public:
  struct Hooks {
    std::function<void(const checkpoint::Message&)> send;  // to the agent; never blocks
    // All ranks have this version, or their first state; on the thread that hears of it.
    std::function<void(int64_t version)> restored;
  };
  // `on_demand`: memory for copies is taken when the first is taken, and not before. `every`: of so
  // many steps one is saved.
  Saver(Hooks hooks, bool on_demand, int every)
      : hooks_(std::move(hooks)), on_demand_(on_demand), every_(every) {}

  void BeginView();
  // The calls that wait end with `reason`, and so do later ones, until the next view begins.
  void EndView(const absl::Status& reason);
  // From the agent, with its descriptors. INVALID_ARGUMENT: it makes no sense.
  absl::Status OnMessage(absl::string_view payload, std::vector<control::Fd> fds);

  // See View::Restore(), Checkpoint() and BeginCheckpoint(), after which
  // comes EndSave(), once: it waits for the copy.
  absl::StatusOr<int64_t> Restore(absl::Span<const StateRegion> regions, Deadline deadline);
  // Instead of Restore(), which may come in between: checks what it checks; keeps the regions as
  // they are, if nothing was kept yet; and says that they are those after `step`.
  absl::Status BeginRestore(absl::Span<const StateRegion> regions);
  void KeepFirst(absl::Span<const StateRegion> regions) { first_state_.Keep(regions); }
  void GoOnAfter(int64_t step);
  absl::Status Save(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  absl::Status BeginSave(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  absl::Status EndSave();

 private:
  void DescribeState(absl::Span<const StateRegion> regions);
  absl::Status OpenRooms(absl::Span<const StateRegion> regions, Deadline deadline);
  void TouchRooms();
  absl::Status MayBegin(absl::Span<const StateRegion> regions, int64_t step);
  // The same on all ranks, whatever has been saved or lost.
  bool IsDue(int64_t step) const { return (step + 1) % every_ == 0; }
  // Of the step that MayBegin() has allowed. May run on the helper thread.
  absl::Status TakeCopy(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  checkpoint::LoadResult Perform(const checkpoint::Load& load, const control::Fd& fd,
                                 absl::Span<const StateRegion> regions);
  // Until `ready`, which is asked with mutex_ held.
  absl::Status Wait(std::unique_lock<std::mutex>& lock, const char* what, Deadline deadline,
                    const std::function<bool()>& ready);

  const Hooks hooks_;
  const bool on_demand_;
  const int64_t every_;
  FirstState first_state_;             // of the calling thread, as all that has no other remark
  std::vector<Mapping> rooms_;         // where to save
  bool is_touched_ = false;            // or about to be
  bool has_state_ = false;             // Restore() has come to its end in this view
  int64_t last_step_ = -1;             // that was saved or skipped, or restored
  bool is_saving_ = false;             // between BeginSave() and EndSave()
  std::optional<absl::Status> saved_;  // of the helper thread until it is done

  std::mutex mutex_;  // covers what follows
  std::condition_variable changed_;
  std::optional<std::vector<control::Fd>> opened_;
  std::optional<checkpoint::Verdict> verdict_;
  std::optional<std::pair<checkpoint::Load, control::Fd>> load_;
  std::optional<checkpoint::VersionName> restored_;
  absl::Status end_;  // of the view

  HelperThread helper_;  // touches rooms and takes copies; ends before what it uses
};

}  // namespace phalanx::api

#endif  // PHALANX_API_SAVER_H_
