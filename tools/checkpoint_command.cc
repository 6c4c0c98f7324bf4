#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "checkpoint_files/versions.h"
#include "command_line.h"
#include "nlohmann/json.hpp"

namespace phalanx::tools {
namespace {

using checkpoint::FoundVersion;

constexpr char kFooter[] =
    R"(DIR is the folder that a job's checkpoints are kept in. Versions that were not committed don't count and
aren't shown. docs/recovery.md says what the files are.

Exit code: 0: done, 1: something is damaged or isn't there (said on standard error), 2: wrong
options, or several versions fit and none was chosen.

Examples:
  phalanx checkpoint ls /checkpoints
  phalanx checkpoint verify /checkpoints --version 120
  phalanx checkpoint export /checkpoints --version 120 --output weights)";

struct CheckpointOptions {
  std::string folder;
  std::string job;
  std::optional<int64_t> version;
  std::optional<uint64_t> epoch;
  std::string output;
  bool json = false;
};

CLI::App* AddSubcommand(CLI::App& command, const std::string& name, const std::string& summary,
                        CheckpointOptions* options) {
  CLI::App* subcommand = command.add_subcommand(name, summary);
  subcommand->add_option("DIR", options->folder, "Where the checkpoints are")
      ->check(CLI::ExistingDirectory)
      ->required();
  subcommand->add_option("--job", options->job, "Of this job alone")->type_name("NAME");
  return subcommand;
}

CLI::Option* AddVersion(CLI::App* subcommand, CheckpointOptions* options) {
  CLI::Option* version = subcommand->add_option("--version", options->version, "The program's step")
                             ->check(CLI::NonNegativeNumber)
                             ->type_name("V");
  subcommand->add_option("--epoch", options->epoch, "Default: the newest with this version")
      ->needs(version)
      ->type_name("E");
  return version;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "phalanx: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

std::string NameOf(const FoundVersion& found) {
  return absl::StrCat(checkpoint::Describe(found.place.name), " of job ", found.place.job);
}

// Those that the options name, the newest first; with a version but no epoch, a job's newest epoch.
absl::StatusOr<std::vector<FoundVersion>> Find(const CheckpointOptions& options) {
  PHX_ASSIGN_OR_RETURN(std::vector<FoundVersion> all, checkpoint::ListVersions(options.folder));
  std::vector<FoundVersion> fitting;
  for (FoundVersion& found : all) {
    const checkpoint::VersionName& name = found.place.name;
    const bool fits = (options.job.empty() || found.place.job == options.job) &&
                      name.version == options.version.value_or(name.version) &&
                      name.epoch == options.epoch.value_or(name.epoch);
    const bool superseded = options.version.has_value() && !fitting.empty() &&
                            fitting.back().place.job == found.place.job;
    if (fits && !superseded) fitting.push_back(std::move(found));
  }
  return fitting;
}

// What Find was to find, for a message.
std::string Wanted(const CheckpointOptions& options) {
  std::string text = "no version";
  if (options.version.has_value()) absl::StrAppend(&text, " ", *options.version);
  if (options.epoch.has_value()) absl::StrAppend(&text, " of epoch ", *options.epoch);
  if (!options.job.empty()) absl::StrAppend(&text, " of job '", options.job, "'");
  return absl::StrCat(options.folder, ": holds ", text, "; see `phalanx checkpoint ls`");
}

nlohmann::json VersionJson(const FoundVersion& found, bool newest) {
  nlohmann::json json = {{"job", found.place.job},
                         {"version", found.place.name.version},
                         {"epoch", found.place.name.epoch},
                         {"state", found.state.ok() ? "complete" : "damaged"},
                         {"newest", newest},
                         {"folder", checkpoint::PathOf(found.place)}};
  if (!found.state.ok()) json["problem"] = std::string(found.state.message());
  if (!found.manifest.shards.empty()) {
    json["ranks"] = found.manifest.shards.size();
    json["bytes"] = found.Bytes();
    json["committed_unix_ms"] = found.manifest.committed_unix_ms;
  }
  return json;
}

std::string Table(const std::vector<FoundVersion>& versions, const FoundVersion* newest) {
  if (versions.empty()) return "no versions\n";
  size_t width = 3;
  for (const FoundVersion& found : versions) width = std::max(width, found.place.job.size());
  const int job_width = static_cast<int>(width);
  std::string text = absl::StrFormat("%-*s %12s %8s %6s %15s  state\n", job_width, "job", "version",
                                     "epoch", "ranks", "bytes");
  for (const FoundVersion& found : versions) {
    const bool known = !found.manifest.shards.empty();
    absl::StrAppendFormat(&text, "%-*s %12d %8d %6s %15s  %s\n", job_width, found.place.job,
                          found.place.name.version, found.place.name.epoch,
                          known ? absl::StrCat(found.manifest.shards.size()) : "?",
                          known ? absl::StrCat(found.Bytes()) : "?",
                          !found.state.ok()  ? "damaged: " + std::string(found.state.message())
                          : &found == newest ? "complete, newest"
                                             : "complete");
  }
  return text;
}

int List(const CheckpointOptions& options) {
  const absl::StatusOr<std::vector<FoundVersion>> versions = Find(options);
  if (!versions.ok()) return Fail(versions.status());
  const auto first = std::find_if(versions->begin(), versions->end(),
                                  [](const FoundVersion& found) { return found.state.ok(); });
  const FoundVersion* newest = first == versions->end() ? nullptr : &*first;
  if (!options.json) {
    std::fputs(Table(*versions, newest).c_str(), stdout);
    return 0;
  }
  nlohmann::json json = nlohmann::json::array();
  for (const FoundVersion& found : *versions) json.push_back(VersionJson(found, &found == newest));
  // A path need not be UTF-8.
  const auto replace = nlohmann::json::error_handler_t::replace;
  std::fputs((json.dump(1, ' ', false, replace) + "\n").c_str(), stdout);
  return 0;
}

int Verify(const CheckpointOptions& options) {
  const absl::StatusOr<std::vector<FoundVersion>> versions = Find(options);
  if (!versions.ok()) return Fail(versions.status());
  if (versions->empty()) return Fail(absl::NotFoundError(Wanted(options)));
  int exit_code = 0;
  for (const FoundVersion& found : *versions) {
    const std::vector<absl::Status> faults = checkpoint::VerifyVersion(found);
    for (const absl::Status& fault : faults) exit_code = Fail(fault) != 0 ? kExitFailure : 0;
    std::printf("%s: %s\n", NameOf(found).c_str(), faults.empty() ? "whole" : "damaged");
  }
  return exit_code;
}

int Export(const CheckpointOptions& options) {
  const absl::StatusOr<std::vector<FoundVersion>> versions = Find(options);
  if (!versions.ok()) return Fail(versions.status());
  if (versions->empty()) return Fail(absl::NotFoundError(Wanted(options)));
  if (versions->size() > 1) {
    std::string list;
    for (const FoundVersion& found : *versions) absl::StrAppend(&list, "\n  ", found.place.job);
    return Fail(absl::InvalidArgumentError(absl::StrCat(
        "several jobs have version ", *options.version, "; choose with --job:", list)));
  }
  const FoundVersion& found = versions->front();
  const absl::Status exported = checkpoint::ExportVersion(found, options.output);
  if (!exported.ok()) return Fail(exported);
  std::printf("%s: %d files in %s\n", NameOf(found).c_str(),
              static_cast<int>(found.manifest.shards.size()), options.output.c_str());
  return 0;
}

}  // namespace

int CheckpointCommand(const std::vector<std::string>& arguments) {
  CheckpointOptions options;
  CLI::App command("Look into a folder of checkpoints.", "phalanx checkpoint");
  command.require_subcommand(1);
  command.footer(kFooter);
  CLI::App* list = AddSubcommand(command, "ls", "Which versions there are", &options);
  list->add_flag("--json", options.json, "Print JSON, one array");
  CLI::App* verify = AddSubcommand(
      command, "verify", "Read every byte, of one version or all, and say what is wrong", &options);
  AddVersion(verify, &options);
  CLI::App* to_export = AddSubcommand(
      command, "export", "Copy a version to a new folder of safetensors files", &options);
  AddVersion(to_export, &options)->required();
  to_export->add_option("--output", options.output, "The new folder")->type_name("OUT")->required();
  int exit_code = 0;
  if (!Parse(command, arguments, &exit_code)) return exit_code;
  if (list->parsed()) return List(options);
  return verify->parsed() ? Verify(options) : Export(options);
}

}  // namespace phalanx::tools
