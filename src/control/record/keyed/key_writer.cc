#include "keyed_record/key_writer.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace phalanx::control {

std::vector<KeyOutput> KeyWriter::Step(const KeyInput& input, int64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void KeyWriter::Handle(const Begin& begin) {
  request_ = begin.request;
  deadline_ns_ = begin.deadline_ns;
  pause_ns_ = 0;
  problem_ = absl::UnavailableError("there was no time to ask");
  if (failed_) {
    return Finish(absl::FailedPreconditionError("a write before this one has failed"));
  }
  if (const auto* put = std::get_if<PutValue>(&begin.request))
    return CallPut(revision_, put->value);
  if (std::holds_alternative<CreateKey>(begin.request)) return CallPut(0, "");
  call_ = StoreCall{};
  if (std::holds_alternative<RemoveKey>(begin.request)) call_.kind = StoreCall::Kind::kRemove;
  Call();
}

void KeyWriter::Handle(const WakeUp& /*wake_up*/) {
  if (idle() || !wake_at_ns_.has_value() || now_ns_ < *wake_at_ns_) return;
  wake_at_ns_.reset();
  Call();
}

void KeyWriter::Handle(const StoreAnswer& answer) {
  if (idle()) return;
  if (!answer.status.ok()) return Failed(answer.status);
  Answered();
  Judge(answer);
}

void KeyWriter::Judge(const StoreAnswer& answer) {
  switch (call_.kind) {
    case StoreCall::Kind::kRemove:
      return Finish(absl::OkStatus());
    case StoreCall::Kind::kGet:
      return TakeOver(answer);
    case StoreCall::Kind::kPut:
      break;
  }
  bool ours = answer.put;
  if (!ours && answer.revision != 0) {
    // An attempt of ours whose answer was lost.
    const absl::StatusOr<Envelope> found = Unseal(answer.value);
    ours = found.ok() && found->tag == tag_;
  }
  if (!ours) return JudgeForeign(answer);
  revision_ = answer.revision;
  Finish(absl::OkStatus(), claimed_);
}

// Something else stands there than what we expected and what we put. Since revisions rise, no late
// attempt of ours can succeed any more.
void KeyWriter::JudgeForeign(const StoreAnswer& answer) {
  if (std::holds_alternative<ClaimKey>(*request_)) return TakeOver(answer);
  if (answer.revision == 0) {
    return Finish(
        absl::NotFoundError(absl::StrCat("the record of the job is gone from ", settings_.store)));
  }
  if (std::holds_alternative<CreateKey>(*request_)) {
    return Finish(absl::AlreadyExistsError(
        absl::StrCat("another job has a record of this name in ", settings_.store)));
  }
  Finish(absl::AbortedError("another coordinator has changed the record of the job"));
}

// Claims what was found there just now; the one whose put came before ours has lost nothing.
void KeyWriter::TakeOver(const StoreAnswer& answer) {
  if (answer.revision == 0) {
    return Finish(
        absl::NotFoundError(absl::StrCat("the record of the job is gone from ", settings_.store)));
  }
  absl::StatusOr<Envelope> found = Unseal(answer.value);
  if (!found.ok()) return Finish(found.status());
  claimed_ = found->value;
  CallPut(answer.revision, std::move(found->value));
}

// Nothing is known of the call. The same is called again: a put that has happened meanwhile, or
// happens yet, is recognised by its tag, and can't happen twice, since it expects the same
// revision.
void KeyWriter::Failed(const absl::Status& status) {
  problem_ = absl::Status(status.code(),
                          absl::StrCat(settings_.endpoints[endpoint_], ": ", status.message()));
  if (!silent_since_ns_.has_value()) silent_since_ns_ = called_at_ns_;
  endpoint_ = (endpoint_ + 1) % settings_.endpoints.size();
  pause_ns_ = pause_ns_ == 0 ? settings_.first_pause_ns
                             : std::min(2 * pause_ns_, settings_.longest_pause_ns);
  const bool due = said_at_ns_.has_value() ? now_ns_ >= *said_at_ns_ + settings_.say_again_ns
                                           : now_ns_ >= *silent_since_ns_ + settings_.say_after_ns;
  if (due) {
    said_at_ns_ = now_ns_;
    outputs_.push_back(Say{absl::StrCat(settings_.store, " doesn't answer (", problem_.message(),
                                        "); the job's record waits for it")});
  }
  wake_at_ns_ = std::min(now_ns_ + pause_ns_, std::max(deadline_ns_, now_ns_));
}

void KeyWriter::Answered() {
  pause_ns_ = 0;
  if (said_at_ns_.has_value()) {
    outputs_.push_back(
        Say{absl::StrFormat("%s answers again, after %.1f s", settings_.store,
                            1e-9 * static_cast<double>(now_ns_ - *silent_since_ns_))});
  }
  said_at_ns_.reset();
  silent_since_ns_.reset();
}

void KeyWriter::CallPut(int64_t expected, std::string bytes) {
  tag_ = {settings_.writer, ++puts_};
  call_ = StoreCall{};
  call_.kind = StoreCall::Kind::kPut;
  call_.expected = expected;
  call_.value = Seal(tag_, bytes);
  Call();
}

void KeyWriter::Call() {
  if (now_ns_ >= deadline_ns_) {
    return Finish(absl::DeadlineExceededError(
        absl::StrCat(settings_.store, " hasn't answered in time: ", problem_.message())));
  }
  call_.endpoint = endpoint_;
  call_.timeout_ns = std::min(settings_.call_ns, deadline_ns_ - now_ns_);
  called_at_ns_ = now_ns_;
  outputs_.push_back(call_);
}

void KeyWriter::Finish(absl::Status status, std::string value) {
  failed_ = failed_ || !status.ok();
  request_.reset();
  wake_at_ns_.reset();
  claimed_.clear();
  outputs_.push_back(Finished{std::move(status), std::move(value)});
}

}  // namespace phalanx::control
