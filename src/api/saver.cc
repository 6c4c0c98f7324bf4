#include "saver.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"

namespace phalanx::api {

void Saver::BeginView() {
  has_state_ = false;
  const std::lock_guard lock(mutex_);
  opened_.reset();
  verdict_.reset();
  load_.reset();
  restored_.reset();
  end_ = absl::OkStatus();
}

void Saver::EndView(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  if (end_.ok()) end_ = reason;
  changed_.notify_all();
}

absl::Status Saver::OnMessage(absl::string_view payload, std::vector<control::Fd> fds) {
  PHX_ASSIGN_OR_RETURN(const checkpoint::Message message, checkpoint::Decode(payload));
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (const auto* rooms = std::get_if<checkpoint::Rooms>(&message)) {
    if (rooms->count == fds.size()) {
      opened_ = std::move(fds);
      return absl::OkStatus();
    }
  } else if (const auto* verdict = std::get_if<checkpoint::Verdict>(&message)) {
    verdict_ = *verdict;
    return absl::OkStatus();
  } else if (const auto* load = std::get_if<checkpoint::Load>(&message)) {
    if (load->is_initial || fds.size() == 1) {
      load_.emplace(*load, load->is_initial ? control::Fd() : std::move(fds.front()));
      return absl::OkStatus();
    }
  } else if (const auto* restored = std::get_if<checkpoint::Restored>(&message)) {
    restored_ = restored->name;
    hooks_.restored(restored->name.version);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the agent said of checkpoints what makes no sense");
}

absl::Status Saver::Wait(std::unique_lock<std::mutex>& lock, const char* what, Deadline deadline,
                         const std::function<bool()>& ready) {
  constexpr int kSliceMs = 1000;
  while (!ready()) {
    if (!end_.ok()) return end_;
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError(absl::StrCat(what, " took too long"));
    }
    changed_.wait_for(lock, std::chrono::milliseconds(deadline.LeftMs(Clock::now(), kSliceMs)));
  }
  return absl::OkStatus();
}

absl::Status Saver::BeginRestore(absl::Span<const StateRegion> regions) {
  if (has_state_) {
    return absl::FailedPreconditionError("Restore was called before in this view");
  }
  return first_state_.Describe(regions);
}

void Saver::GoOnAfter(int64_t step) {
  has_state_ = true;
  last_step_ = step;
}

absl::StatusOr<int64_t> Saver::Restore(absl::Span<const StateRegion> regions, Deadline deadline) {
  PHX_RETURN_IF_ERROR(BeginRestore(regions));
  if (rooms_.empty()) PHX_RETURN_IF_ERROR(OpenRooms(regions, deadline));
  hooks_.send(checkpoint::AwaitsState{});
  std::unique_lock lock(mutex_);
  while (true) {
    PHX_RETURN_IF_ERROR(Wait(lock, "restoring the state", deadline,
                             [this] { return load_.has_value() || restored_.has_value(); }));
    if (restored_.has_value()) break;
    const auto [load, fd] = *std::exchange(load_, std::nullopt);
    lock.unlock();
    hooks_.send(checkpoint::Loaded{load.round, Perform(load, fd, regions)});
    lock.lock();
  }
  if (!on_demand_) GoOnAfter(restored_->version);
  if (*restored_ != checkpoint::kInitialVersion) first_state_.Forget();
  if (!on_demand_) TouchRooms();
  return restored_->version + 1;
}

// A rank that takes a lost one's place is waited for by all others, so this goes on beside its work
// until the first time that it saves.
void Saver::TouchRooms() {
  if (std::exchange(is_touched_, true)) return;
  helper_.Add([this] {
    for (const Mapping& room : rooms_) room.Touch();
  });
}

// In messages that the control plane lets through.
void Saver::DescribeState(absl::Span<const StateRegion> regions) {
  constexpr size_t kMostRegions = 4096;
  constexpr size_t kMostNameBytes = size_t{256} << 10;
  checkpoint::DescribeState state;
  size_t name_bytes = 0;
  for (const StateRegion& region : regions) {
    state.regions.push_back({region.name.substr(0, checkpoint::kMaxNameBytes), region.bytes});
    name_bytes += state.regions.back().name.size();
    if (state.regions.size() < kMostRegions && name_bytes < kMostNameBytes) continue;
    hooks_.send(std::exchange(state, {}));
    name_bytes = 0;
  }
  hooks_.send(state);
}

absl::Status Saver::OpenRooms(absl::Span<const StateRegion> regions, Deadline deadline) {
  DescribeState(regions);
  hooks_.send(checkpoint::OpenRooms{first_state_.bytes()});
  std::unique_lock lock(mutex_);
  PHX_RETURN_IF_ERROR(Wait(lock, "the agent's answer about memory for checkpoints", deadline,
                           [this] { return opened_.has_value(); }));
  const std::vector<control::Fd> fds = *std::exchange(opened_, std::nullopt);
  lock.unlock();
  if (fds.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this node's agent has no memory for copies of the ", first_state_.bytes(),
                     " bytes of this rank's state; its log says why"));
  }
  std::vector<Mapping> rooms;
  for (const control::Fd& fd : fds) {
    PHX_ASSIGN_OR_RETURN(Mapping room,
                         Mapping::Map(fd.get(), first_state_.bytes(), Mapping::Use::kWrite));
    rooms.push_back(std::move(room));
  }
  rooms_ = std::move(rooms);
  return absl::OkStatus();
}

