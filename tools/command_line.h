// What every subcommand of `phalanx` shares.
#ifndef PHALANX_TOOLS_COMMAND_LINE_H_
#define PHALANX_TOOLS_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace phalanx::tools {

// Exit codes of our own. A job exits with its first failing rank's code instead.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Splits what follows a subcommand's name into its options and the program that it is to run with
// all of that program's arguments: from the first word on that is neither an option of `command`
// nor an option's value, or from what follows `--`. An option of the program is never taken for
// ours. `-np`, as MPI's users write it, becomes `-n`.
struct SplitArguments {
  std::vector<std::string> options;
  std::vector<std::string> program;
};
SplitArguments SplitAtProgram(const CLI::App& command, const std::vector<std::string>& arguments);

// Parses `options` with `command`. Returns false when the process is to end with *exit_code at
// once: help was asked for (0), or the words are wrong (kExitUsage; said on standard error).
bool Parse(CLI::App& command, const std::vector<std::string>& options, int* exit_code);

// Each runs one subcommand and returns the process's exit code.
int AgentCommand(const std::vector<std::string>& arguments);
int RunCommand(const std::vector<std::string>& arguments);
int BenchCommand(const std::vector<std::string>& arguments);
int SimulateCommand(const std::vector<std::string>& arguments);
int CheckpointCommand(const std::vector<std::string>& arguments);
int StatusCommand(const std::vector<std::string>& arguments);
int StressCommand(const std::vector<std::string>& arguments);

}  // namespace phalanx::tools

#endif  // PHALANX_TOOLS_COMMAND_LINE_H_
