#include "job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::simulation {
namespace {

sim::Options NetworkOptions(const JobOptions& options) {
  sim::Options network;
  network.seed = options.seed;
  network.copy_windows = options.copy_windows;
  network.unexpected_bytes = 512;
  return network;
}

// Far enough apart for every plan's rounds and messages.
spi::MessageTag TagOf(size_t operation) { return {uint64_t{operation} << 32}; }

}  // namespace

struct Job::Member {
  int rank = 0;
  std::unique_ptr<spi::Wire> wire;
  std::unique_ptr<spi::GroupDomain> domain;
  std::vector<std::unique_ptr<spi::Link>> owned_links;
  std::vector<spi::Link*> links;
  std::unique_ptr<spi::GroupTransport> group;
  uint64_t group_sequence = 0;
  size_t started = 0;                          // operations
  std::unique_ptr<engine::PlanRunner> runner;  // of the operation in progress
};

Job::Job(const JobOptions& options)
    : options_(options), random_(options.seed), network_(NetworkOptions(options)) {
  std::vector<std::string> prepared;
  std::vector<int> ranks;
  for (int rank = 0; rank < options.size; ++rank) {
    auto member = std::make_unique<Member>();
    member->rank = rank;
    member->wire = network_.OpenWire();
    spi::Identity identity;
    identity.rank = rank;
    identity.incarnation.value = static_cast<uint64_t>(rank) + 100;
    member->wire->SetIdentity(identity);
    member->domain = network_.OpenDomain();
    PHX_CHECK(member->domain->Attach(rank, {}).ok());
    prepared.push_back(*member->domain->PrepareGroup(options.size));
    ranks.push_back(rank);
    members_.push_back(std::move(member));
  }
  for (const auto& member : members_) {
    for (const auto& peer : members_) {
      member->owned_links.push_back(nullptr);
      if (peer != member) {
        spi::PeerIdentity identity;
        identity.rank = peer->rank;
        identity.incarnation.value = static_cast<uint64_t>(peer->rank) + 100;
        member->owned_links.back() = *member->wire->Connect(identity, peer->wire->address());
      }
      member->links.push_back(member->owned_links.back().get());
    }
    member->group = *member->domain->OpenGroup(CommunicatorId{0}, ranks, prepared, false);
  }
}

Job::~Job() {
  for (const auto& member : members_) member->wire->Abort(absl::CancelledError("the job is over"));
}

void Job::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = absl::StrCat("seed ", options_.seed, ": ", what);
}

bool Job::Start(Member* member, const Operation& operation) {
  plan::Group group;
  group.rank = member->rank;
  group.size = options_.size;
  group.shares_memory = options_.shares_memory;
  group.oversubscribed = options_.oversubscribed;
  absl::StatusOr<plan::Plan> plan =
      plan::MakePlan(operation.collective(member->rank), group, options_.limits);
  if (!plan.ok()) {
    Fail(absl::StrCat(operation.Describe(), ": ", plan.status().ToString()));
    return false;
  }
  engine::RunContext context;
  context.input = operation.input(member->rank);
  context.output = operation.output(member->rank);
  context.factor = operation.factor(member->rank);
  context.links = member->links;
  context.group = member->group.get();
  if (plan->uses_group()) context.group_sequence = ++member->group_sequence;
  context.tag = TagOf(member->started++);
  member->runner = std::make_unique<engine::PlanRunner>(
      std::make_shared<const plan::Plan>(*std::move(plan)), nullptr);
  const absl::Status started = member->runner->Start(context);
  if (!started.ok()) Fail(started.ToString());
  return true;
}

// True if the rank came on.
bool Job::Turn(Member* member, std::vector<Operation>* operations) {
  bool moved = member->wire->Progress();
  if (member->runner == nullptr) {
    if (member->started == operations->size()) return moved;
    if (!Start(member, (*operations)[member->started])) return true;
  }
  const size_t budget = 1 + random_() % 4096;
  const absl::StatusOr<engine::PlanRunner::State> state = member->runner->Advance(budget);
  if (!state.ok()) {
    Fail(absl::StrCat("rank ", member->rank, ": ", state.status().ToString()));
    return true;
  }
  if (*state == engine::PlanRunner::State::kBlocked) return moved;
  if (*state == engine::PlanRunner::State::kComplete) member->runner.reset();
  return true;
}

std::string Job::Stuck(const std::vector<Operation>& operations) const {
  std::string text = "no rank can come on";
  for (const auto& member : members_) {
    if (member->runner == nullptr) continue;
    absl::StrAppend(&text, "\n  rank ", member->rank, " in ",
                    operations[member->started - 1].Describe(), ": ", member->runner->Describe());
  }
  return text;
}

std::string Job::Run(std::vector<Operation>* operations) {
  for (const auto& member : members_) member->started = 0;
  std::vector<Member*> order;
  for (const auto& member : members_) order.push_back(member.get());
  const auto complete = [operations](const Member* member) {
    return member->runner == nullptr && member->started == operations->size();
  };
  while (failure_.empty() && !std::all_of(order.begin(), order.end(), complete)) {
    std::shuffle(order.begin(), order.end(), random_);
    // Some ranks are slow: those at the end of the order don't get a turn.
    const size_t turns = 1 + random_() % order.size();
    bool moved = turns < order.size();
    for (size_t i = 0; i < turns && failure_.empty(); ++i) moved |= Turn(order[i], operations);
    // Time goes on by as many events as ranks make in about a turn each, or by one at least where
    // nobody can come on without.
    size_t events = random_() % (2 * order.size()) + (moved ? 0 : 1);
    if (!moved && !network_.Step()) Fail(Stuck(*operations));
    while (events-- > 1 && network_.Step()) continue;
  }
  for (const auto& member : members_) {
    if (failure_.empty()) continue;
    member->wire->Abort(absl::CancelledError("the simulation has failed"));
    member->runner.reset();
  }
  for (const std::string& violation : network_.violations()) Fail(violation);
  for (const Operation& operation : *operations) {
    if (!failure_.empty()) break;
    const std::string wrong = operation.Check();
    if (!wrong.empty()) Fail(absl::StrCat(operation.Describe(), ": ", wrong));
  }
  return failure_;
}

}  // namespace phalanx::simulation
