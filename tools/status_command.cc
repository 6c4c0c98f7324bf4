#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "command_line.h"
#include "control_bootstrap/bootstrap.h"
#include "control_client/ask_agent.h"
#include "control_status/ask_coordinator.h"
#include "control_status/find_jobs.h"
#include "nlohmann/json.hpp"
#include "status_text.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Without options, the one job of this user on this machine. A job's name is the first word that it
shows; PHALANX_AGENT in a worker's environment is its agent's.

Exit code: 0: the job is shown (ranks that don't answer in time are named), 1: no such job, or it
gives no answer, 2: wrong options, or several jobs and none chosen.

Examples:
  phalanx status
  phalanx status --job 1f0c --json
  phalanx status --address node1:29500 --key-file job.key)";

struct StatusOptions {
  std::string job;
  std::string agent;
  std::string address;
  std::string key_file;
  double timeout_s = 5;
  bool json = false;
};

void AddOptions(CLI::App& command, StatusOptions* options) {
  CLI::Option* job = command
                         .add_option("--job", options->job,
                                     "A job on this machine, by its name or how that begins")
                         ->type_name("NAME");
  CLI::Option* agent =
      command.add_option("--agent", options->agent, "The job of the agent with this socket")
          ->type_name("ADDRESS")
          ->excludes(job);
  CLI::Option* address =
      command
          .add_option("--address", options->address,
                      "The job whose coordinator is there, as PHALANX_ADDRESS says it")
          ->type_name("HOST:PORT")
          ->excludes(job)
          ->excludes(agent);
  CLI::Option* key_file =
      command.add_option("--key-file", options->key_file, "The key of that job")->type_name("FILE");
  address->needs(key_file);
  key_file->needs(address);
  command.add_option("--timeout", options->timeout_s, "How long to wait for the ranks' answers")
      ->check(CLI::Range(0.01, 3600.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_flag("--json", options->json, "Print JSON, one object");
  command.footer(kFooter);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "phalanx: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

// INVALID_ARGUMENT when there are several to choose from.
absl::StatusOr<std::string> ChooseAgent(const StatusOptions& options) {
  if (!options.agent.empty()) return options.agent;
  PHX_ASSIGN_OR_RETURN(std::vector<control::FoundJob> jobs, control::FindJobs());
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [&](const control::FoundJob& found) {
                              return !absl::StartsWith(found.job, options.job);
                            }),
             jobs.end());
  for (const control::FoundJob& found : jobs) {
    if (jobs.size() == 1 || found.job == options.job) return found.agent;
  }
  if (jobs.empty()) {
    return absl::NotFoundError(
        options.job.empty()
            ? "no job of yours runs on this machine"
            : absl::StrCat("no job '", options.job, "' of yours runs on this machine"));
  }
  std::string list;
  for (const control::FoundJob& found : jobs) absl::StrAppend(&list, "\n  ", found.job);
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", jobs.size(), " jobs; choose one with --job:", list));
}

absl::StatusOr<std::string> Ask(const StatusOptions& options) {
  const std::chrono::milliseconds timeout(static_cast<int64_t>(options.timeout_s * 1000));
  if (options.address.empty()) {
    PHX_ASSIGN_OR_RETURN(const std::string agent, ChooseAgent(options));
    return control::AskAgent(agent, timeout);
  }
  PHX_ASSIGN_OR_RETURN(
      const control::AddressAndKey where,
      control::ReadAddressAndKey(options.address.c_str(), options.key_file.c_str()));
  return control::AskCoordinator(control::IdOf(where).job, where.secret, where.coordinator,
                                 timeout);
}

int Show(const StatusOptions& options, const std::string& text) {
  const nlohmann::json status = nlohmann::json::parse(text);
  if (status.contains("error")) {
    return Fail(absl::UnavailableError(status.at("error").get<std::string>()));
  }
  std::fputs(options.json ? (status.dump(1) + "\n").c_str() : StatusText(status).c_str(), stdout);
  return 0;
}

}  // namespace

int StatusCommand(const std::vector<std::string>& arguments) {
  StatusOptions options;
  CLI::App command("Show a job: its ranks, what they have in flight, and who waits for whom.",
                   "phalanx status");
  AddOptions(command, &options);
  int exit_code = 0;
  if (!Parse(command, arguments, &exit_code)) return exit_code;
  const absl::StatusOr<std::string> answer = Ask(options);
  if (!answer.ok()) return Fail(answer.status());
  try {
    return Show(options, *answer);
  } catch (const nlohmann::json::exception& error) {
    return Fail(absl::InternalError(absl::StrCat(
        "the job's answer can't be read; use its release of Phalanx: ", error.what())));
  }
}

}  // namespace phalanx::tools
