#include "recovery_json.h"

#include <utility>

namespace phalanx::control {
namespace {

using Json = nlohmann::json;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double Milliseconds(std::chrono::microseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Json VersionJson(const std::optional<checkpoint::VersionName>& name) {
  if (!name.has_value() || *name == checkpoint::kInitialVersion) return Json();
  return {{"version", name->version}, {"epoch", name->epoch}};
}

Json SparesJson(const RecoveryFacts& facts) {
  Json processes = Json::array();
  int silent = 0;
  for (const SpareFacts& spare : facts.spares) {
    silent += spare.silent ? 1 : 0;
    processes.push_back({{"pid", spare.pid}, {"node", spare.node}, {"silent", spare.silent}});
  }
  return {{"ready", static_cast<int>(facts.spares.size()) - silent},
          {"silent", silent},
          {"to_come", facts.spares_to_come},
          {"restarts_left", facts.restarts_left},
          {"processes", std::move(processes)}};
}

Json FilesJson(const JobTier& tier) {
  if (!tier.is_on()) return Json();
  return {
      {"folder", tier.settings().folder},     {"every", tier.settings().every},
      {"newest", VersionJson(tier.newest())}, {"being_written", VersionJson(tier.being_written())},
      {"left_out", tier.left_out()},          {"failed", tier.failed()}};
}

Json CheckpointsJson(const RecoveryFacts& facts) {
  const ReplicaHealth replicas = facts.checkpoints->replicas();
  Json committed = VersionJson(facts.checkpoints->newest());
  const std::optional<Clock::time_point> at = facts.history->committed_at();
  // An earlier coordinator's isn't known.
  if (!committed.is_null() && at.has_value()) committed["age_s"] = Seconds(facts.now - *at);
  return {{"committed", std::move(committed)},
          {"commits", facts.history->commits()},
          {"copies",
           {{"wanted", replicas.wanted},
            {"placed", replicas.placed},
            {"missing", replicas.missing},
            {"degraded", replicas.degraded}}},
          {"corrupt_copies", facts.history->corrupt_copies()},
          {"lost_versions", facts.history->lost_versions()},
          {"files", FilesJson(facts.checkpoints->tier())}};
}

Json CurrentJson(const RecoveryFacts& facts) {
  if (!facts.current.has_value()) return Json();
  return {{"for_s", Seconds(facts.now - facts.current->since)},
          {"phase", facts.current->restoring ? "restoring" : "returning"},
          {"awaited", facts.current->awaited},
          {"without_process", facts.current->without_process}};
}

Json LossesJson(const RecoveryFacts& facts) {
  Json losses = Json::array();
  for (auto loss = facts.history->losses().rbegin(); loss != facts.history->losses().rend();
       ++loss) {
    losses.push_back(
        {{"rank", loss->rank}, {"epoch", loss->epoch}, {"age_s", Seconds(facts.now - loss->at)}});
  }
  return losses;
}

Json RecoveriesJson(const RecoveryFacts& facts) {
  Json recoveries = Json::array();
  const auto& all = facts.history->recoveries();
  for (auto recovery = all.rbegin(); recovery != all.rend(); ++recovery) {
    recoveries.push_back({{"epoch", recovery->epoch},
                          {"step", recovery->step},
                          {"bytes", recovery->bytes},
                          {"total_ms", Milliseconds(recovery->total)},
                          {"returned_ms", Milliseconds(recovery->returned)},
                          {"restored_ms", Milliseconds(recovery->restored)},
                          {"age_s", Seconds(facts.now - recovery->at)}});
  }
  return recoveries;
}

Json LogJson(const RecoveryFacts& facts) {
  Json lines = Json::array();
  for (auto line = facts.history->lines().rbegin(); line != facts.history->lines().rend(); ++line) {
    lines.push_back({{"severity", line->severity == LogSeverity::kError ? "error" : "warning"},
                     {"text", line->text},
                     {"age_s", Seconds(facts.now - line->at)}});
  }
  return lines;
}

}  // namespace

void AddRecovery(const RecoveryFacts& facts, Json* status) {
  if (facts.history == nullptr || facts.checkpoints == nullptr) return;
  Json voters = Json::array();
  for (int voter = 0; voter < facts.voters; ++voter) {
    voters.push_back({{"place", "coordinator"}});
  }
  (*status)["spares"] = SparesJson(facts);
  (*status)["voters"] = std::move(voters);
  (*status)["checkpoints"] = CheckpointsJson(facts);
  (*status)["recovery"] = CurrentJson(facts);
  (*status)["recoveries"] = RecoveriesJson(facts);
  (*status)["recoveries_made"] = facts.history->recoveries_made();
  (*status)["losses"] = LossesJson(facts);
  (*status)["losses_seen"] = facts.history->losses_seen();
  (*status)["faults"] = {{"planned", facts.planned_faults}, {"performed", facts.performed_faults}};
  (*status)["log"] = LogJson(facts);
}

}  // namespace phalanx::control
