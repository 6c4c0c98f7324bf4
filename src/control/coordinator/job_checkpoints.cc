#include "control_coordinator/job_checkpoints.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

using checkpoint::AgentId;

std::vector<checkpoint::AgentPlace> PlacesOf(const std::vector<JobCheckpoints::Agent>& agents) {
  std::map<std::string, int64_t> machines;
  int64_t next = 0;
  std::vector<checkpoint::AgentPlace> places;
  for (const JobCheckpoints::Agent& agent : agents) {
    int64_t machine = next++;
    if (!agent.machine.empty()) machine = machines.emplace(agent.machine, machine).first->second;
    places.push_back({agent.id, machine, 0});
  }
  return places;
}

JobEvent EventOf(const char* what, const checkpoint::VersionName& name, int rank) {
  return {what,
          {{"version", name.version}, {"epoch", static_cast<int64_t>(name.epoch)}, {"rank", rank}}};
}

std::string Copies(int count) { return absl::StrCat(count, count == 1 ? " copy" : " copies"); }

}  // namespace

JobCheckpoints::Outputs JobCheckpoints::BeginView(Epoch epoch, std::vector<Agent> agents,
                                                  std::vector<AgentId> owners,
                                                  const ReplicaSettings& replicas, bool restores) {
  agents_ = std::move(agents);
  replicas_ = replicas;
  was_lost_ = was_lost_ || record_.term.epoch > 0;
  owners_ = std::move(owners);
  record_.term = {epoch.value, 0};
  restored_ = false;
  restores_ = restores;
  bytes_restored_ = 0;
  Outputs outputs;
  Claim(&outputs);
  tier_.BeginView(Ids(), owners_, &outputs);
  return outputs;
}

JobCheckpoints::Outputs JobCheckpoints::Restore() {
  Outputs outputs;
  restores_ = true;
  if (commit_ != nullptr) BeginRestoreIfReady(&outputs);
  return outputs;
}

void JobCheckpoints::EndView() {
  tier_.EndView();
  commit_.reset();
  restore_.reset();
}

JobCheckpoints::Outputs JobCheckpoints::LoseAgent(AgentId agent) {
  Outputs outputs;
  std::erase_if(agents_, [&](const Agent& other) { return other.id == agent; });
  was_lost_ = true;
  if (commit_ != nullptr) Claim(&outputs);
  return outputs;
}

void JobCheckpoints::Claim(Outputs* outputs) {
  ++record_.term.claim;
  if (restore_ != nullptr) rounds_ = restore_->rounds();
  restore_.reset();
  inventories_.clear();
  bytes_copied_ = 0;
  failed_ = false;
  const checkpoint::Placement placement =
      checkpoint::Place({PlacesOf(agents_), owners_}, replicas_.wanted);
  SayIfDegraded(placement, outputs);
  holders_ = placement.holders;
  commit_ =
      std::make_unique<checkpoint::Commit>(checkpoint::CommitSettings{}, record_, placement, Ids());
  Perform(commit_->Step(checkpoint::CommitBegins{}), outputs);
}

absl::Status JobCheckpoints::FromAgent(AgentId agent, absl::string_view payload, Outputs* outputs) {
  PHX_ASSIGN_OR_RETURN(checkpoint::Message message, checkpoint::Decode(payload));
  if (commit_ == nullptr) return absl::OkStatus();
  if (auto* inventory = std::get_if<checkpoint::Inventory>(&message)) {
    inventory->holder = agent;
    OnInventory(std::move(*inventory), outputs);
  } else if (auto* stored = std::get_if<checkpoint::Stored>(&message)) {
    stored->holder = agent;
    Perform(commit_->Step(*stored), outputs);
  } else if (auto* bad = std::get_if<checkpoint::CopyIsBad>(&message)) {
    bad->holder = agent;
    SayCorrupt(bad->name, bad->rank, agent, outputs);
    Perform(commit_->Step(*bad), outputs);
  } else if (const auto* wants = std::get_if<checkpoint::Wants>(&message)) {
    Perform(commit_->Step(*wants), outputs);
  } else if (const auto* ended = std::get_if<checkpoint::FetchEnded>(&message)) {
    OnFetchEnded(*ended, outputs);
  } else if (const auto* copied = std::get_if<checkpoint::CopyEnded>(&message)) {
    OnCopyEnded(agent, *copied, outputs);
  } else if (!ForTier(agent, message, outputs)) {
    return absl::InvalidArgumentError("it sent what only others say about checkpoints");
  }
  return absl::OkStatus();
}

