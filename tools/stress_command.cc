#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "command_line.h"
#include "control_launch/job_coordinator.h"
#include "fault_stress/scenario.h"
#include "fault_stress/stress.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Every job must end with code 0 and with the digests of a job without the faults, in time; go on from
the newest committed checkpoint after each loss; and leave no process and no shared memory behind.
Scenarios run in turn; {A..B} in a fault stands for a number that is drawn each time.

PROGRAM is started by `phalanx run` and prints a line with `weights DIGEST` on each rank; default:
train, the example. A list has a scenario on each line:
  NAME [-n N] [--nodes HOSTS] [--spares N] [--replicas N]: FAULT; FAULT …

Exit code: 0 when all went well, 1 when not, 2: wrong options, 128 + N after signal N.

Examples:
  phalanx stress --runs 10 kill-rank kill-coordinator
  phalanx stress --seconds 600 --json stress.json
  phalanx stress --list my.list -n 2 -- ./my_training --steps 100)";

struct StressOptions {
  stress::StressSettings settings;
  std::vector<std::string> names;
  std::string list;
  std::string ranks;
  std::string nodes;
  std::string spares;
  std::string replicas;
  int seconds = 0;
  int timeout_s = 60;
  bool only_list = false;
};

void AddOptions(CLI::App& command, StressOptions* options) {
  stress::StressSettings& settings = options->settings;
  command.add_option("SCENARIO", options->names, "Which ones; default: all");
  command.add_flag("--scenarios", options->only_list, "Say which there are");
  command
      .add_option("--list", options->list, "Scenarios from a file, in place of the built-in ones")
      ->type_name("FILE");
  command.add_option("--runs", settings.runs, "How many times each")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--seconds", options->seconds, "Begin no run after that time")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("S");
  command
      .add_option("--timeout", options->timeout_s,
                  "Seconds that one job may take before it counts as hung")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str()
      ->type_name("S");
  command.add_option("--seed", settings.seed, "Of the drawn numbers; default: a random one");
  command.add_option("--json", settings.json_path, "Write the figures there")->type_name("FILE");
  const std::string group = "As `phalanx run` has them, in place of the scenarios' own";
  command.add_option("-n,--ranks", options->ranks, "Processes")
      ->check(CLI::Range(1, 65536))
      ->type_name("N")
      ->group(group);
  command.add_option("--nodes", options->nodes, "Hosts")->type_name("HOSTS")->group(group);
  command.add_option("--spares", options->spares, "Processes more")
      ->check(CLI::Range(0, 65536))
      ->type_name("N")
      ->group(group);
  command.add_option("--replicas", options->replicas, "Copies of each rank's checkpoint")
      ->check(CLI::Range(1, 16))
      ->type_name("N")
      ->group(group);
  command.footer(kFooter);
}

absl::StatusOr<std::vector<stress::Scenario>> Known(const std::string& list) {
  if (list.empty()) return stress::BuiltInScenarios();
  std::ifstream file(list);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return absl::NotFoundError(absl::StrCat("--list: can't read '", list, "'"));
  absl::StatusOr<std::vector<stress::Scenario>> scenarios = stress::ParseScenarios(text);
  if (scenarios.ok()) return scenarios;
  return absl::InvalidArgumentError(
      absl::StrCat("--list ", list, ": ", scenarios.status().message()));
}

// In the order of the names; twice is as good as once.
absl::StatusOr<std::vector<stress::Scenario>> Chosen(const StressOptions& options) {
  PHX_ASSIGN_OR_RETURN(std::vector<stress::Scenario> known, Known(options.list));
  if (options.names.empty()) return known;
  std::vector<stress::Scenario> chosen;
  const auto is_named = [](const std::string& name) {
    return [&name](const stress::Scenario& scenario) { return scenario.name == name; };
  };
  for (const std::string& name : options.names) {
    const auto found = std::find_if(known.begin(), known.end(), is_named(name));
    if (found == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no such scenario: '", name, "'; see `phalanx stress --scenarios`"));
    }
    if (std::none_of(chosen.begin(), chosen.end(), is_named(name))) chosen.push_back(*found);
  }
  return chosen;
}

stress::JobOptions JobOptionsOf(const StressOptions& options) {
  stress::JobOptions given;
  for (const auto& [name, value] :
       {std::pair{"-n", options.ranks}, std::pair{"--nodes", options.nodes},
        std::pair{"--spares", options.spares}, std::pair{"--replicas", options.replicas}}) {
    if (!value.empty()) given[name] = value;
  }
  return given;
}

void Print(const std::vector<stress::Scenario>& scenarios) {
  for (const stress::Scenario& scenario : scenarios) {
    std::printf("%-26s %s\n", scenario.name.c_str(),
                scenario.summary.empty() ? absl::StrJoin(scenario.faults, "; ").c_str()
                                         : scenario.summary.c_str());
  }
}

int UsageError(const absl::Status& status) {
  std::fprintf(stderr, "phalanx: %s\nRun `phalanx stress --help` for more information.\n",
               std::string(status.message()).c_str());
  return kExitUsage;
}

}  // namespace

int StressCommand(const std::vector<std::string>& arguments) {
  StressOptions options;
  CLI::App command("Let jobs suffer faults, many times, and check what becomes of them.",
                   "phalanx stress");
  AddOptions(command, &options);
  // A program comes after `--` only: words before it are scenarios.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  int exit_code = 0;
  if (!Parse(command, {arguments.begin(), dashes}, &exit_code)) return exit_code;
  absl::StatusOr<std::vector<stress::Scenario>> scenarios = Chosen(options);
  if (!scenarios.ok()) return UsageError(scenarios.status());
  if (options.only_list) {
    Print(*scenarios);
    return 0;
  }
  stress::StressSettings& settings = options.settings;
  settings.phalanx = control::ThisCommand();
  settings.program = {"train"};
  if (dashes != arguments.end()) settings.program.assign(dashes + 1, arguments.end());
  if (settings.program.empty()) {
    return UsageError(absl::InvalidArgumentError("no program after `--`"));
  }
  settings.scenarios = *std::move(scenarios);
  settings.options = JobOptionsOf(options);
  if (options.seconds > 0) settings.budget = std::chrono::seconds(options.seconds);
  settings.longest = std::chrono::seconds(options.timeout_s);
  if (command.count("--seed") == 0) settings.seed = std::random_device()();
  return stress::RunStress(settings);
}

}  // namespace phalanx::tools
