// Whether others hear a suspect. Pure: the caller owns the clock and the links.
//
// A few witnesses are asked, each of whom tries to reach the suspect over a link of its own and
// says whether it has answered. Only a word counts: a witness that says nothing, because it is
// gone, slow or a suspect itself, says nothing about the suspect either, and others are asked in
// its place. Without a witness there is no verdict.
//
// What a caller hears after it was stopped or starved comes in any order: the suspect's own word
// may lie unread behind that of the witnesses. So a round in which the caller's ticks come late
// counts for nothing, and a verdict comes one tick after the last word.
#ifndef PHALANX_MEMBERSHIP_INQUIRIES_H_
#define PHALANX_MEMBERSHIP_INQUIRIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"

namespace phalanx::membership {

struct InquirySettings {
  size_t witnesses = 2;  // or all that there are
  // After which a witness says that it has heard no answer, if it isn't slow itself.
  Clock::duration witness_wait = std::chrono::seconds(3);
  Clock::duration tick_interval = std::chrono::milliseconds(100);  // that the caller means to keep
  Clock::duration late = std::chrono::milliseconds(350);  // a tick that comes so much later
  Clock::duration pause = std::chrono::seconds(1);        // after a round, before the next
};

class Inquiries {
 public:
  using TimePoint = Clock::time_point;

  // `witness` is to be asked about `suspect`; what it says is given to Report() with `round`.
  struct Question {
    uint64_t suspect = 0;
    uint64_t witness = 0;
    uint64_t round = 0;
    bool operator==(const Question&) const = default;
  };
  struct Findings {
    std::vector<Question> questions;
    // All who were asked about them have heard no answer. They are asked again after a pause.
    std::vector<uint64_t> unanswered;
  };

  explicit Inquiries(InquirySettings settings) : settings_(settings) {}

  // `suspect` is to be asked about; nothing new if it is already.
  void Begin(uint64_t suspect) { open_.try_emplace(suspect); }
  // It was heard, or is gone; what witnesses still say about it counts for nothing.
  void End(uint64_t suspect) { open_.erase(suspect); }

  // A word that is of no open round is ignored. One that has answered a witness is alive, and is
  // asked about again after a pause.
  void Report(uint64_t suspect, uint64_t witness, uint64_t round, bool answered, TimePoint now);

  // `witnesses`: who can be asked: those that the caller hears.
  Findings Tick(TimePoint now, const std::vector<uint64_t>& witnesses);

 private:
  struct Inquiry {
    uint64_t round = 0;
    std::map<uint64_t, bool> asked;  // witness → has heard no answer; empty: no round is open
    bool complete = false;           // all had, at the last tick
    TimePoint asked_at;
    std::optional<TimePoint> next_at;  // the next round, not before
  };

  void Ask(uint64_t suspect, Inquiry* inquiry, const std::vector<uint64_t>& witnesses,
           TimePoint now, Findings* findings);
  bool IsStale(const Inquiry& inquiry, const std::vector<uint64_t>& witnesses, TimePoint now) const;

  InquirySettings settings_;
  std::map<uint64_t, Inquiry> open_;  // by suspect
  uint64_t rounds_ = 0;
  std::optional<TimePoint> last_tick_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_INQUIRIES_H_
