#include "vote_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::checkpoint::simulation {
namespace {

constexpr int kStormySteps = 1'000;
constexpr int kCalmSteps = 20'000;
constexpr int64_t kStepsOfCalm = 2;

}  // namespace

VoteWorld::VoteWorld(uint64_t seed, Trace trace) : chance_(seed), trace_(std::move(trace)) {
  const auto ranks = static_cast<int>(chance_.Between(1, 5));
  for (int rank = 0; rank < ranks; ++rank) {
    processes_.push_back(std::make_shared<Process>(rank, true));
  }
}

std::string VoteWorld::Run(VoteTally* tally) {
  BeginView();
  for (int i = 0; i < kStormySteps && wrong_.empty() && !over_; ++i) Act(true);
  if (view_due_ && !over_) BeginView();
  const int64_t before = static_cast<int64_t>(history_.size());
  const auto steps = [&] { return static_cast<int64_t>(history_.size()) - before; };
  for (int i = 0; i < kCalmSteps && wrong_.empty() && !over_ && steps() < kStepsOfCalm; ++i) {
    Act(false);
  }
  if (!over_ && steps() < kStepsOfCalm) Violate("nothing goes on though nothing fails any more");
  tally_.steps += history_.size();
  tally->steps += tally_.steps;
  tally->views += tally_.views;
  tally->coordinators += tally_.coordinators;
  tally->finished_by_survivors += tally_.finished_by_survivors;
  tally->recomputed += tally_.recomputed;
  tally->copies += tally_.copies;
  tally->ended += tally_.ended;
  return wrong_;
}

void VoteWorld::Act(bool faults) {
  if (bag_.full() && !chance_.OneIn(8)) {
    bag_.DeliverOne(chance_, faults);
    return;
  }
  const int64_t dice = chance_.Between(0, 99);
  if (view_due_ && dice < 5) {
    BeginView();
  } else if (faults && dice < 7 && chance_.OneIn(16)) {
    Kill(static_cast<size_t>(chance_.Between(0, static_cast<int64_t>(processes_.size()) - 1)));
  } else if (faults && dice < 9 && chance_.OneIn(6)) {
    Say("the coordinator dies");
    ++tally_.coordinators;
    BeginCoordinator();
  } else if (dice < 15) {
    FeedVote(StepVoteAgain{});
  } else if (dice < 20) {
    Feed(chance_.Of(processes_).get(), StepMemberAgain{});
  } else if (dice < 22 && !zombies_.empty()) {
    Process* zombie = chance_.Of(zombies_).get();
    if (zombie->core.running()) Compute(zombie);
    Feed(zombie, StepMemberAgain{});
  } else if (dice < 45) {
    Compute(chance_.Of(processes_).get());
  } else if (!bag_.empty()) {
    bag_.DeliverOne(chance_, faults);
  }
}

void VoteWorld::Kill(size_t which) {
  Process& process = *processes_[which];
  if (!process.alive) return;
  Say(absl::StrCat("rank ", process.rank, " is lost"));
  process.alive = false;
  view_due_ = true;
  if (chance_.OneIn(2)) {  // frozen or cut off, not dead
    zombies_.push_back(processes_[which]);
    process.alive = true;
    processes_[which] = std::make_shared<Process>(process.rank, false);
    processes_[which]->alive = false;
  }
}

void VoteWorld::BeginView() {
  view_due_ = false;
  ++tally_.views;
  ++term_.epoch;
  const bool shrinks = chance_.OneIn(4);
  std::vector<std::shared_ptr<Process>> next;
  for (const auto& process : processes_) {
    if (process->alive) {
      next.push_back(process);
    } else if (!shrinks) {
      next.push_back(std::make_shared<Process>(process->rank, false));
    }
  }
  processes_ = std::move(next);
  if (processes_.empty()) {
    ++tally_.ended;
    over_ = true;
    return;
  }
  BeginCoordinator();
}

void VoteWorld::BeginCoordinator() {
  ++term_.claim;
  std::vector<int> ranks;
  for (const auto& process : processes_) ranks.push_back(process->rank);
  members_[term_.epoch] = {ranks.begin(), ranks.end()};
  vote_ = std::make_unique<StepVote>(term_, ranks);
  Say(absl::StrCat("epoch ", term_.epoch, ", claim ", term_.claim, ", ", ranks.size(), " ranks"));
  FeedVote(StepVoteBegins{});
}

VoteWorld::Process* VoteWorld::Find(int rank) {
  for (const auto& process : processes_) {
    if (process->rank == rank) return process.get();
  }
  return nullptr;
}

