#include "membership/proposer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace phalanx::membership {
namespace {

uint64_t ExpectedBy(const Request& request) {
  struct Visitor {
    uint64_t operator()(const Read& /*read*/) const { return 0; }
    uint64_t operator()(const CompareAndSet& change) const { return change.expected; }
    uint64_t operator()(const BeginReplacement& change) const { return change.expected; }
    uint64_t operator()(const FinishReplacement& change) const { return change.expected; }
  };
  return std::visit(Visitor(), request);
}

// False: the change can't be made to this record.
bool Change(const Request& request, Record* record) {
  if (const auto* set = std::get_if<CompareAndSet>(&request)) {
    record->value = set->value;
    return true;
  }
  if (const auto* begin = std::get_if<BeginReplacement>(&request)) {
    if (!record->voters.incoming.empty()) return false;
    record->voters.incoming = begin->incoming;
    return true;
  }
  if (record->voters.incoming.empty()) return false;
  record->voters.current = std::move(record->voters.incoming);
  record->voters.incoming.clear();
  return true;
}

}  // namespace

Proposer::Proposer(ProposerSettings settings)
    : settings_(std::move(settings)), random_(settings_.seed), known_(settings_.known) {
  PHX_CHECK(known_ != nullptr);
}

std::vector<ProposerOutput> Proposer::Step(const ProposerInput& input, int64_t now_ns) {
  if (const auto* begin = std::get_if<Begin>(&input)) {
    PHX_CHECK(idle());
    if (const auto* change = std::get_if<BeginReplacement>(&begin->request)) {
      PHX_CHECK(!change->incoming.empty());
    }
    request_ = *begin;
    change_sent_ = false;
    attempts_ = 0;
    if (!std::holds_alternative<Read>(begin->request)) ++changes_;
    StartAttempt(now_ns);
  } else if (const auto* heard = std::get_if<Heard>(&input)) {
    Learn(heard->record);
  } else if (const auto* from = std::get_if<FromVoter>(&input); from != nullptr && !idle()) {
    std::visit([&](const auto& message) { Hear(message, now_ns); }, from->message);
  }
  if (!idle() && now_ns >= request_->deadline_ns) {
    Finish(Outcome::Kind::kUnknown, nullptr);
  } else if (!idle() && now_ns >= phase_ends_ns_) {
    if (phase_ == Phase::kPausing) {
      StartAttempt(now_ns);
    } else {
      GiveUpAttempt(now_ns);
    }
  }
  return std::exchange(outputs_, {});
}

std::optional<int64_t> Proposer::WakeAt() const {
  if (idle()) return std::nullopt;
  return std::min(phase_ends_ns_, request_->deadline_ns);
}

void Proposer::Hear(const Promise& promise, int64_t now_ns) {
  if (phase_ != Phase::kPreparing || promise.ballot != ballot_) return;
  promises_.emplace(promise.from, promise);
  CheckPrepared(now_ns);
}

void Proposer::Hear(const Accepted& accepted, int64_t now_ns) {
  if (phase_ != Phase::kAccepting || accepted.ballot != ballot_) return;
  accepted_.insert(accepted.from);
  if (!proposed_->voters.IsQuorum(accepted_)) return;
  const RecordPtr committed = proposed_;
  Learn(committed);
  if (!std::holds_alternative<Read>(request_->request) && IsOwn(*committed)) {
    Finish(Outcome::Kind::kCommitted, committed);
  } else if (!Conclude()) {
    StartAttempt(now_ns);  // on the record that is settled now; this ballot is used up
  }
}

void Proposer::Hear(const Refused& refused, int64_t now_ns) {
  round_ = std::max(round_, refused.promised.round);
  if (refused.ballot == ballot_) Lose(refused.from, now_ns);
}

void Proposer::Hear(const NotAVoter& stranger, int64_t now_ns) {
  if (stranger.ballot == ballot_) Lose(stranger.from, now_ns);
}

// Gives the attempt up once too few are left.
void Proposer::Lose(VoterId voter, int64_t now_ns) {
  if (phase_ == Phase::kPausing) return;
  lost_.insert(voter);
  std::set<VoterId> left;
  std::set_difference(asked_.begin(), asked_.end(), lost_.begin(), lost_.end(),
                      std::inserter(left, left.end()));
  const VoterSets& voters = phase_ == Phase::kAccepting ? proposed_->voters : known_->voters;
  if (!voters.IsQuorum(left)) GiveUpAttempt(now_ns);
}

void Proposer::StartAttempt(int64_t now_ns) {
  ballot_ = Ballot{++round_, settings_.id};
  phase_ = Phase::kPreparing;
  phase_ends_ns_ = now_ns + Grown(settings_.attempt_ns);
  promises_.clear();
  asked_.clear();
  lost_.clear();
  Ask(known_->voters.All());
}

