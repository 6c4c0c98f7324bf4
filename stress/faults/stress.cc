#include "fault_stress/stress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "job.h"
#include "leftovers.h"
#include "signals.h"
#include "summary.h"

namespace phalanx::stress {
namespace {

constexpr int kExitBad = 1;
constexpr int kExitUsage = 2;
constexpr Clock::duration kLeaving = std::chrono::seconds(10);
constexpr size_t kLinesShown = 30;

std::vector<std::string> NamesOf(const std::vector<Scenario>& scenarios) {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios) names.push_back(scenario.name);
  return names;
}

std::string Quoted(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    const bool plain = word.find_first_of(" ;'\"$&|<>()*") == std::string::npos && !word.empty();
    absl::StrAppend(out, plain ? "" : "'", word, plain ? "" : "'");
  });
}

std::string LastLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (lines.size() > kLinesShown) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLinesShown));
  }
  return absl::StrJoin(lines, "\n    ");
}

class Stress {
 public:
  explicit Stress(const StressSettings& settings)
      : settings_(settings), random_(settings.seed), summary_(NamesOf(settings.scenarios)) {}
  ~Stress() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Stress(const Stress&) = delete;
  Stress& operator=(const Stress&) = delete;

  int Run();

 private:
  void RunAll();
  void RunOnce(const Scenario& scenario);
  // The digests without a fault; nullptr: it is over (code_).
  const std::vector<std::string>* Expected(const std::vector<std::string>& options);
  // Nothing: it is over.
  std::optional<Outcome> RunOne(const std::vector<std::string>& options,
                                const std::vector<std::string>& faults);
  std::vector<std::string> OptionsOf(const Scenario& scenario) const;
  std::vector<std::string> CommandOf(const std::vector<std::string>& options,
                                     const std::vector<std::string>& faults) const;
  void Say(const Scenario& scenario, const std::vector<std::string>& command,
           const Verdict& verdict) const;
  void Fail(int code, const std::string& why) {
    code_ = code;
    std::fprintf(stderr, "phalanx: %s\n", why.c_str());
  }

  const StressSettings& settings_;
  EndSignals signals_;
  std::mt19937_64 random_;
  Summary summary_;
  std::string folder_;
  std::string error_;                                                      // of the last job
  std::map<std::vector<std::string>, std::vector<std::string>> expected_;  // by options
  int jobs_ = 0;
  std::optional<int> code_;  // it is over
  bool interrupted_ = false;
};

int Stress::Run() {
  std::string folder = (std::filesystem::temp_directory_path() / "phalanx-stress-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    Fail(kExitBad, absl::StrCat("can't make a folder as ", folder));
    return *code_;
  }
  folder_ = folder;
  std::printf("seed %llu\n", static_cast<unsigned long long>(settings_.seed));
  std::fflush(stdout);
  RunAll();
  std::fputs(summary_.Table().c_str(), stdout);
  if (!settings_.json_path.empty()) {
    std::ofstream file(settings_.json_path);
    file << summary_.Json(settings_.seed, interrupted_);
    if (!file.flush()) Fail(kExitBad, absl::StrCat("can't write '", settings_.json_path, "'"));
  }
  if (code_.has_value()) return *code_;
  return summary_.AllGood() ? 0 : kExitBad;
}

void Stress::RunAll() {
  const Deadline budget = Deadline::After(settings_.budget);
  for (int run = 0; run < settings_.runs; ++run) {
    for (const Scenario& scenario : settings_.scenarios) {
      if (code_.has_value() || budget.Passed(Clock::now())) return;
      RunOnce(scenario);
    }
  }
}

void Stress::RunOnce(const Scenario& scenario) {
  const std::vector<std::string> options = OptionsOf(scenario);
  const std::vector<std::string>* const expected = Expected(options);
  if (expected == nullptr) return;
  std::vector<std::string> faults;
  for (const std::string& pattern : scenario.faults) {
    absl::StatusOr<std::string> fault = Draw(pattern, &random_);
    if (!fault.ok()) return Fail(kExitUsage, std::string(fault.status().message()));
    faults.push_back(*std::move(fault));
  }
  const std::optional<Outcome> outcome = RunOne(options, faults);
  if (!outcome.has_value()) return;
  const Verdict verdict = Judge(*outcome, *expected);
  summary_.Add(scenario.name, *outcome, verdict);
  if (!verdict.good()) Say(scenario, CommandOf(options, faults), verdict);
}

