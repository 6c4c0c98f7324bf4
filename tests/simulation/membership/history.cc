#include "history.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::membership::simulation {

History::History(RecordPtr genesis, bool sees_disks)
    : sees_disks_(sees_disks), committed_{{0, genesis}}, told_{{0, std::move(genesis)}} {}

History::Call History::Began(const Request& request, const ChangeId& change) const {
  return {request, change, newest_told()->version};
}

std::string History::OnDisk(const VoterState& state) {
  if (!sees_disks_ || state.record == nullptr) return "";
  Acceptance& acceptance = acceptances_[state.accepted];
  if (acceptance.record != nullptr && *acceptance.record != *state.record) {
    return absl::StrCat("two records under ballot ", Describe(state.accepted), ": ",
                        Describe(*acceptance.record), " and ", Describe(*state.record));
  }
  acceptance.record = state.record;
  acceptance.voters.insert(state.id);
  const Record& record = *acceptance.record;
  if (!record.voters.IsQuorum(acceptance.voters)) return "";
  const RecordPtr& kept = committed_.emplace(record.version, acceptance.record).first->second;
  if (*kept != record) {
    return absl::StrCat("two committed records: ", Describe(*kept), " and ", Describe(record));
  }
  if (!committed_.contains(record.version - 1)) {
    return absl::StrCat("committed with nothing below: ", Describe(record));
  }
  if (never_.contains(record.change)) {
    return absl::StrCat("committed after a conflict was reported: ", Describe(record));
  }
  return "";
}

std::string History::Ended(const Call& call, const Outcome& outcome) {
  if (outcome.record == nullptr) {
    return outcome.kind == Outcome::Kind::kUnknown ? "" : "an outcome without a record";
  }
  const Record& record = *outcome.record;
  const RecordPtr& told = told_.emplace(record.version, outcome.record).first->second;
  if (*told != record) {
    return absl::StrCat("told two records: ", Describe(*told), " and ", Describe(record));
  }
  const auto found = committed_.find(record.version);
  if (sees_disks_ && (found == committed_.end() || *found->second != record)) {
    return absl::StrCat("told as committed, but it isn't: ", Describe(record));
  }
  if (record.version < call.before) {
    return absl::StrCat("told ", Describe(record), " when version ", call.before,
                        " had been told before the request began");
  }
  const bool reads = std::holds_alternative<Read>(call.request);
  if (outcome.kind == Outcome::Kind::kCommitted && !reads &&
      (record.change != call.change || record.version <= call.before)) {
    return absl::StrCat("a change that isn't its own: ", Describe(record));
  }
  if (outcome.kind == Outcome::Kind::kConflict || outcome.kind == Outcome::Kind::kRefused) {
    never_.insert(call.change);
    for (const auto& [version, committed] : sees_disks_ ? committed_ : told_) {
      if (committed->change == call.change) {
        return absl::StrCat("reported as a conflict, but committed: ", Describe(*committed));
      }
    }
  }
  if (never_.contains(record.change)) {
    return absl::StrCat("told after a conflict was reported: ", Describe(record));
  }
  return "";
}

}  // namespace phalanx::membership::simulation
