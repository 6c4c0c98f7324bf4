#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "command_line.h"
#include "control_launch/job_coordinator.h"
#include "control_launch/node_job.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Each process gets its place in PHALANX_RANK, PHALANX_WORLD_SIZE, PHALANX_LOCAL_RANK and
PHALANX_LOCAL_WORLD_SIZE (and in RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE). Its lines come
out as `[rank] line`, standard error stays standard error. Rank 0 reads our standard input unless
that is a terminal; the others read nothing. A program name without a slash is looked for in PATH,
then beside phalanx.

Signals (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT) are passed on. After
the first one that ends the job, the processes have the grace period to end; then, or at a second
such signal, they are killed. When a process fails, the others are ended in the same way.

Exit code: 0 when all processes succeed; else that of the first that failed, or 128 + the signal
that killed it. 127: no such program, 126: not executable, 2: wrong options, 1: our own failure.

Examples:
  phalanx run -n 4 -- train
  phalanx run -n 8 python3 train.py --epochs 3)";

struct RunOptions {
  int ranks = 0;
  bool label = true;
  bool no_label = false;
  int grace_ms = 5000;
  std::vector<std::string> variables;
  std::vector<std::string> program;
};

void AddOptions(CLI::App& command, RunOptions* options) {
  // Only for the help: SplitAtProgram has taken the program away before anything is parsed.
  command.add_option("PROGRAM", options->program, "What to run, and after it all its arguments");
  command
      .add_option("-n,--ranks", options->ranks,
                  "How many processes to start (also -np); default: one for each core")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  command.add_flag("--no-label", options->no_label,
                   "Pass lines on without the `[rank] ` before them");
  command.add_flag("--tag-output", options->label,
                   "Label lines; that is the default (an option of mpirun)");
  command
      .add_option("-x,--env", options->variables,
                  "Give the processes this variable: NAME=VALUE, or NAME for our own value; may "
                  "be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--grace-ms", options->grace_ms,
                  "Milliseconds between asking the processes to end and killing them")
      ->check(CLI::Range(0, 86400000))
      ->capture_default_str()
      ->type_name("MS");
  command.footer(kFooter);
}

// NAME alone is our own value; one that we haven't got is left out, as with mpirun -x.
std::map<std::string, std::string> ToVariables(const std::vector<std::string>& words) {
  std::map<std::string, std::string> variables;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      variables[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (const char* value = std::getenv(word.c_str()); value != nullptr) {
      variables[word] = value;
    }
  }
  return variables;
}

}  // namespace

int RunCommand(const std::vector<std::string>& arguments) {
  RunOptions options;
  CLI::App command("Start a job: N processes of one program on this machine.", "phalanx run");
  AddOptions(command, &options);
  const SplitArguments split = SplitAtProgram(command, arguments);
  int exit_code = 0;
  if (!Parse(command, split.options, &exit_code)) return exit_code;
  if (split.program.empty()) {
    std::fprintf(stderr,
                 "phalanx: no program to run; for example: phalanx run -n 4 -- ./train\n"
                 "Run `phalanx run --help` for more information.\n");
    return kExitUsage;
  }
  control::NodeAssignment assignment;
  assignment.world_size = options.ranks > 0 ? options.ranks : control::UsableCores();
  assignment.local_world_size = assignment.world_size;
  assignment.program = split.program;
  assignment.variables = ToVariables(options.variables);
  assignment.label = !options.no_label;
  assignment.grace = std::chrono::milliseconds(options.grace_ms);
  // A terminal isn't given away: a worker that reads it from the background would be stopped.
  const bool gives_input = isatty(STDIN_FILENO) == 0;
  return control::RunLocalJob(std::move(assignment), gives_input ? control::ChildInput::kInherited
                                                                 : control::ChildInput::kNothing);
}

}  // namespace phalanx::tools
