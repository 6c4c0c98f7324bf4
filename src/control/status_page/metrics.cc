#include "control_status_page/metrics.h"

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace phalanx::control {
namespace {

using Json = nlohmann::json;
using Labels = std::vector<std::pair<const char*, std::string>>;

// As much of a number as is true: whole ones without a point.
std::string NumberText(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_unsigned()) return absl::StrCat(value.get<uint64_t>());
  if (value.is_number_integer()) return absl::StrCat(value.get<int64_t>());
  return absl::StrFormat("%.9g", value.get<double>());
}

class Metrics {
 public:
  // One metric: what follows until the next are its samples.
  void Begin(const char* name, const char* type, const char* help) {
    name_ = name;
    head_ = absl::StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  void Add(const Json& value, const Labels& labels = {}) {
    if (!value.is_number() && !value.is_boolean()) return;
    text_ += std::exchange(head_, "");
    text_ += name_;
    for (size_t i = 0; i < labels.size(); ++i) {
      const std::string escaped =
          absl::StrReplaceAll(labels[i].second, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
      absl::StrAppend(&text_, i == 0 ? "{" : ",", labels[i].first, "=\"", escaped, "\"");
    }
    absl::StrAppend(&text_, labels.empty() ? " " : "} ", NumberText(value), "\n");
  }
  void Gauge(const char* name, const char* help, const Json& value) {
    Begin(name, "gauge", help);
    Add(value);
  }
  void Counter(const char* name, const char* help, const Json& value) {
    Begin(name, "counter", help);
    Add(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  const char* name_ = "";
  std::string head_;
  std::string text_;
};

// null where a member is missing.
Json At(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* const name : path) {
    if (!at->is_object() || !at->contains(name)) return Json();
    at = &(*at)[name];
  }
  return *at;
}

std::string TextAt(const Json& json, const char* name) {
  const Json value = At(json, {name});
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? NumberText(value) : "";
}

// In seconds, of what is given in milliseconds.
Json Seconds(const Json& milliseconds) {
  return milliseconds.is_number() ? Json(milliseconds.get<double>() / 1000) : Json();
}

size_t SizeOf(const Json& list) { return list.is_array() ? list.size() : 0; }

void AddJob(const Json& status, Metrics* metrics) {
  metrics->Begin("phalanx_job_info", "gauge", "The job; always 1.");
  metrics->Add(1, {{"job", TextAt(status, "job")}});
  metrics->Begin("phalanx_job_phase", "gauge", "1 for the phase that the job is in, else 0.");
  const std::string phase = TextAt(status, "phase");
  for (const char* const one : {"joining", "running", "recovering", "storing", "ending"}) {
    metrics->Add(phase == one ? 1 : 0, {{"phase", one}});
  }
  metrics->Gauge("phalanx_epoch", "Number of the view.", At(status, {"epoch"}));
  metrics->Gauge("phalanx_ranks", "Ranks of the job.", At(status, {"world_size"}));
  metrics->Gauge("phalanx_nodes", "Nodes whose agents are there.", SizeOf(At(status, {"nodes"})));
  metrics->Gauge("phalanx_voters", "Voters that hold the job's record.",
                 SizeOf(At(status, {"voters"})));
}

void AddRanks(const Json& ranks, Metrics* metrics) {
  if (!ranks.is_array()) return;
  const auto labels = [](const Json& rank) {
    return Labels{{"rank", TextAt(rank, "rank")}, {"node", TextAt(rank, "node")}};
  };
  metrics->Begin("phalanx_rank_ready", "gauge",
                 "1 if the rank's process is in the view, or was to its end.");
  for (const Json& rank : ranks) {
    const std::string state = TextAt(rank, "state");
    metrics->Add(state == "ready" || state == "closing", labels(rank));
  }
  metrics->Begin("phalanx_rank_silent", "gauge", "1 if its agent has long heard nothing from it.");
  for (const Json& rank : ranks) metrics->Add(rank.contains("silent"), labels(rank));
  metrics->Begin("phalanx_rank_operations_in_flight", "gauge",
                 "Operations that are issued and not complete; of jobs that track them.");
  for (const Json& rank : ranks) {
    if (rank.contains("operations")) metrics->Add(SizeOf(rank["operations"]), labels(rank));
  }
}

void AddSpares(const Json& spares, Metrics* metrics) {
  if (!spares.is_object()) return;
  metrics->Begin("phalanx_spares", "gauge",
                 "Processes that can take a lost rank's place; to_come: that were announced.");
  for (const char* const state : {"ready", "silent", "to_come"}) {
    metrics->Add(At(spares, {state}), {{"state", state}});
  }
  metrics->Gauge("phalanx_restarts_left", "Processes that the nodes would start where one is lost.",
                 At(spares, {"restarts_left"}));
}

void AddCheckpoints(const Json& checkpoints, Metrics* metrics) {
  metrics->Gauge("phalanx_committed_version", "Step of the newest committed checkpoint.",
                 At(checkpoints, {"committed", "version"}));
  metrics->Gauge("phalanx_committed_age_seconds", "Since it was committed.",
                 At(checkpoints, {"committed", "age_s"}));
  metrics->Counter("phalanx_commits_total", "Checkpoints that this coordinator has committed.",
                   At(checkpoints, {"commits"}));
  metrics->Gauge("phalanx_copies_wanted", "Copies that each rank's state is to have.",
                 At(checkpoints, {"copies", "wanted"}));
  metrics->Gauge("phalanx_copies_possible", "Copies that it can have on the nodes that are there.",
                 At(checkpoints, {"copies", "placed"}));
  metrics->Gauge("phalanx_copies_missing", "1 while lost copies aren't made again.",
                 At(checkpoints, {"copies", "missing"}));
  metrics->Gauge("phalanx_copies_degraded", "1 while fewer copies are possible than are wanted.",
                 At(checkpoints, {"copies", "degraded"}));
  metrics->Counter("phalanx_corrupt_copies_total", "Saved copies that were found to be corrupt.",
                   At(checkpoints, {"corrupt_copies"}));
  metrics->Gauge("phalanx_files_version", "Step of the newest checkpoint in files.",
                 At(checkpoints, {"files", "newest", "version"}));
  metrics->Counter("phalanx_files_failed_total", "Checkpoints that could not be written to files.",
                   At(checkpoints, {"files", "failed"}));
}

void AddRecoveries(const Json& status, Metrics* metrics) {
  metrics->Counter("phalanx_losses_total", "Ranks' processes that were lost.",
                   At(status, {"losses_seen"}));
  metrics->Counter("phalanx_recoveries_total", "Losses and restarts that the job went on from.",
                   At(status, {"recoveries_made"}));
  const Json current = At(status, {"recovery"});
  metrics->Gauge("phalanx_recovering_seconds",
                 "Since the loss that is being recovered from; 0: none is.",
                 current.is_object() ? At(current, {"for_s"}) : Json(0));
  const Json all = At(status, {"recoveries"});
  if (SizeOf(all) > 0) {
    const Json& last = all[0];
    metrics->Begin("phalanx_last_recovery_seconds", "gauge",
                   "Of the last recovery: in total, until all ranks were back, to restore.");
    metrics->Add(Seconds(At(last, {"total_ms"})), {{"phase", "total"}});
    metrics->Add(Seconds(At(last, {"returned_ms"})), {{"phase", "returned"}});
    metrics->Add(Seconds(At(last, {"restored_ms"})), {{"phase", "restored"}});
    metrics->Gauge("phalanx_last_recovery_bytes", "That were restored in it, over all ranks.",
                   At(last, {"bytes"}));
  }
  metrics->Counter("phalanx_faults_performed_total", "Faults that the job was to suffer and has.",
                   SizeOf(At(status, {"faults", "performed"})));
}

void AddOperations(const Json& status, Metrics* metrics) {
  const Json waits = At(status, {"waits"});
  if (waits.is_array()) {
    metrics->Gauge("phalanx_operations_waiting", "Operations that wait for ranks.", waits.size());
  }
  metrics->Counter("phalanx_reports_total", "Reports about operations that wait.",
                   At(status, {"reports_made"}));
}

}  // namespace

std::string MetricsOf(const std::string& status) {
  const Json json = Json::parse(status, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("job")) return "";
  Metrics metrics;
  AddJob(json, &metrics);
  AddRanks(At(json, {"ranks"}), &metrics);
  AddSpares(At(json, {"spares"}), &metrics);
  AddCheckpoints(At(json, {"checkpoints"}), &metrics);
  AddRecoveries(json, &metrics);
  AddOperations(json, &metrics);
  return metrics.Take();
}

}  // namespace phalanx::control
