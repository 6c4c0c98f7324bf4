#include "control_status_page/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStatus[] = R"json({
  "job": "a \"b\" \\c", "phase": "recovering", "epoch": 2, "world_size": 2,
  "nodes": [{"node": 0, "name": "one", "cores": 2}],
  "voters": [{"place": "coordinator"}],
  "ranks": [{"rank": 0, "node": 0, "state": "ready", "silent": true, "operations": [{}, {}]},
            {"rank": 1, "state": "lost"}],
  "spares": {"ready": 1, "silent": 0, "to_come": 2, "restarts_left": 3, "processes": []},
  "checkpoints": {"committed": {"version": 119, "epoch": 1, "age_s": 0.25}, "commits": 120,
                  "copies": {"wanted": 2, "placed": 1, "missing": true, "degraded": false},
                  "corrupt_copies": 4, "lost_versions": 0,
                  "files": {"newest": {"version": 100, "epoch": 1}, "failed": 5}},
  "recovery": {"for_s": 1.5, "phase": "returning", "awaited": [], "without_process": [1]},
  "recoveries": [{"epoch": 2, "step": 9, "bytes": 4096, "total_ms": 3.5, "returned_ms": 1.25,
                  "restored_ms": 2.25, "age_s": 10}],
  "recoveries_made": 6, "losses": [], "losses_seen": 7,
  "faults": {"planned": 2, "performed": ["kill rank=1 at=step:9"]},
  "waits": [{}], "reports_made": 8})json";

constexpr char kMetrics[] = R"(# HELP phalanx_job_info The job; always 1.
# TYPE phalanx_job_info gauge
phalanx_job_info{job="a \"b\" \\c"} 1
# HELP phalanx_job_phase 1 for the phase that the job is in, else 0.
# TYPE phalanx_job_phase gauge
phalanx_job_phase{phase="joining"} 0
phalanx_job_phase{phase="running"} 0
phalanx_job_phase{phase="recovering"} 1
phalanx_job_phase{phase="storing"} 0
phalanx_job_phase{phase="ending"} 0
# HELP phalanx_epoch Number of the view.
# TYPE phalanx_epoch gauge
phalanx_epoch 2
# HELP phalanx_ranks Ranks of the job.
# TYPE phalanx_ranks gauge
phalanx_ranks 2
# HELP phalanx_nodes Nodes whose agents are there.
# TYPE phalanx_nodes gauge
phalanx_nodes 1
# HELP phalanx_voters Voters that hold the job's record.
# TYPE phalanx_voters gauge
phalanx_voters 1
# HELP phalanx_rank_ready 1 if the rank's process is in the view, or was to its end.
# TYPE phalanx_rank_ready gauge
phalanx_rank_ready{rank="0",node="0"} 1
phalanx_rank_ready{rank="1",node=""} 0
# HELP phalanx_rank_silent 1 if its agent has long heard nothing from it.
# TYPE phalanx_rank_silent gauge
phalanx_rank_silent{rank="0",node="0"} 1
phalanx_rank_silent{rank="1",node=""} 0
# HELP phalanx_rank_operations_in_flight Operations that are issued and not complete; of jobs that track them.
# TYPE phalanx_rank_operations_in_flight gauge
phalanx_rank_operations_in_flight{rank="0",node="0"} 2
# HELP phalanx_spares Processes that can take a lost rank's place; to_come: that were announced.
# TYPE phalanx_spares gauge
phalanx_spares{state="ready"} 1
phalanx_spares{state="silent"} 0
phalanx_spares{state="to_come"} 2
# HELP phalanx_restarts_left Processes that the nodes would start where one is lost.
# TYPE phalanx_restarts_left gauge
phalanx_restarts_left 3
# HELP phalanx_committed_version Step of the newest committed checkpoint.
# TYPE phalanx_committed_version gauge
phalanx_committed_version 119
# HELP phalanx_committed_age_seconds Since it was committed.
# TYPE phalanx_committed_age_seconds gauge
phalanx_committed_age_seconds 0.25
# HELP phalanx_commits_total Checkpoints that this coordinator has committed.
# TYPE phalanx_commits_total counter
phalanx_commits_total 120
# HELP phalanx_copies_wanted Copies that each rank's state is to have.
# TYPE phalanx_copies_wanted gauge
phalanx_copies_wanted 2
# HELP phalanx_copies_possible Copies that it can have on the nodes that are there.
# TYPE phalanx_copies_possible gauge
phalanx_copies_possible 1
# HELP phalanx_copies_missing 1 while lost copies aren't made again.
# TYPE phalanx_copies_missing gauge
phalanx_copies_missing 1
# HELP phalanx_copies_degraded 1 while fewer copies are possible than are wanted.
# TYPE phalanx_copies_degraded gauge
phalanx_copies_degraded 0
# HELP phalanx_corrupt_copies_total Saved copies that were found to be corrupt.
# TYPE phalanx_corrupt_copies_total counter
phalanx_corrupt_copies_total 4
# HELP phalanx_files_version Step of the newest checkpoint in files.
# TYPE phalanx_files_version gauge
phalanx_files_version 100
# HELP phalanx_files_failed_total Checkpoints that could not be written to files.
# TYPE phalanx_files_failed_total counter
phalanx_files_failed_total 5
# HELP phalanx_losses_total Ranks' processes that were lost.
# TYPE phalanx_losses_total counter
phalanx_losses_total 7
# HELP phalanx_recoveries_total Losses and restarts that the job went on from.
# TYPE phalanx_recoveries_total counter
phalanx_recoveries_total 6
# HELP phalanx_recovering_seconds Since the loss that is being recovered from; 0: none is.
# TYPE phalanx_recovering_seconds gauge
phalanx_recovering_seconds 1.5
# HELP phalanx_last_recovery_seconds Of the last recovery: in total, until all ranks were back, to restore.
# TYPE phalanx_last_recovery_seconds gauge
phalanx_last_recovery_seconds{phase="total"} 0.0035
phalanx_last_recovery_seconds{phase="returned"} 0.00125
phalanx_last_recovery_seconds{phase="restored"} 0.00225
# HELP phalanx_last_recovery_bytes That were restored in it, over all ranks.
# TYPE phalanx_last_recovery_bytes gauge
phalanx_last_recovery_bytes 4096
# HELP phalanx_faults_performed_total Faults that the job was to suffer and has.
# TYPE phalanx_faults_performed_total counter
phalanx_faults_performed_total 1
# HELP phalanx_operations_waiting Operations that wait for ranks.
# TYPE phalanx_operations_waiting gauge
phalanx_operations_waiting 1
# HELP phalanx_reports_total Reports about operations that wait.
# TYPE phalanx_reports_total counter
phalanx_reports_total 8
)";

