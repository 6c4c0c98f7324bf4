#include "membership/inquiries.h"

#include <algorithm>

namespace phalanx::membership {

void Inquiries::Report(uint64_t suspect, uint64_t witness, uint64_t round, bool answered,
                       TimePoint now) {
  const auto found = open_.find(suspect);
  if (found == open_.end() || found->second.round != round) return;
  Inquiry& inquiry = found->second;
  const auto asked = inquiry.asked.find(witness);
  if (asked == inquiry.asked.end()) return;
  asked->second = !answered;
  if (!answered) return;
  inquiry.asked.clear();
  inquiry.next_at = now + settings_.pause;
}

Inquiries::Findings Inquiries::Tick(TimePoint now, const std::vector<uint64_t>& witnesses) {
  const bool late =
      last_tick_.has_value() && now - *last_tick_ > settings_.tick_interval + settings_.late;
  last_tick_ = now;
  Findings findings;
  for (auto& [suspect, inquiry] : open_) {
    if (late || IsStale(inquiry, witnesses, now)) inquiry.asked.clear();
    if (inquiry.asked.empty()) {
      Ask(suspect, &inquiry, witnesses, now, &findings);
      continue;
    }
    const bool complete = std::all_of(inquiry.asked.begin(), inquiry.asked.end(),
                                      [](const auto& asked) { return asked.second; });
    if (complete && inquiry.complete) {
      findings.unanswered.push_back(suspect);
      inquiry.asked.clear();
      inquiry.next_at = now + settings_.pause;
    }
    inquiry.complete = complete;
  }
  return findings;
}

// Others each time, so that one that never says anything holds nothing up.
void Inquiries::Ask(uint64_t suspect, Inquiry* inquiry, const std::vector<uint64_t>& witnesses,
                    TimePoint now, Findings* findings) {
  if (inquiry->next_at.has_value() && now < *inquiry->next_at) return;
  const size_t count = std::min(settings_.witnesses, witnesses.size());
  if (count == 0) return;
  inquiry->round = ++rounds_;
  inquiry->complete = false;
  inquiry->asked_at = now;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t witness = witnesses[(inquiry->round + i) % witnesses.size()];
    inquiry->asked[witness] = false;
    findings->questions.push_back({suspect, witness, inquiry->round});
  }
}

bool Inquiries::IsStale(const Inquiry& inquiry, const std::vector<uint64_t>& witnesses,
                        TimePoint now) const {
  constexpr int kSlow = 3;  // a witness may take so many times as long
  if (now - inquiry.asked_at > kSlow * settings_.witness_wait + settings_.pause) return true;
  return std::any_of(inquiry.asked.begin(), inquiry.asked.end(), [&](const auto& asked) {
    return std::find(witnesses.begin(), witnesses.end(), asked.first) == witnesses.end();
  });
}

}  // namespace phalanx::membership
