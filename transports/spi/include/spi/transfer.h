// The completion record of one message.
#ifndef PHALANX_SPI_TRANSFER_H_
#define PHALANX_SPI_TRANSFER_H_

#include <atomic>
#include <utility>

#include "absl/status/status.h"

namespace phalanx::spi {

// Whoever waits for transfers of a wire that another thread may progress. Signal() is called after
// a transfer of that waiter is done; it must be cheap and must not block. Of a wire
// it may call WakeUp() alone, since the caller may hold the wire's lock.
class TransferListener {
 public:
  virtual ~TransferListener() = default;
  virtual void Signal() = 0;
};

// Owned by the caller of Link::Send or Link::Receive, who keeps it and the message's buffer alive
// until done(). A transfer always ends: delivered, failed, or aborted. Reusable after Reset().
class Transfer {
 public:
  // `listener` may be null and outlives the transfer.
  explicit Transfer(TransferListener* listener = nullptr) : listener_(listener) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Caller's side. status() may be read once done() is true: OK means, for a send, that the buffer
  // may be reused (not that the peer has the bytes), and for a receive, that all bytes are there.
  bool done() const { return state_.load(std::memory_order_acquire) == State::kDone; }
  bool idle() const { return state_.load(std::memory_order_relaxed) == State::kIdle; }
  const absl::Status& status() const { return status_; }
  // Forgets a finished transfer; must not be called while one is in flight.
  void Reset();

  // Transport's side: Begin() when the message is handed over, Finish() exactly once after that,
  // from any thread. The transport doesn't touch the transfer or the buffer after Finish().
  void Begin();
  void Finish(absl::Status status);

 private:
  enum class State : int { kIdle, kInFlight, kDone };

  std::atomic<State> state_{State::kIdle};
  absl::Status status_;
  TransferListener* listener_;
};

}  // namespace phalanx::spi

#endif  // PHALANX_SPI_TRANSFER_H_
