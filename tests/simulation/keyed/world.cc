#include "world.h"

#include <algorithm>
#include <set>

namespace phalanx::control::simulation {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kPatience = 60 * kSecond;
constexpr int64_t kQuiet = 10 * kSecond;  // after the last fault
constexpr size_t kMostCoordinators = 6;

}  // namespace

World::World(uint64_t seed, Broken broken) : seed_(seed), broken_(broken), random_(seed) {
  loss_ = Chance(0.3) ? 0 : 0.01 * static_cast<double>(Between(1, 40));
  late_ = Chance(0.3) ? 0 : 0.01 * static_cast<double>(Between(1, 30));
  faults_end_ns_ = Between(5, 120) * kSecond;
  for (int64_t at = Between(0, 20) * kSecond; at < faults_end_ns_ && Chance(0.7);) {
    const int64_t until = std::min(at + Between(10, 15'000) * kMs, faults_end_ns_);
    frozen_.emplace_back(at, until);
    at = until + Between(10, 30'000) * kMs;
  }
}

std::string World::Run(Tally* tally) {
  history_.push_back({++revision_, {0, 1}, ""});
  known_ = 1;
  StartCoordinator();
  for (int64_t at = Between(0, 30) * kSecond; at < faults_end_ns_ && Chance(0.8);
       at += Between(1, 30'000) * kMs) {
    At(at, {Event::Kind::kSuccessor, 0, 0, {}, {}});
  }
  while (!events_.empty() && wrong_.empty() && now_ns_ < faults_end_ns_ + kQuiet) {
    const auto first = events_.begin();
    now_ns_ = std::max(now_ns_, first->first);
    const Event event = std::move(first->second);
    events_.erase(first);
    switch (event.kind) {
      case Event::Kind::kArrive:
        Arrive(event);
        break;
      case Event::Kind::kAnswer:
        if (coordinators_[event.coordinator]->call == event.call) {
          coordinators_[event.coordinator]->call = 0;
          Feed(event.coordinator, event.answer);
        }
        break;
      case Event::Kind::kWake:
        Feed(event.coordinator, WakeUp{});
        break;
      case Event::Kind::kBegin:
        BeginRequest(event.coordinator);
        break;
      case Event::Kind::kSuccessor:
        StartCoordinator();
        break;
    }
  }
  CheckHistory();
  if (commits_after_faults_ == 0) Wrong("nothing was written once all was well");
  *tally = tally_;
  return wrong_;
}

// Most of the last are dead by then; some go on and don't know that they have a successor.
void World::StartCoordinator() {
  if (coordinators_.size() >= kMostCoordinators) return;
  if (!coordinators_.empty() && Chance(0.7)) coordinators_.back()->over = true;
  KeyWriterSettings settings;
  settings.writer = coordinators_.size() + 1;
  settings.endpoints = {"a:1", "b:2", "c:3"};
  coordinators_.push_back(std::make_unique<Coordinator>(std::move(settings)));
  BeginRequest(coordinators_.size() - 1);
}

void World::BeginRequest(size_t index) {
  Coordinator& coordinator = *coordinators_[index];
  if (coordinator.over || !coordinator.writer.idle()) return;
  coordinator.known_at_begin = known_;
  coordinator.deadline_ns = now_ns_ + kPatience;
  if (!coordinator.claimed) return Feed(index, Begin{ClaimKey{}, coordinator.deadline_ns});
  coordinator.wanted = std::to_string(++values_);
  Feed(index, Begin{PutValue{coordinator.wanted}, coordinator.deadline_ns});
}

void World::Feed(size_t index, const KeyInput& input) {
  Coordinator& coordinator = *coordinators_[index];
  if (coordinator.over) return;
  const auto* answer = std::get_if<StoreAnswer>(&input);
  const bool comes_late = answer != nullptr && answer->status.ok() && !answer->put;
  if (now_ns_ < faults_end_ns_ && Chance(0.01)) {
    coordinator.frozen_until_ns = std::min(now_ns_ + Between(1, 20'000) * kMs, faults_end_ns_);
  }
  const int64_t now_ns = std::max(now_ns_, coordinator.frozen_until_ns);
  for (const KeyOutput& output : coordinator.writer.Step(input, now_ns)) {
    if (const auto* call = std::get_if<StoreCall>(&output)) Ask(index, *call);
    if (const auto* finished = std::get_if<Finished>(&output)) OnFinished(index, *finished);
    if (const auto* finished = std::get_if<Finished>(&output)) {
      if (comes_late && finished->status.ok()) ++tally_.recognised;
    }
  }
  if (const std::optional<int64_t> wake_at = coordinator.writer.WakeAt()) {
    At(std::max(*wake_at, now_ns), {Event::Kind::kWake, index, 0, {}, {}});
  }
  if (!coordinator.writer.idle() && now_ns_ > coordinator.deadline_ns + 30 * kSecond) {
    Wrong("a request goes on after its deadline");
  }
}

void World::Ask(size_t index, const StoreCall& call) {
  Coordinator& coordinator = *coordinators_[index];
  coordinator.call = ++calls_;
  const int64_t now_ns = std::max(now_ns_, coordinator.frozen_until_ns);
  const bool well = now_ns >= faults_end_ns_;
  int64_t arrives_ns = now_ns + Between(50, 5000) * 1000;
  if (!well && Chance(late_)) arrives_ns += Between(1, 20'000) * kMs;
  for (const auto& [from, to] : frozen_) {
    if (arrives_ns >= from && arrives_ns < to) arrives_ns = to + Between(0, 5) * kMs;
  }
  if (well || !Chance(loss_)) {
    At(arrives_ns, {Event::Kind::kArrive, index, coordinator.call, call, {}});
  }
  StoreAnswer none;
  none.status = absl::DeadlineExceededError("no answer");
  const bool refused = !well && Chance(loss_ / 2);  // and yet it may have arrived
  At(refused ? now_ns : now_ns + call.timeout_ns,
     {Event::Kind::kAnswer, index, coordinator.call, {}, none});
}

void World::Arrive(const Event& event) {
  const StoreAnswer answer = Apply(event.asked);
  const bool well = now_ns_ >= faults_end_ns_;
  if (!well && Chance(loss_)) return;
  int64_t back_ns = now_ns_ + Between(50, 5000) * 1000;
  if (!well && Chance(late_)) back_ns += Between(1, 5000) * kMs;
  At(back_ns, {Event::Kind::kAnswer, event.coordinator, event.call, {}, answer});
}

StoreAnswer World::Apply(const StoreCall& call) {
  revision_ += Between(0, 3);  // other keys
  const Put last = history_.back();
  StoreAnswer answer;
  answer.revision = last.revision;
  answer.value = Seal(last.tag, last.value);
  if (call.kind != StoreCall::Kind::kPut) return answer;
  if (call.expected != last.revision && broken_ != Broken::kPutsWithoutComparing) return answer;
  const absl::StatusOr<Envelope> put = Unseal(call.value);
  answer = {absl::OkStatus(), true, ++revision_, ""};
  if (broken_ == Broken::kForgetsPuts && Chance(0.05)) return answer;
  history_.push_back({revision_, put->tag, put->value});
  return answer;
}

void World::OnFinished(size_t index, const Finished& finished) {
  Coordinator& coordinator = *coordinators_[index];
  if (finished.status.ok()) {
    // What stands there last of this coordinator is what it was told of.
    size_t own = history_.size();
    while (own > 0 && history_[own - 1].tag.writer != coordinator.id) --own;
    if (own == 0) return Wrong("what was acknowledged never stood there");
    const Put& put = history_[own - 1];
    if (!coordinator.claimed) {
      CheckClaimed(coordinator, finished.value);
      if (put.value != finished.value) Wrong("a claim put something else than it found");
    } else if (put.value != coordinator.wanted) {
      Wrong("what was acknowledged, " + coordinator.wanted + ", isn't its last put");
    } else {
      ++tally_.writes;
    }
    coordinator.claimed = true;
    known_ = std::max(known_, own);
    if (now_ns_ >= faults_end_ns_) ++commits_after_faults_;
    At(std::max(now_ns_, coordinator.frozen_until_ns) + Between(0, 500) * kMs,
       {Event::Kind::kBegin, index, 0, {}, {}});
    return;
  }
  coordinator.over = true;
  const bool aborted = absl::IsAborted(finished.status);
  if (aborted) ++tally_.refused;
  if (aborted && history_.back().tag.writer == coordinator.id) {
    Wrong("a put was refused, and stands there");
  }
  if (!aborted && !absl::IsDeadlineExceeded(finished.status)) {
    Wrong("unexpected: " + std::string(finished.status.message()));
  }
  // Somebody starts another one.
  if (index + 1 == coordinators_.size()) At(now_ns_, {Event::Kind::kSuccessor, 0, 0, {}, {}});
}

// It must find all that anybody had been told before it began.
void World::CheckClaimed(const Coordinator& coordinator, const std::string& value) {
  for (size_t put = coordinator.known_at_begin - 1; put < history_.size(); ++put) {
    if (history_[put].value == value) return;
  }
  Wrong("a claim found '" + value + "', which is older than what somebody had been told");
}

void World::CheckHistory() {
  std::set<std::pair<uint64_t, uint64_t>> tags;
  std::string value;
  uint64_t owner = 0;
  for (const Put& put : history_) {
    if (!tags.emplace(put.tag.writer, put.tag.number).second) Wrong("one write stood there twice");
    const bool is_claim = put.value == value;
    if (!is_claim && put.tag.writer != owner) Wrong("a write without a claim before it");
    owner = put.tag.writer;
    value = put.value;
  }
}

void World::Wrong(const std::string& what) {
  if (wrong_.empty()) {
    wrong_ =
        "seed " + std::to_string(seed_) + ", at " + std::to_string(now_ns_ / kMs) + " ms: " + what;
  }
}

}  // namespace phalanx::control::simulation
