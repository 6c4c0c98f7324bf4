// The `phalanx` command.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "command_line.h"
#include "control_coordinator/process.h"
#include "control_etcd/etcd_record.h"

namespace phalanx::tools {
namespace {

// A process that was started with a standard descriptor closed would hand out its number to the
// next file or pipe.
void OpenStandardDescriptors() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

struct Subcommand {
  const char* name;
  const char* summary;  // null: not for people
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr Subcommand kSubcommands[] = {
    {"run", "Start a job: N processes of one program", RunCommand},
    {"status", "Show a job: its ranks, what is in flight, who waits for whom", StatusCommand},
    {"bench", "Time collectives over a range of sizes, as nccl-tests does", BenchCommand},
    {"simulate", "Simulate the ordering of collectives: deadlocks, scale", SimulateCommand},
    {"stress", "Let jobs suffer faults, many times, and check the results", StressCommand},
    {"checkpoint", "List, verify and export the checkpoints in a folder", CheckpointCommand},
    {"agent", nullptr, AgentCommand},
    {"coordinator", nullptr, control::CoordinatorCommand},
    {"record", nullptr, control::RecordCommand},
};

int Main(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    for (const Subcommand& subcommand : kSubcommands) {
      if (arguments[0] != subcommand.name) continue;
      return subcommand.run({arguments.begin() + 1, arguments.end()});
    }
    if (arguments[0].empty() || arguments[0][0] != '-') {
      std::fprintf(stderr, "phalanx: no such subcommand: '%s'; see `phalanx --help`\n",
                   arguments[0].c_str());
      return kExitUsage;
    }
  }
  CLI::App app("Phalanx: collective communication that doesn't hang and doesn't die.", "phalanx");
  app.set_version_flag("--version", std::string("phalanx ") + PHALANX_VERSION);
  app.require_subcommand(1);
  for (const Subcommand& subcommand : kSubcommands) {
    if (subcommand.summary != nullptr) app.add_subcommand(subcommand.name, subcommand.summary);
  }
  app.footer(
      "`phalanx SUBCOMMAND --help` tells more. Example:\n"
      "  phalanx run -n 4 -- train        four processes on this machine");
  int exit_code = 0;
  Parse(app, arguments, &exit_code);
  return exit_code;
}

}  // namespace
}  // namespace phalanx::tools

int main(int argc, char** argv) {
  phalanx::tools::OpenStandardDescriptors();
  try {
    return phalanx::tools::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "phalanx: %s\n", error.what());
    return phalanx::tools::kExitFailure;
  }
}