TEST(MetricsTest, AJobInTheMidstOfARecovery) { EXPECT_EQ(MetricsOf(kStatus), kMetrics); }

TEST(MetricsTest, WhatIsntKnownIsLeftOut) {
  const std::string metrics = MetricsOf(
      R"({"job": "a", "phase": "joining", "world_size": 0, "ranks": [], "recovery": null,
          "checkpoints": {"committed": null, "files": null}, "recoveries": []})");
  EXPECT_THAT(metrics, HasSubstr("phalanx_job_phase{phase=\"joining\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("phalanx_recovering_seconds 0\n"));
  for (const char* const name :
       {"epoch", "rank_ready", "committed", "files", "last_recovery", "operations", "copies"}) {
    EXPECT_THAT(metrics, Not(HasSubstr(std::string("phalanx_") + name))) << metrics;
  }
}

TEST(MetricsTest, ANewLineInANameDoesNotBeginAnotherMetric) {
  EXPECT_THAT(MetricsOf(R"({"job": "a\nb 1"})"), HasSubstr("{job=\"a\\nb 1\"} 1\n"));
}

TEST(MetricsTest, WhatIsNoJobHasNone) {
  EXPECT_EQ(MetricsOf(""), "");
  EXPECT_EQ(MetricsOf("{"), "");
  EXPECT_EQ(MetricsOf("[]"), "");
  EXPECT_EQ(MetricsOf(R"({"error": "the job is over"})"), "");
  EXPECT_THAT(MetricsOf(R"({"job": 1, "ranks": {}, "spares": [], "checkpoints": 3, "recoveries": 4,
                            "nodes": "x", "faults": []})"),
              HasSubstr("phalanx_nodes 0\n"));
}

}  // namespace
}  // namespace phalanx::control
