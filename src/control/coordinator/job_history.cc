#include "control_coordinator/job_history.h"

#include <cstddef>
#include <string_view>
#include <utility>

namespace phalanx::control {
namespace {

constexpr size_t kMostEntries = 10;
constexpr size_t kMostLines = 20;

int64_t NumberOf(const JobEvent& event, std::string_view name) {
  for (const auto& [key, value] : event.numbers) {
    if (key == name) return value;
  }
  return 0;
}

template <typename T>
void Keep(T value, size_t most, std::deque<T>* all) {
  all->push_back(std::move(value));
  if (all->size() > most) all->pop_front();
}

}  // namespace

void JobHistory::Note(const JobEvent& event, Clock::time_point now) {
  using std::chrono::microseconds;
  const std::string_view name = event.name;
  if (name == "committed") {
    ++commits_;
    committed_at_ = now;
  } else if (name == "member_lost") {
    ++losses_seen_;
    Keep(Loss{NumberOf(event, "rank"), NumberOf(event, "epoch"), now}, kMostEntries, &losses_);
  } else if (name == "recovered") {
    ++recoveries_made_;
    Keep(Recovery{NumberOf(event, "epoch"), NumberOf(event, "step"), NumberOf(event, "bytes"),
                  microseconds(NumberOf(event, "total_us")),
                  microseconds(NumberOf(event, "returned_us")),
                  microseconds(NumberOf(event, "restored_us")), now},
         kMostEntries, &recoveries_);
  } else if (name == "copy_corrupt") {
    ++corrupt_copies_;
  } else if (name == "version_lost") {
    ++lost_versions_;
  }
}

void JobHistory::NoteLine(LogSeverity severity, const std::string& text, Clock::time_point now) {
  if (severity == LogSeverity::kInfo) return;
  Keep(Line{severity, text, now}, kMostLines, &lines_);
}

}  // namespace phalanx::control
