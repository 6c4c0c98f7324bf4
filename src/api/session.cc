#include "phalanx/session.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "communicator_state.h"
#include "control_bootstrap/bootstrap.h"
#include "placement.h"
#include "session_state.h"

namespace phalanx {

Session::Session(std::shared_ptr<api::SessionState> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Session>> Session::Join(const Options& options) {
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<api::SessionState> state, api::SessionState::Join(options));
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<engine::Channel> world, state->OpenWorld());
  auto session = std::unique_ptr<Session>(new Session(state));
  View& view = session->view_;
  view.epoch_ = state->view().epoch.value;
  view.local_size_ = static_cast<int>(state->node_ranks().size());
  view.local_rank_ = static_cast<int>(
      std::find(state->node_ranks().begin(), state->node_ranks().end(), state->rank()) -
      state->node_ranks().begin());
  api::StartApart(view.local_rank_, view.local_size_);
  view.world_ = std::make_unique<Communicator>(
      std::make_shared<api::CommunicatorState>(state, std::move(world)));
  return session;
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
