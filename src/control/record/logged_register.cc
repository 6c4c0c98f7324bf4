#include "control_record/logged_register.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "control_process/spawn.h"

namespace phalanx::control {
namespace {

using membership::Outcome;

membership::ProposerSettings SettingsFor(const membership::VoterState& state) {
  membership::Record formed;  // by the one voter, with nothing in it
  formed.voters.current = {state.id};
  membership::ProposerSettings settings;
  settings.id = {RandomNumber()};
  settings.known = std::make_shared<const membership::Record>(std::move(formed));
  settings.seed = RandomNumber();
  return settings;
}

}  // namespace

LoggedRegister::LoggedRegister(VoterLog log)
    : log_(std::move(log)), voter_(log_.state()), proposer_(SettingsFor(log_.state())) {}

absl::StatusOr<std::unique_ptr<LoggedRegister>> LoggedRegister::Open(Fd log) {
  PHX_ASSIGN_OR_RETURN(VoterLog opened, VoterLog::Open(std::move(log)));
  std::unique_ptr<LoggedRegister> job(new LoggedRegister(std::move(opened)));
  PHX_ASSIGN_OR_RETURN(const Outcome read, job->Perform(membership::Read{}));
  if (read.kind != Outcome::Kind::kCommitted) {
    return absl::UnavailableError("the record of the job can't be read");
  }
  if (!read.record->value.empty()) {
    PHX_ASSIGN_OR_RETURN(job->found_, DecodeJobRecord(read.record->value));
  }
  PHX_RETURN_IF_ERROR(job->CompareAndSet(read.record->value));
  return job;
}

void LoggedRegister::Write(const JobRecord& record, Done done) {
  done(CompareAndSet(Encode(record)));
}

absl::Status LoggedRegister::CompareAndSet(std::string value) {
  PHX_ASSIGN_OR_RETURN(const Outcome outcome, Perform(membership::CompareAndSet{
                                                  proposer_.known()->version, std::move(value)}));
  switch (outcome.kind) {
    case Outcome::Kind::kCommitted:
      return absl::OkStatus();
    case Outcome::Kind::kConflict:
      return absl::AbortedError("another coordinator has changed the record of the job");
    case Outcome::Kind::kUnknown:
    case Outcome::Kind::kRefused:
      break;
  }
  return absl::UnavailableError("the record of the job may have been changed or not");
}

absl::StatusOr<Outcome> LoggedRegister::Perform(const membership::Request& request) {
  // Nothing between the two is lost or late, so the proposer's pauses are over at once.
  constexpr int64_t kLongestNs = int64_t{60} * 1'000'000'000;
  const int64_t deadline_ns = now_ns_ + kLongestNs;
  std::optional<Outcome> outcome;
  PHX_RETURN_IF_ERROR(Step(membership::Begin{request, deadline_ns}, &outcome));
  while (!outcome.has_value()) {
    now_ns_ = std::max(now_ns_, *proposer_.WakeAt());
    PHX_RETURN_IF_ERROR(Step(membership::Tick{}, &outcome));
  }
  return *std::move(outcome);
}

absl::Status LoggedRegister::Step(const membership::ProposerInput& input,
                                  std::optional<Outcome>* outcome) {
  for (const membership::ProposerOutput& output : proposer_.Step(input, now_ns_)) {
    if (const auto* finished = std::get_if<membership::Finished>(&output)) {
      *outcome = finished->outcome;
    } else {
      const auto& send = std::get<membership::Send>(output);
      PHX_RETURN_IF_ERROR(Ask(membership::Asked{0, send.message}, outcome));
    }
  }
  return absl::OkStatus();
}

absl::Status LoggedRegister::Ask(const membership::VoterInput& input,
                                 std::optional<Outcome>* outcome) {
  for (const membership::VoterOutput& output : voter_.Step(input)) {
    if (const auto* persist = std::get_if<membership::Persist>(&output)) {
      PHX_RETURN_IF_ERROR(log_.Write(persist->state));
      PHX_RETURN_IF_ERROR(Ask(membership::Persisted{persist->number}, outcome));
    } else {
      const auto& answer = std::get<membership::Answer>(output);
      PHX_RETURN_IF_ERROR(Step(membership::FromVoter{answer.message}, outcome));
    }
  }
  return absl::OkStatus();
}

}  // namespace phalanx::control