void Proposer::GiveUpAttempt(int64_t now_ns) {
  const auto most = static_cast<uint64_t>(Grown(settings_.pause_ns));
  phase_ = Phase::kPausing;
  phase_ends_ns_ = now_ns + static_cast<int64_t>(random_() % (most + 1));
  ++attempts_;
}

void Proposer::Ask(const std::set<VoterId>& voters) {
  for (const VoterId& voter : voters) {
    if (asked_.insert(voter).second) outputs_.push_back(Send{Prepare{voter, ballot_}});
  }
}

const Promise* Proposer::Highest() const {
  const Promise* highest = nullptr;
  for (const auto& [voter, promise] : promises_) {
    if (promise.record == nullptr) continue;
    if (highest == nullptr || highest->accepted < promise.accepted) highest = &promise;
  }
  return highest;
}

// A ballot may go on once a quorum of the voter sets *in the record that it found* has promised it:
// its own idea of who votes may be old.
void Proposer::CheckPrepared(int64_t now_ns) {
  const Promise* highest = Highest();
  const bool is_behind = highest == nullptr || highest->record->version < known_->version;
  const RecordPtr found = is_behind ? known_ : highest->record;
  Ask(found->voters.All());
  std::set<VoterId> promised;
  std::set<VoterId> have_it;
  for (const auto& [voter, promise] : promises_) {
    promised.insert(voter);
    if (highest != nullptr && promise.accepted == highest->accepted) have_it.insert(voter);
  }
  if (!found->voters.IsQuorum(promised)) return;
  if (is_behind && known_->version > 0) {
    // A quorum that has lost what was committed. Never go back: the request ends by its deadline.
    GiveUpAttempt(now_ns);
  } else if (found->version == known_->version || found->voters.IsQuorum(have_it)) {
    Settled(found, now_ns);
  } else {
    // Perhaps committed, perhaps not: make it so. Changes are made to committed records only, since
    // a replacement of voters that rests on one that isn't could be undone behind its back.
    Propose(found, now_ns);
  }
}

// `record` is committed, and nothing newer was before this ballot.
void Proposer::Settled(RecordPtr record, int64_t now_ns) {
  Learn(record);
  if (Conclude()) return;
  RecordPtr changed = Changed(*record);
  if (changed == nullptr) {
    Finish(Outcome::Kind::kRefused, std::move(record));
    return;
  }
  change_sent_ = true;
  Propose(std::move(changed), now_ns);
}

void Proposer::Propose(RecordPtr record, int64_t now_ns) {
  phase_ = Phase::kAccepting;
  phase_ends_ns_ = now_ns + Grown(settings_.attempt_ns);
  proposed_ = std::move(record);
  accepted_.clear();
  lost_.clear();
  // Those that are leaving hear of it too, so that a proposer that knows only them finds the
  // others.
  std::set<VoterId> all = proposed_->voters.All();
  all.insert(asked_.begin(), asked_.end());
  asked_ = all;
  for (const VoterId& voter : all) outputs_.push_back(Send{Accept{voter, ballot_, proposed_}});
}

// Ends the request if the newest committed record decides it.
bool Proposer::Conclude() {
  if (std::holds_alternative<Read>(request_->request) || IsOwn(*known_)) {
    Finish(Outcome::Kind::kCommitted, known_);
    return true;
  }
  const uint64_t expected = ExpectedBy(request_->request);
  if (known_->version == expected) return false;
  // With another record in the next version the change is out of the race; with a newer one, that
  // version may have been its own.
  const bool may_be_below = change_sent_ && known_->version > expected + 1;
  Finish(may_be_below ? Outcome::Kind::kUnknown : Outcome::Kind::kConflict, known_);
  return true;
}

bool Proposer::IsOwn(const Record& record) const {
  return record.change == ChangeId{settings_.id, changes_};
}

RecordPtr Proposer::Changed(const Record& base) const {
  auto changed = std::make_shared<Record>(base);
  changed->version = base.version + 1;
  changed->change = ChangeId{settings_.id, changes_};
  return Change(request_->request, changed.get()) ? changed : nullptr;
}

void Proposer::Learn(const RecordPtr& record) {
  if (record->version > known_->version) known_ = record;
}

void Proposer::Finish(Outcome::Kind kind, RecordPtr record) {
  request_.reset();
  outputs_.push_back(Finished{Outcome{kind, std::move(record)}});
}

int64_t Proposer::Grown(int64_t ns) const {
  const int doublings = std::min(attempts_, 20);
  return std::min(ns << doublings, std::max(ns, settings_.longest_ns));
}

}  // namespace phalanx::membership