JobCheckpoints::Outputs JobCheckpoints::WriteLast() {
  Outputs outputs;
  if (!record_.kept.empty()) tier_.WriteLast(record_.kept.front(), &outputs);
  return outputs;
}

bool JobCheckpoints::ForTier(AgentId agent, const checkpoint::Message& message, Outputs* outputs) {
  if (const auto* tier = std::get_if<checkpoint::Tier>(&message)) {
    tier_.OnTier(agent, *tier, outputs);
    BeginRestoreIfReady(outputs);
  } else if (const auto* written = std::get_if<checkpoint::ShardWritten>(&message)) {
    tier_.OnShardWritten(*written, outputs);
  } else if (const auto* failed = std::get_if<checkpoint::PersistFailed>(&message)) {
    tier_.OnPersistFailed(*failed, outputs);
  } else {
    return false;
  }
  return true;
}

void JobCheckpoints::OnInventory(checkpoint::Inventory inventory, Outputs* outputs) {
  if (!commit_->asking() || inventory.term != record_.term) return;
  const bool is_new = std::none_of(
      inventories_.begin(), inventories_.end(),
      [&](const checkpoint::Inventory& other) { return other.holder == inventory.holder; });
  if (is_new) inventories_.push_back(inventory);
  Perform(commit_->Step(inventory), outputs);
  BeginRestoreIfReady(outputs);
}

void JobCheckpoints::BeginRestoreIfReady(Outputs* outputs) {
  if (!restores_ || restored_ || restore_ != nullptr) return;
  if (commit_->asking() || !tier_.known()) return;
  checkpoint::RestoreSettings settings;
  settings.rounds_before = rounds_;
  restore_ = std::make_unique<checkpoint::Restore>(settings, record_, owners_, inventories_,
                                                   tier_.Versions());
  outputs->restoring = true;
  Perform(restore_->Step(checkpoint::RestoreBegins{}), outputs);
}

void JobCheckpoints::OnFetchEnded(const checkpoint::FetchEnded& ended, Outputs* outputs) {
  if (restore_ == nullptr) return;
  bytes_restored_ += ended.bytes;
  if (ended.result == checkpoint::LoadResult::kLoaded) {
    Perform(restore_->Step(checkpoint::Fetched{ended.rank, ended.name, ended.source}), outputs);
  } else {
    const bool corrupt = ended.result == checkpoint::LoadResult::kCorrupt;
    const bool is_held = ended.source.kind == checkpoint::Source::Kind::kLocal ||
                         ended.source.kind == checkpoint::Source::Kind::kReplica;
    if (corrupt && is_held) SayCorrupt(ended.name, ended.rank, ended.source.agent, outputs);
    Perform(restore_->Step(checkpoint::FetchFailed{ended.rank, ended.name, ended.source, corrupt}),
            outputs);
  }
}

