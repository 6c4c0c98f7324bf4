#include "control_coordinator/job_checkpoints.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/placement.h"

namespace phalanx::control {
namespace {

using checkpoint::AgentId;

// Shards are kept by their own agents alone so far.
constexpr int kReplicas = 1;

checkpoint::Placement PlaceOn(const std::vector<AgentId>& agents,
                              const std::vector<AgentId>& owners) {
  checkpoint::ClusterView cluster;
  for (const AgentId agent : agents) cluster.agents.push_back({agent, agent, 0});
  cluster.owners = owners;
  return checkpoint::Place(cluster, kReplicas);
}

}  // namespace

JobCheckpoints::Outputs JobCheckpoints::BeginView(Epoch epoch, std::vector<AgentId> agents,
                                                  std::vector<AgentId> owners) {
  agents_ = std::move(agents);
  owners_ = std::move(owners);
  record_.term = {epoch.value, 0};
  restored_ = false;
  bytes_restored_ = 0;
  Outputs outputs;
  Claim(&outputs);
  tier_.BeginView(agents_, owners_, &outputs);
  return outputs;
}

void JobCheckpoints::EndView() {
  tier_.EndView();
  commit_.reset();
  restore_.reset();
}

JobCheckpoints::Outputs JobCheckpoints::LoseAgent(AgentId agent) {
  Outputs outputs;
  std::erase(agents_, agent);
  if (commit_ != nullptr) Claim(&outputs);
  return outputs;
}

void JobCheckpoints::Claim(Outputs* outputs) {
  ++record_.term.claim;
  restore_.reset();
  inventories_.clear();
  commit_ = std::make_unique<checkpoint::Commit>(checkpoint::CommitSettings{}, record_,
                                                 PlaceOn(agents_, owners_), agents_);
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
    outputs->lines.push_back(
        absl::StrCat("a saved copy is corrupt: ", Describe(bad->name), ", rank ", bad->rank));
    Perform(commit_->Step(*bad), outputs);
  } else if (const auto* wants = std::get_if<checkpoint::Wants>(&message)) {
    Perform(commit_->Step(*wants), outputs);
  } else if (const auto* ended = std::get_if<checkpoint::FetchEnded>(&message)) {
    OnFetchEnded(*ended, outputs);
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
  if (commit_->asking() || restored_ || restore_ != nullptr || !tier_.known()) return;
  restore_ = std::make_unique<checkpoint::Restore>(checkpoint::RestoreSettings{}, record_, owners_,
                                                   inventories_, tier_.Versions());
  Perform(restore_->Step(checkpoint::RestoreBegins{}), outputs);
}

void JobCheckpoints::OnFetchEnded(const checkpoint::FetchEnded& ended, Outputs* outputs) {
  if (restore_ == nullptr) return;
  bytes_restored_ += ended.bytes;
  if (ended.result == checkpoint::LoadResult::kLoaded) {
    Perform(restore_->Step(checkpoint::Fetched{ended.rank, ended.name, ended.source}), outputs);
  } else {
    const bool corrupt = ended.result == checkpoint::LoadResult::kCorrupt;
    Perform(restore_->Step(checkpoint::FetchFailed{ended.rank, ended.name, ended.source, corrupt}),
            outputs);
  }
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
    }
    // The others are told to agents by Orders, or need a second holder.
  }
}

void JobCheckpoints::Perform(const std::vector<checkpoint::RestoreOutput>& todo, Outputs* outputs) {
  for (const checkpoint::RestoreOutput& output : todo) {
    if (const auto* fetch = std::get_if<checkpoint::Fetch>(&output)) {
      outputs->messages.push_back(
          {owners_[static_cast<size_t>(fetch->rank)], checkpoint::Encode(*fetch)});
    } else if (const auto* lost = std::get_if<checkpoint::VersionLost>(&output)) {
      outputs->lines.push_back(absl::StrCat("lost: ", Describe(lost->name),
                                            "; no good copy is left of the shard of rank ",
                                            lost->rank));
    } else if (const auto* restored = std::get_if<checkpoint::Restored>(&output)) {
      restored_ = true;
      outputs->restored = restored->name;
      outputs->bytes_restored = bytes_restored_;
      for (const AgentId agent : agents_) {
        outputs->messages.push_back({agent, checkpoint::Encode(*restored)});
      }
      tier_.OnRestored(restored->name, record_, outputs);
    } else {
      outputs->lost = absl::DataLossError(
          "no saved version is whole any more, so the job can't go on; the log names the shards");
    }
  }
}

}  // namespace phalanx::control