void VoteWorld::FeedVote(const StepVoteInput& input) {
  for (const StepVoteOutput& output : vote_->Step(input)) {
    if (const auto* tell = std::get_if<TellRank>(&output)) {
      // To the process, not the rank: who fills the rank later has another address.
      for (const auto& process : processes_) {
        if (process->rank != tell->rank) continue;
        const auto what = tell->what;
        bag_.Add(false, [this, process, what] {
          std::visit([&](const auto& body) { Feed(process.get(), body); }, what);
        });
      }
    } else if (const auto* resume = std::get_if<StepsResume>(&output)) {
      Resumed(resume->committed);
    } else {
      const bool nobody = std::none_of(processes_.begin(), processes_.end(), [](const auto& each) {
        return each->alive && each->core.whole();
      });
      Say("live healing is impossible");
      if (!nobody) Violate("rolled back though somebody was whole");
      ++tally_.ended;
      over_ = true;
    }
  }
}

void VoteWorld::Feed(Process* process, const StepMemberInput& input) {
  if (!process->alive) return;
  for (const StepMemberOutput& output : process->core.Step(input)) On(process, output);
}

void VoteWorld::On(Process* process, const StepMemberOutput& output) {
  if (const auto* apply = std::get_if<ApplyNow>(&output)) {
    Apply(process, apply->step);
  } else if (const auto* copy = std::get_if<StartCopy>(&output)) {
    Copy(process, *copy);
  } else if (std::holds_alternative<Recompute>(output)) {
    ++tally_.recomputed;
  } else if (const auto* report = std::get_if<StepReport>(&output)) {
    bag_.Add(false, [this, said = *report] { FeedVote(said); });
  } else if (const auto* stands = std::get_if<StepStands>(&output)) {
    bag_.Add(false, [this, said = *stands] { FeedVote(said); });
  } else if (const auto* vote = std::get_if<Vote>(&output)) {
    bag_.Add(false, [this, said = *vote] { FeedVote(said); });
  }
}

// The step's operations complete on a rank once all ranks of the epoch have begun the step; or on
// some of them only, if the epoch ends then.
void VoteWorld::Compute(Process* process) {
  const StepMember& core = process->core;
  if (!process->alive || !core.running() || core.has_voted()) return;
  const int64_t step = core.committed() + 1;
  std::set<int>& begun = started_[core.term().epoch][step];
  begun.insert(process->rank);
  if (begun != members_[core.term().epoch]) return;
  process->computed_in = core.term().epoch;
  Feed(process, StepComplete{step});
}

void VoteWorld::Apply(Process* process, int64_t step) {
  Say(absl::StrCat("rank ", process->rank, " applies step ", step, " as computed in epoch ",
                   process->computed_in));
  if (static_cast<size_t>(step) != process->regions.size()) {
    Violate(absl::StrCat("rank ", process->rank, " applies step ", step, " out of order"));
    return;
  }
  process->regions.push_back(process->computed_in);
  if (process->regions.size() > history_.size()) {
    history_.push_back(process->computed_in);
    if (!process->core.running()) ++tally_.finished_by_survivors;
  }
  const bool agrees =
      std::equal(process->regions.begin(), process->regions.end(), history_.begin());
  if (!agrees) Violate(absl::StrCat("rank ", process->rank, " has applied another step ", step));
}

void VoteWorld::Copy(Process* process, const StartCopy& copy) {
  std::shared_ptr<Process> source, joiner;
  for (const auto& each : processes_) {
    if (each->rank == copy.from) source = each;
    if (each.get() == process) joiner = each;
  }
  if (source == nullptr || joiner == nullptr) return;
  process->regions.assign(1, ~uint64_t{0});  // half copied
  bag_.Add(false, [this, source, joiner, copy] {
    if (!source->alive || joiner->core.term() != copy.term) return;
    if (source->core.term() != copy.term) return;  // it has gone on to another view
    if (joiner->core.committed() >= copy.step && joiner->core.committed() >= 0) return;
    if (joiner->core.running()) return;
    ++tally_.copies;
    joiner->regions = source->regions;
    if (static_cast<int64_t>(joiner->regions.size()) != copy.step + 1) {
      Violate("a joiner copies regions that have moved");
    }
    Feed(joiner.get(), RegionsCopied{copy.term, copy.step});
  });
}

void VoteWorld::Resumed(int64_t committed) {
  Say(absl::StrCat("all stand at step ", committed));
  if (committed + 1 < static_cast<int64_t>(history_.size())) {
    Violate(absl::StrCat("step ", committed + 1, " was applied and is lost"));
  }
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    const bool equal = process->regions == history_;
    if (!equal) Violate(absl::StrCat("rank ", process->rank, " resumes with other regions"));
  }
}

void VoteWorld::Violate(const std::string& what) {
  Say(what);
  if (wrong_.empty()) wrong_ = what;
}

void VoteWorld::Say(const std::string& what) {
  if (trace_) trace_(what);
}

}  // namespace phalanx::checkpoint::simulation