void JobCheckpoints::OnCopyEnded(AgentId to, const checkpoint::CopyEnded& ended, Outputs* outputs) {
  if (ended.result == checkpoint::LoadResult::kLoaded) {
    bytes_copied_ += ended.bytes;
    return;
  }
  const checkpoint::Orders orders = commit_->orders();
  const auto is_among = [&](const std::vector<checkpoint::VersionName>& names) {
    return std::find(names.begin(), names.end(), ended.name) != names.end();
  };
  const bool is_kept = is_among(orders.kept);
  if (commit_->asking() || (!is_kept && !is_among(orders.in_flight))) return;  // freed meanwhile
  const bool corrupt = ended.result == checkpoint::LoadResult::kCorrupt;
  outputs->lines.push_back(absl::StrCat("copying the shard of rank ", ended.rank, " of ",
                                        Describe(ended.name), " from ", NameOf(ended.from), " to ",
                                        NameOf(to),
                                        " failed: ", corrupt ? "it is corrupt" : "no answer"));
  if (corrupt) SayCorrupt(ended.name, ended.rank, ended.from, outputs);
  failed_ = true;
  // One in flight is given up: its successor is worth more than a wait of unknown length.
  if (!is_kept) {
    Perform(commit_->Step(checkpoint::CopyIsBad{ended.name, ended.rank, to}), outputs);
  } else if (corrupt) {
    Perform(commit_->Step(checkpoint::CopyIsBad{ended.name, ended.rank, ended.from}), outputs);
  }
}

JobCheckpoints::Outputs JobCheckpoints::Again() {
  Outputs outputs;
  if (commit_ != nullptr && std::exchange(failed_, false)) {
    Perform(commit_->Step(checkpoint::CommitAgain{}), &outputs);
  }
  return outputs;
}

void JobCheckpoints::SendWithAddress(AgentId to, AgentId from, const checkpoint::Message& message,
                                     Outputs* outputs) const {
  const Agent* const peer = Find(from);
  if (peer != nullptr && from != to) {
    outputs->messages.push_back({to, checkpoint::Encode(checkpoint::PeerAddress{
                                         from, peer->peers.host, peer->peers.port})});
  }
  outputs->messages.push_back({to, checkpoint::Encode(message)});
}

void JobCheckpoints::SayCorrupt(const checkpoint::VersionName& name, int rank, AgentId holder,
                                Outputs* outputs) {
  // Its reader and its holder both say so.
  if (!corrupt_.emplace(name, rank, holder).second) return;
  outputs->events.push_back(EventOf("copy_corrupt", name, rank));
  outputs->lines.push_back(absl::StrCat("a saved copy is corrupt: ", Describe(name), ", rank ",
                                        rank, ", on ", NameOf(holder), " (", corrupt_.size(),
                                        " corrupt so far)"));
}

void JobCheckpoints::SayIfDegraded(const checkpoint::Placement& placement, Outputs* outputs) {
  copies_ = placement.effective;
  most_copies_ = std::max(most_copies_, copies_);
  if (!placement.degraded()) {
    told_copies_.reset();
    return;
  }
  // One machine can't hold two, and whoever has one has not asked for two.
  if (!replicas_.is_asked && most_copies_ == 1) return;
  if (told_copies_ == copies_) return;
  told_copies_ = copies_;
  outputs->lines.push_back(absl::StrCat("degraded: of each rank's state there can be ",
                                        Copies(copies_), ", not ", placement.wanted,
                                        ": each needs a machine of its own"));
}

std::vector<AgentId> JobCheckpoints::Ids() const {
  std::vector<AgentId> ids;
  for (const Agent& agent : agents_) ids.push_back(agent.id);
  return ids;
}

const JobCheckpoints::Agent* JobCheckpoints::Find(AgentId id) const {
  const auto found = std::find_if(agents_.begin(), agents_.end(),
                                  [&](const Agent& agent) { return agent.id == id; });
  return found == agents_.end() ? nullptr : &*found;
}

std::string JobCheckpoints::NameOf(AgentId id) const {
  const Agent* const agent = Find(id);
  return agent == nullptr ? "a node that is gone" : agent->name;
}

AgentId JobCheckpoints::HolderOf(int rank, int copy) const {
  if (rank < 0 || static_cast<size_t>(rank) >= holders_.size()) return 0;
  const std::vector<AgentId>& holders = holders_[static_cast<size_t>(rank)];
  return static_cast<size_t>(copy) < holders.size() ? holders[static_cast<size_t>(copy)] : 0;
}

