// The point-to-point face of a session.
#ifndef PHALANX_SHM_WIRE_H_
#define PHALANX_SHM_WIRE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "link.h"
#include "link_area.h"
#include "node.h"
#include "spi/link.h"

namespace phalanx::shm {

class ShmWire : public spi::Wire {
 public:
  // Takes its memory from the node's segment, before the segment is shown to anybody.
  static absl::StatusOr<std::unique_ptr<ShmWire>> Create(std::shared_ptr<Node> node);
  ~ShmWire() override;

  absl::string_view name() const override { return "shm"; }
  const std::string& address() const override { return address_; }
  void SetIdentity(const spi::Identity& identity) override;
  absl::StatusOr<std::unique_ptr<spi::Link>> Connect(const spi::PeerIdentity& peer,
                                                     const std::string& address) override;
  bool Progress() override;
  void Wait(Clock::duration timeout) override;
  void WakeUp() override;
  void Abort(const absl::Status& status) override;
  absl::Status Close(Deadline deadline) override;

 private:
  class LinkHandle;

  ShmWire(std::shared_ptr<Node> node, WireArea* area);
  absl::StatusOr<LinkArea*> Announce(const PeerSegment& peer);
  bool HasNews();
  void LookForExits();
  void Sleep(Clock::duration timeout);

  const std::shared_ptr<Node> node_;
  WireArea* const area_;
  std::string address_;

  std::mutex mutex_;
  // Guarded by mutex_.
  spi::Identity identity_;
  bool identified_ = false;
  std::vector<LinkState*> links_;
  uint32_t announced_ = 0;
  absl::Status aborted_;
  uint32_t progress_calls_ = 0;
  Clock::time_point looked_for_exits_at_;

  std::atomic<bool> wake_up_{false};
  std::atomic<int> idle_sleeps_{0};
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_WIRE_H_
