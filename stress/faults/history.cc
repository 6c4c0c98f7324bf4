#include "history.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace phalanx::stress {
namespace {

using nlohmann::json;

class Reader {
 public:
  bool Take(const json& event) {
    const auto name = event.find("event");
    if (!event.is_object() || name == event.end() || !name->is_string()) return false;
    if (*name == "fault") {
      ++history_.faults;
    } else if (*name == "committed") {
      newest_ = event.value("version", int64_t{-1});
    } else if (*name == "recovered") {
      OnRecovered(event);
    } else if (*name == "copy_corrupt") {
      ++history_.corrupt_copies;
    } else if (*name == "version_lost") {
      history_.lost.push_back(absl::StrCat("version ", event.value("version", int64_t{-1}),
                                           " is lost with the shard of rank ",
                                           event.value("rank", -1)));
      newest_ = -1;  // said
    }
    // Others may come; they say nothing of what is counted here.
    return true;
  }

  JobHistory Result() { return std::move(history_); }

 private:
  void OnRecovered(const json& event) {
    history_.recoveries.push_back({event.value("total_us", int64_t{0}),
                                   event.value("returned_us", int64_t{0}),
                                   event.value("restored_us", int64_t{0})});
    const int64_t step = event.value("step", int64_t{0});
    if (step <= newest_) {
      history_.lost.push_back(absl::StrCat("version ", newest_,
                                           " was committed, and the job went on from step ", step));
    }
    newest_ = step - 1;
  }

  JobHistory history_;
  int64_t newest_ = -1;  // committed
};

}  // namespace

absl::StatusOr<JobHistory> ParseEvents(absl::string_view text) {
  Reader reader;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const json event = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    try {
      if (reader.Take(event)) continue;
    } catch (const json::exception&) {  // a number that is none
    }
    return absl::InvalidArgumentError(absl::StrCat("no event: '", line, "'"));
  }
  return reader.Result();
}

}  // namespace phalanx::stress
