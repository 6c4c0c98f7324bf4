// Who has been silent for too long. Pure: the caller owns the clock and the links.
//
// Peers are to be heard every now and then. One that isn't for `suspect_after` becomes a suspect,
// which is a reason to look closer, not a verdict.
//
// Only time counts in which the watcher itself ran, as its ticks show: if they come late, it was
// stopped or starved, what peers said meanwhile may lie unread, and they may have been stopped with
// it. So the delay doesn't count, and after a long one everybody has a whole period anew.
#ifndef PHALANX_MEMBERSHIP_SUSPICION_H_
#define PHALANX_MEMBERSHIP_SUSPICION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"

namespace phalanx::membership {

struct SuspicionSettings {
  Clock::duration suspect_after = std::chrono::milliseconds(700);
  Clock::duration tick_interval = std::chrono::milliseconds(100);  // that the caller means to keep
};

class Suspicion {
 public:
  using TimePoint = Clock::time_point;

  explicit Suspicion(SuspicionSettings settings) : settings_(settings) {}

  // Suspects stay suspects.
  void set_suspect_after(Clock::duration suspect_after) { settings_.suspect_after = suspect_after; }

  // `peer` counts as heard now, unless it is watched already.
  void Watch(uint64_t peer, TimePoint now);
  void Forget(uint64_t peer) { peers_.erase(peer); }
  // How long it was silent, if it was a suspect. Nothing for one that isn't watched.
  std::optional<Clock::duration> Hear(uint64_t peer, TimePoint now);
  // Returns those that have become suspects.
  std::vector<uint64_t> Tick(TimePoint now);

  bool IsSuspect(uint64_t peer) const;
  // All of them, in rising order.
  std::vector<uint64_t> Suspects() const;
  // As far as it counts; zero for one that isn't watched.
  Clock::duration SilentFor(uint64_t peer, TimePoint now) const;

 private:
  struct Peer {
    TimePoint heard_at;
    bool suspect = false;
  };

  void ForgiveOwnDelay(TimePoint now);

  SuspicionSettings settings_;
  std::map<uint64_t, Peer> peers_;
  std::optional<TimePoint> last_tick_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_SUSPICION_H_
