#include "phalanx/session.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "communicator_state.h"
#include "control_bootstrap/bootstrap.h"
#include "healing.h"
#include "placement.h"
#include "session_state.h"

namespace phalanx {
namespace {

// An operation may fail because of a loss before we are told of it.
constexpr auto kWordOfLoss = std::chrono::seconds(2);
constexpr auto kLastWord = std::chrono::seconds(1);

bool MayComeOfLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<int64_t> View::Restore(absl::Span<const StateRegion> regions) {
  if (state_ == nullptr) return absl::FailedPreconditionError("a spare restores inside of Run");
  const Deadline deadline = Deadline::After(state_->options().operation_timeout);
  if (!state_->options().live) return state_->saver().Restore(regions, deadline);
  return api::RestoreLive(state_->saver(), state_->stepper(), world(), regions, deadline);
}

absl::Status View::Step(int64_t step, const std::function<absl::Status()>& apply) {
  if (state_ == nullptr) return absl::FailedPreconditionError("a spare takes steps inside of Run");
  const Options& options = state_->options();
  if (!options.live) {
    return absl::FailedPreconditionError("Step needs Options::live (PHALANX_LIVE=1) on all ranks");
  }
  state_->faults().AtStep(rank(), step, state_->client());
  return state_->stepper().Step(step, apply, Deadline::After(options.operation_timeout),
                                options.join_timeout);
}

absl::Status View::Checkpoint(absl::Span<const StateRegion> regions, int64_t step) {
  if (state_ == nullptr) return absl::FailedPreconditionError("a spare saves inside of Run");
  state_->faults().AtStep(rank(), step, state_->client());
  return state_->saver().Save(regions, step, Deadline::After(state_->options().operation_timeout));
}

CheckpointCopy View::BeginCheckpoint(absl::Span<const StateRegion> regions, int64_t step) {
  if (state_ == nullptr) {
    return CheckpointCopy(absl::FailedPreconditionError("a spare saves inside of Run"));
  }
  state_->faults().AtStep(rank(), step, state_->client());
  absl::Status begun = state_->saver().BeginSave(
      regions, step, Deadline::After(state_->options().operation_timeout));
  return begun.ok() ? CheckpointCopy(state_) : CheckpointCopy(std::move(begun));
}

Session::Session(std::shared_ptr<api::SessionState> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Session>> Session::Join(const Options& options) {
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<api::SessionState> state, api::SessionState::Join(options));
  auto session = std::unique_ptr<Session>(new Session(std::move(state)));
  if (!options.spare) {
    PHX_RETURN_IF_ERROR(session->OpenView());
    api::StartApart(session->view_.local_rank_, session->view_.local_size_);
  }
  return session;
}

absl::Status Session::OpenView() {
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<engine::Channel> world, state_->OpenWorld());
  view_.state_ = state_;
  view_.epoch_ = state_->view().epoch.value;
  const std::vector<int>& ranks = state_->node_ranks();
  view_.local_size_ = static_cast<int>(ranks.size());
  view_.local_rank_ =
      static_cast<int>(std::find(ranks.begin(), ranks.end(), state_->rank()) - ranks.begin());
  view_.world_ = std::make_unique<Communicator>(
      std::make_shared<api::CommunicatorState>(state_, std::move(world)));
  return absl::OkStatus();
}

absl::Status Session::EnterView() {
  PHX_RETURN_IF_ERROR(state_->AwaitPlace());
  return OpenView();
}

absl::Status Session::RunView(const std::function<absl::Status(View& view)>& body) {
  control::Client& client = state_->client();
  client.SayRecoverable();
  absl::Status result = body(view_);
  if (result.ok()) {
    result = client.Finish(Deadline::After(state_->options().operation_timeout));
  } else if (MayComeOfLoss(result)) {
    client.AwaitRevocation(Deadline::After(kWordOfLoss));
  }
  return result;
}

absl::Status Session::Run(const std::function<absl::Status(View& view)>& body) {
  while (true) {
    absl::Status result = state_->has_place() ? absl::OkStatus() : EnterView();
    if (absl::IsCancelled(result)) {
      // All have finished. If this rank had too, and the word of it was lost on its way here, the
      // others wait for it to leave; how they end is no concern of its own.
      if (state_->had_place()) state_->Close(kLastWord).IgnoreError();
      return absl::OkStatus();
    }
    if (result.ok()) {
      result = RunView(body);
    } else {
      // A view can't be entered when one of its members was lost since it began.
      state_->client().AwaitRevocation(Deadline::After(kWordOfLoss));
    }
    if (result.ok() || !state_->client().goes_on()) return result;
    view_.world_.reset();
    PHX_ASSIGN_OR_RETURN(state_, api::SessionState::After(*state_));
  }
}

absl::StatusOr<std::string> Session::CreateUniqueId(const Options& options) {
  control::CreateOptions create;
  create.bind = options.bind_address;
  create.join_timeout = options.join_timeout;
  PHX_ASSIGN_OR_RETURN(control::CreatedJob job, control::CreateUniqueId(create));
  PHX_ASSIGN_OR_RETURN(std::string text, job.id.ToString());
  // Open until this process ends: the coordinator may give up when its creator has gone and nobody
  // came.
  job.lifeline.Release();
  return text;
}

Session::~Session() { state_->Shutdown(); }

View& Session::view() { return view_; }

absl::StatusOr<Buffer> Session::Allocate(size_t bytes) {
  PHX_ASSIGN_OR_RETURN(void* const memory, state_->domain().Allocate(bytes));
  return Buffer(state_, memory, bytes);
}

absl::StatusOr<std::unique_ptr<Stream>> Session::CreateStream() {
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<device::Stream> stream, state_->device().CreateStream());
  return std::make_unique<Stream>(std::move(stream));
}

absl::Status Session::Synchronize(std::chrono::nanoseconds timeout) {
  return state_->Synchronize(Deadline::After(timeout));
}

absl::Status Session::Close(std::chrono::milliseconds timeout) { return state_->Close(timeout); }

}  // namespace phalanx