const std::vector<std::string>* Stress::Expected(const std::vector<std::string>& options) {
  if (const auto known = expected_.find(options); known != expected_.end()) return &known->second;
  const std::optional<Outcome> outcome = RunOne(options, {});
  if (!outcome.has_value()) return nullptr;
  std::vector<std::string> digests = DigestsIn(outcome->output);
  const Verdict verdict = Judge(*outcome, digests);
  if (!verdict.good() || digests.empty()) {
    const std::string why = verdict.good() ? "it prints no line with `weights DIGEST`"
                                           : absl::StrJoin(verdict.why, "; ");
    Fail(kExitBad, absl::StrCat("without a fault: ", why, ": ", Quoted(CommandOf(options, {})),
                                "\n    ", LastLines(error_)));
    return nullptr;
  }
  return &expected_.emplace(options, std::move(digests)).first->second;
}

std::optional<Outcome> Stress::RunOne(const std::vector<std::string>& options,
                                      const std::vector<std::string>& faults) {
  const std::string events_path = folder_ + "/events";
  std::error_code ignored;
  std::filesystem::remove(events_path, ignored);
  std::vector<std::string> command = CommandOf(options, faults);
  command.insert(command.begin() + 2, {"--events", events_path});
  const std::string mark = absl::StrCat("PHALANX_STRESS_JOB=", folder_, "/", jobs_++);
  const Leftovers leftovers(mark);
  absl::StatusOr<JobEnd> end = RunJob(command, mark, settings_.longest, &signals_);
  if (!end.ok()) {
    Fail(kExitBad, std::string(end.status().message()));
    return std::nullopt;
  }
  Outcome outcome;
  outcome.left = leftovers.Find(Deadline::After(kLeaving));
  std::ifstream file(events_path);
  const std::string events{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (end->interrupted.has_value()) {
    interrupted_ = true;
    for (const std::string& left : outcome.left) std::fprintf(stderr, "left: %s\n", left.c_str());
    code_ = 128 + *end->interrupted;
    return std::nullopt;
  }
  error_ = end->error;
  if (end->exit_code == kExitUsage && events.empty()) {
    Fail(kExitUsage, absl::StrCat(Quoted(command), "\n    ", LastLines(error_)));
    return std::nullopt;
  }
  absl::StatusOr<JobHistory> history = ParseEvents(events);
  if (!history.ok()) {
    Fail(kExitBad, absl::StrCat(events_path, ": ", history.status().message()));
    return std::nullopt;
  }
  outcome.hung = end->hung;
  outcome.exit_code = end->exit_code;
  outcome.how = end->how;
  outcome.output = std::move(end->output);
  outcome.history = *std::move(history);
  return outcome;
}

std::vector<std::string> Stress::OptionsOf(const Scenario& scenario) const {
  JobOptions all = settings_.options;
  all.insert(scenario.options.begin(), scenario.options.end());
  // As many ranks as the nodes have places.
  if (settings_.options.count("--nodes") > 0 && settings_.options.count("-n") == 0) all.erase("-n");
  std::vector<std::string> words;
  for (const auto& [name, value] : all) words.insert(words.end(), {name, value});
  return words;
}

std::vector<std::string> Stress::CommandOf(const std::vector<std::string>& options,
                                           const std::vector<std::string>& faults) const {
  std::vector<std::string> command = {settings_.phalanx, "run"};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& fault : faults) command.insert(command.end(), {"--fault", fault});
  command.push_back("--");
  command.insert(command.end(), settings_.program.begin(), settings_.program.end());
  return command;
}

void Stress::Say(const Scenario& scenario, const std::vector<std::string>& command,
                 const Verdict& verdict) const {
  std::fprintf(stderr, "%s: %s\n  %s\n    %s\n", scenario.name.c_str(),
               absl::StrJoin(verdict.why, "; ").c_str(), Quoted(command).c_str(),
               LastLines(error_).c_str());
}

}  // namespace

int RunStress(const StressSettings& settings) { return Stress(settings).Run(); }

}  // namespace phalanx::stress
