#include "spi/transfer.h"

#include "base/check.h"

namespace phalanx::spi {

void Transfer::Reset() {
  PHX_CHECK(state_.load(std::memory_order_relaxed) != State::kInFlight);
  status_ = absl::OkStatus();
  state_.store(State::kIdle, std::memory_order_relaxed);
}

void Transfer::Begin() {
  PHX_CHECK(idle());
  state_.store(State::kInFlight, std::memory_order_relaxed);
}

void Transfer::Finish(absl::Status status) {
  PHX_CHECK(state_.load(std::memory_order_relaxed) == State::kInFlight);
  status_ = std::move(status);
  TransferListener* const listener = listener_;  // the owner may free the transfer once it is done
  state_.store(State::kDone, std::memory_order_seq_cst);
  if (listener != nullptr) listener->Signal();
}

}  // namespace phalanx::spi
