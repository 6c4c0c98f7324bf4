// What has happened to a job, as its coordinator remembers it for those who ask. Pure.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_HISTORY_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_HISTORY_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/logger.h"
#include "control_coordinator/job_event.h"

namespace phalanx::control {

// Bounded: the newest of each kind stay, with counts of all. Another coordinator begins anew.
class JobHistory {
 public:
  struct Loss {
    int64_t rank = -1;
    int64_t epoch = 0;  // that it ended, or was lost on the way to
    Clock::time_point at;
  };
  // See `recovered` among the job's events.
  struct Recovery {
    int64_t epoch = 0;
    int64_t step = 0;
    int64_t bytes = 0;
    std::chrono::microseconds total{};
    std::chrono::microseconds returned{};
    std::chrono::microseconds restored{};
    Clock::time_point at;
  };
  struct Line {
    LogSeverity severity = LogSeverity::kInfo;
    std::string text;
    Clock::time_point at;
  };

  void Note(const JobEvent& event, Clock::time_point now);
  // Of the log; what is only informative is left out.
  void NoteLine(LogSeverity severity, const std::string& text, Clock::time_point now);

  // The oldest first.
  const std::deque<Loss>& losses() const { return losses_; }
  const std::deque<Recovery>& recoveries() const { return recoveries_; }
  const std::deque<Line>& lines() const { return lines_; }

  uint64_t losses_seen() const { return losses_seen_; }
  uint64_t recoveries_made() const { return recoveries_made_; }
  uint64_t commits() const { return commits_; }
  uint64_t corrupt_copies() const { return corrupt_copies_; }
  uint64_t lost_versions() const { return lost_versions_; }
  std::optional<Clock::time_point> committed_at() const { return committed_at_; }

 private:
  std::deque<Loss> losses_;
  std::deque<Recovery> recoveries_;
  std::deque<Line> lines_;
  uint64_t losses_seen_ = 0;
  uint64_t recoveries_made_ = 0;
  uint64_t commits_ = 0;
  uint64_t corrupt_copies_ = 0;
  uint64_t lost_versions_ = 0;
  std::optional<Clock::time_point> committed_at_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_HISTORY_H_
