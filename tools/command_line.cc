#include "command_line.h"

#include <algorithm>
#include <cstdio>

namespace phalanx::tools {
namespace {

// Whether the option that `word` names takes the next word as its value.
bool TakesNextWord(const CLI::App& command, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const bool attached = word.size() > 2 && word[1] != '-';  // -n4
  if (attached) return false;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

SplitArguments SplitAtProgram(const CLI::App& command, const std::vector<std::string>& arguments) {
  SplitArguments split;
  size_t next = 0;
  while (next < arguments.size()) {
    std::string word = arguments[next];
    if (word == "--") {
      ++next;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    if (word == "-np") word = "-n";
    split.options.push_back(word);
    ++next;
    if (TakesNextWord(command, word) && next < arguments.size()) {
      split.options.push_back(arguments[next++]);
    }
  }
  split.program.assign(arguments.begin() + static_cast<ptrdiff_t>(next), arguments.end());
  return split;
}

bool Parse(CLI::App& command, const std::vector<std::string>& options, int* exit_code) {
  try {
    std::vector<std::string> reversed(options.rbegin(), options.rend());  // as CLI11 wants them
    command.parse(std::move(reversed));
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      *exit_code = command.exit(error);  // prints the help or the version
    } else {
      std::fprintf(stderr, "phalanx: %s\nRun `%s --help` for more information.\n", error.what(),
                   command.get_name().c_str());
      *exit_code = kExitUsage;
    }
    return false;
  }
}

}  // namespace phalanx::tools