checkpoint::LoadResult Saver::Perform(const checkpoint::Load& load, const control::Fd& fd,
                                      absl::Span<const StateRegion> regions) {
  if (load.is_initial) {
    first_state_.KeepOrRestore(regions);
    return checkpoint::LoadResult::kLoaded;
  }
  if (load.bytes != first_state_.bytes()) return checkpoint::LoadResult::kNoAnswer;
  const absl::StatusOr<Mapping> saved = Mapping::Map(fd.get(), load.bytes, Mapping::Use::kRead);
  if (!saved.ok()) return checkpoint::LoadResult::kNoAnswer;
  checkpoint::StreamingDigest digest;
  const std::byte* from = saved->data();
  for (const StateRegion& region : regions) {
    if (region.bytes == 0) continue;
    std::memcpy(region.data, from, region.bytes);
    // Of what was read, not of what may lie there by now.
    digest.Add(region.data, region.bytes);
    from += region.bytes;
  }
  return digest.Value() == load.digest ? checkpoint::LoadResult::kLoaded
                                       : checkpoint::LoadResult::kCorrupt;
}

absl::Status Saver::MayBegin(absl::Span<const StateRegion> regions, int64_t step) {
  if (!has_state_) {
    return absl::FailedPreconditionError(
        "Checkpoint needs Restore before it, in every view: call it first in the function that "
        "Session::Run is given");
  }
  if (is_saving_) {
    return absl::FailedPreconditionError(absl::StrCat("the checkpoint of step ", last_step_,
                                                      " is still being taken; wait for it first"));
  }
  PHX_RETURN_IF_ERROR(first_state_.Compare(regions));
  if (step <= last_step_) {
    return absl::InvalidArgumentError(
        absl::StrCat("Checkpoint of step ", step, " after step ", last_step_, "; steps rise"));
  }
  last_step_ = step;
  return absl::OkStatus();
}

absl::Status Saver::TakeCopy(absl::Span<const StateRegion> regions, int64_t step,
                             Deadline deadline) {
  if (rooms_.empty()) PHX_RETURN_IF_ERROR(OpenRooms(regions, deadline));
  {
    const std::lock_guard lock(mutex_);
    verdict_.reset();
  }
  hooks_.send(checkpoint::Reached{step});
  std::unique_lock lock(mutex_);
  PHX_RETURN_IF_ERROR(Wait(lock, "the decision on a checkpoint", deadline,
                           [&] { return verdict_.has_value() && verdict_->version == step; }));
  const int index = verdict_->room;
  lock.unlock();
  if (index < 0) return absl::OkStatus();
  if (static_cast<size_t>(index) >= rooms_.size()) {
    return absl::InternalError("the agent named a room that it never gave");
  }
  std::byte* to = rooms_[static_cast<size_t>(index)].data();
  for (const StateRegion& region : regions) {
    if (region.bytes == 0) continue;
    std::memcpy(to, region.data, region.bytes);
    to += region.bytes;
  }
  hooks_.send(checkpoint::Taken{step});
  return absl::OkStatus();
}

absl::Status Saver::Save(absl::Span<const StateRegion> regions, int64_t step, Deadline deadline) {
  PHX_RETURN_IF_ERROR(MayBegin(regions, step));
  if (!IsDue(step)) return absl::OkStatus();
  helper_.AwaitAll();  // it may still touch the rooms
  return TakeCopy(regions, step, deadline);
}

absl::Status Saver::BeginSave(absl::Span<const StateRegion> regions, int64_t step,
                              Deadline deadline) {
  PHX_RETURN_IF_ERROR(MayBegin(regions, step));
  is_saving_ = true;
  if (!IsDue(step)) {
    saved_ = absl::OkStatus();
    return absl::OkStatus();
  }
  helper_.Add([this, regions = std::vector<StateRegion>(regions.begin(), regions.end()), step,
               deadline] { saved_ = TakeCopy(regions, step, deadline); });
  return absl::OkStatus();
}

absl::Status Saver::EndSave() {
  helper_.AwaitAll();
  is_saving_ = false;
  return *std::exchange(saved_, std::nullopt);
}

}  // namespace phalanx::api
