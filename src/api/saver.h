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
  // `send` hands a message to the agent; never blocks.
  explicit Saver(std::function<void(const checkpoint::Message&)> send) : send_(std::move(send)) {}

  void BeginView();
  // The calls that wait end with `reason`, and so do later ones, until the next view begins.
  void EndView(const absl::Status& reason);
  // From the agent, with its descriptors. INVALID_ARGUMENT: it makes no sense.
  absl::Status OnMessage(absl::string_view payload, std::vector<control::Fd> fds);

  // See View::Restore(), Checkpoint() and BeginCheckpoint(), after which
  // comes EndSave(), once: it waits for the copy.
  absl::StatusOr<int64_t> Restore(absl::Span<const StateRegion> regions, Deadline deadline);
  absl::Status Save(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  absl::Status BeginSave(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  absl::Status EndSave();

 private:
  void DescribeState(absl::Span<const StateRegion> regions);
  absl::Status OpenRooms(absl::Span<const StateRegion> regions, Deadline deadline);
  void TouchRooms();
  absl::Status MayBegin(absl::Span<const StateRegion> regions, int64_t step);
  // Of the step that MayBegin() has allowed. May run on the helper thread.
  absl::Status TakeCopy(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline);
  checkpoint::LoadResult Perform(const checkpoint::Load& load, const control::Fd& fd,
                                 absl::Span<const StateRegion> regions);
  // Until `ready`, which is asked with mutex_ held.
  absl::Status Wait(std::unique_lock<std::mutex>& lock, const char* what, Deadline deadline,
                    const std::function<bool()>& ready);

  const std::function<void(const checkpoint::Message&)> send_;
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
