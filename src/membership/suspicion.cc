#include "membership/suspicion.h"

#include <algorithm>

namespace phalanx::membership {

void Suspicion::Watch(uint64_t peer, TimePoint now) {
  peers_.emplace(peer, Peer{now});
  if (!last_tick_.has_value()) last_tick_ = now;
}

std::optional<Clock::duration> Suspicion::Hear(uint64_t peer, TimePoint now) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return std::nullopt;
  const Peer before = found->second;
  found->second = Peer{std::max(before.heard_at, now)};
  if (!before.suspect) return std::nullopt;
  return now - before.heard_at;
}

std::vector<uint64_t> Suspicion::Tick(TimePoint now) {
  ForgiveOwnDelay(now);
  last_tick_ = now;
  std::vector<uint64_t> suspects;
  for (auto& [id, peer] : peers_) {
    if (peer.suspect || now - peer.heard_at < settings_.suspect_after) continue;
    peer.suspect = true;
    suspects.push_back(id);
  }
  return suspects;
}

void Suspicion::ForgiveOwnDelay(TimePoint now) {
  if (!last_tick_.has_value()) return;
  const Clock::duration delay = now - *last_tick_ - settings_.tick_interval;
  if (delay <= Clock::duration::zero()) return;
  const bool anew = delay > settings_.suspect_after / 2;
  for (auto& [id, peer] : peers_) {
    if (peer.suspect) continue;
    // Heard in the future, in effect, if that was during the delay: no more than now.
    peer.heard_at = anew ? now : std::min(peer.heard_at + delay, now);
  }
}

bool Suspicion::IsSuspect(uint64_t peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.suspect;
}

std::vector<uint64_t> Suspicion::Suspects() const {
  std::vector<uint64_t> suspects;
  for (const auto& [id, peer] : peers_) {
    if (peer.suspect) suspects.push_back(id);
  }
  return suspects;
}

Clock::duration Suspicion::SilentFor(uint64_t peer, TimePoint now) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? Clock::duration::zero() : now - found->second.heard_at;
}

}  // namespace phalanx::membership