bool JobCheckpoints::HasCopiesWithout(AgentId agent) const {
  if (newest() == checkpoint::kInitialVersion || tier_.is_on()) return true;
  return std::all_of(holders_.begin(), holders_.end(), [&](const std::vector<AgentId>& holders) {
    return std::any_of(holders.begin(), holders.end(),
                       [&](AgentId holder) { return holder != agent; });
  });
}

JobCheckpoints::Outputs JobCheckpoints::RecordWritten() {
  Outputs outputs;
  if (!writing_.has_value()) return outputs;
  record_ = *std::exchange(writing_, std::nullopt);
  if (commit_ == nullptr) return outputs;
  Perform(commit_->Step(checkpoint::RecordAnswer{checkpoint::RecordAnswer::Result::kDone, record_}),
          &outputs);
  return outputs;
}

void JobCheckpoints::Perform(const std::vector<checkpoint::CommitOutput>& todo, Outputs* outputs) {
  for (const checkpoint::CommitOutput& output : todo) {
    if (const auto* tell = std::get_if<checkpoint::TellAgent>(&output)) {
      outputs->messages.push_back(
          {tell->agent,
           std::visit([](const auto& what) { return checkpoint::Encode(what); }, tell->what)});
    } else if (const auto* write = std::get_if<checkpoint::WriteRecord>(&output)) {
      writing_ = write->value;
      outputs->writes = true;
    } else if (std::holds_alternative<checkpoint::Committed>(output)) {
      tier_.OnCommitted(record_.kept.front(), outputs);
    } else if (const auto* abandoned = std::get_if<checkpoint::Abandoned>(&output)) {
      outputs->lines.push_back(absl::StrCat(Describe(abandoned->name),
                                            " isn't saved: the copy of rank ", abandoned->rank,
                                            " went bad"));
    } else if (const auto* copy = std::get_if<checkpoint::CopyShard>(&output)) {
      SendWithAddress(copy->to, copy->from,
                      checkpoint::Copy{copy->name, copy->rank, copy->from, copy->digest}, outputs);
    } else if (std::holds_alternative<checkpoint::Healthy>(output)) {
      const bool is_news = was_lost_ && copies_ > 1 && newest() != checkpoint::kInitialVersion;
      if (is_news) outputs->healthy_copies = copies_;
      if (is_news) outputs->bytes_copied = bytes_copied_;
      was_lost_ = false;
    }
    // The others are told to agents by Orders.
  }
}

void JobCheckpoints::Perform(const std::vector<checkpoint::RestoreOutput>& todo, Outputs* outputs) {
  for (const checkpoint::RestoreOutput& output : todo) {
    if (const auto* fetch = std::get_if<checkpoint::Fetch>(&output)) {
      SendWithAddress(owners_[static_cast<size_t>(fetch->rank)], fetch->source.agent, *fetch,
                      outputs);
    } else if (const auto* lost = std::get_if<checkpoint::VersionLost>(&output)) {
      outputs->events.push_back(EventOf("version_lost", lost->name, lost->rank));
      outputs->lines.push_back(absl::StrCat("lost: ", Describe(lost->name),
                                            "; no good copy is left of the shard of rank ",
                                            lost->rank));
      lost_ = outputs->lines.back();
    } else if (const auto* restored = std::get_if<checkpoint::Restored>(&output)) {
      restored_ = true;
      outputs->restored = restored->name;
      outputs->bytes_restored = bytes_restored_;
      for (const Agent& agent : agents_) {
        outputs->messages.push_back({agent.id, checkpoint::Encode(*restored)});
      }
      tier_.OnRestored(restored->name, record_, outputs);
    } else {
      outputs->lost = absl::DataLossError(
          absl::StrCat("no saved version is whole any more, so the job can't go on (", lost_, ")"));
    }
  }
}

}  // namespace phalanx::control
