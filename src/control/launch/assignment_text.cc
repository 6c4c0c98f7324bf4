#include "control_launch/assignment_text.h"

#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

constexpr char kEnd[] = "end\n";
constexpr size_t kLongestText = size_t{16} << 20;

void AddLine(std::string* text, absl::string_view name, absl::string_view value) {
  absl::StrAppend(text, name, " ", absl::CEscape(value), "\n");
}

absl::Status SetVariable(const std::string& value, NodeAssignment* assignment) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos) return absl::InvalidArgumentError("no NAME=VALUE");
  assignment->variables[value.substr(0, equals)] = value.substr(equals + 1);
  return absl::OkStatus();
}

absl::Status SetEndpoint(const std::string& value, NodeAssignment* assignment) {
  PHX_ASSIGN_OR_RETURN(assignment->coordinator, ParseEndpoint(value));
  return absl::OkStatus();
}

template <typename Number>
absl::Status SetNumber(const std::string& value, Number* number) {
  if (absl::SimpleAtoi(value, number) && *number >= Number{0}) return absl::OkStatus();
  return absl::InvalidArgumentError("no number");
}

using Setter = std::function<absl::Status(const std::string& value)>;

std::map<std::string, Setter> SettersOf(NodeAssignment* to, int* label, int* grace_ms,
                                        int* replaces) {
  const auto text = [](std::string* field) {
    return [field](const std::string& value) {
      *field = value;
      return absl::OkStatus();
    };
  };
  const auto number = [](int* field) {
    return [field](const std::string& value) { return SetNumber(value, field); };
  };
  return {
      {"job", text(&to->job)},
      {"secret", text(&to->secret)},
      {"coordinator", [to](const std::string& value) { return SetEndpoint(value, to); }},
      {"node", number(&to->node)},
      {"node_name", text(&to->node_name)},
      {"machine", text(&to->machine)},
      {"world_size", number(&to->world_size)},
      {"first_rank", number(&to->first_rank)},
      {"local_world_size", number(&to->local_world_size)},
      {"spares", number(&to->spares)},
      {"restarts", number(&to->restarts)},
      {"replaces", number(replaces)},
      {"argument",
       [to](const std::string& value) {
         to->program.push_back(value);
         return absl::OkStatus();
       }},
      {"variable", [to](const std::string& value) { return SetVariable(value, to); }},
      {"folder", text(&to->folder)},
      {"persist", text(&to->persist.folder)},
      {"persist_every", number(&to->persist.every)},
      {"persist_keep", number(&to->persist.keep)},
      {"replication_bytes_per_second",
       [to](const std::string& value) {
         return SetNumber(value, &to->replication_bytes_per_second);
       }},
      {"label", number(label)},
      {"grace_ms", number(grace_ms)},
  };
}

absl::Status CheckAssignment(const NodeAssignment& assignment) {
  if (assignment.job.empty() || assignment.secret.empty() || assignment.coordinator.port == 0) {
    return absl::InvalidArgumentError("the assignment lacks job, secret or coordinator");
  }
  if (assignment.program.empty()) return absl::InvalidArgumentError("no program to run");
  if (assignment.local_world_size < 1 || assignment.world_size < assignment.local_world_size ||
      assignment.first_rank > assignment.world_size - assignment.local_world_size) {
    return absl::InvalidArgumentError("the assignment's ranks don't fit its world size");
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToText(const NodeAssignment& assignment) {
  std::string text;
  AddLine(&text, "job", assignment.job);
  AddLine(&text, "secret", assignment.secret);
  AddLine(&text, "coordinator", ToString(assignment.coordinator));
  AddLine(&text, "node", absl::StrCat(assignment.node));
  AddLine(&text, "node_name", assignment.node_name);
  AddLine(&text, "machine", assignment.machine);
  AddLine(&text, "world_size", absl::StrCat(assignment.world_size));
  AddLine(&text, "first_rank", absl::StrCat(assignment.first_rank));
  AddLine(&text, "local_world_size", absl::StrCat(assignment.local_world_size));
  AddLine(&text, "spares", absl::StrCat(assignment.spares));
  AddLine(&text, "restarts", absl::StrCat(assignment.restarts));
  AddLine(&text, "replaces", assignment.replaces ? "1" : "0");
  for (const std::string& argument : assignment.program) AddLine(&text, "argument", argument);
  for (const auto& [name, value] : assignment.variables) {
    AddLine(&text, "variable", absl::StrCat(name, "=", value));
  }
  AddLine(&text, "folder", assignment.folder);
  AddLine(&text, "persist", assignment.persist.folder);
  AddLine(&text, "persist_every", absl::StrCat(assignment.persist.every));
  AddLine(&text, "persist_keep", absl::StrCat(assignment.persist.keep));
  AddLine(&text, "replication_bytes_per_second",
          absl::StrCat(assignment.replication_bytes_per_second));
  AddLine(&text, "label", assignment.label ? "1" : "0");
  const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(assignment.grace);
  AddLine(&text, "grace_ms", absl::StrCat(grace.count()));
  return text + kEnd;
}

absl::StatusOr<NodeAssignment> ParseAssignment(const std::string& text) {
  NodeAssignment assignment;
  int label = 1;
  int grace_ms = 0;
  int replaces = 0;
  const std::map<std::string, Setter> setters =
      SettersOf(&assignment, &label, &grace_ms, &replaces);
  if (!absl::EndsWith(text, kEnd)) return absl::InvalidArgumentError("the assignment has no end");
  const std::string lines = text.substr(0, text.size() - (sizeof(kEnd) - 1));
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> word = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const auto setter = setters.find(word.first);
    std::string value;
    if (setter == setters.end() || !absl::CUnescape(word.second, &value) ||
        !setter->second(value).ok()) {
      // The line itself may hold the secret.
      return absl::InvalidArgumentError(
          absl::StrCat("the assignment's line '", absl::CEscape(word.first.substr(0, 32)),
                       "' is wrong; use one release of Phalanx on all nodes"));
    }
  }
  assignment.label = label != 0;
  assignment.replaces = replaces != 0;
  assignment.grace = std::chrono::milliseconds(grace_ms);
  PHX_RETURN_IF_ERROR(CheckAssignment(assignment));
  return assignment;
}

absl::StatusOr<std::string> ReadAssignment(int fd) {
  std::string text;
  // A byte at a time, so that what follows stays in the pipe.
  const std::string last_line = absl::StrCat("\n", kEnd);
  while (text != kEnd && !absl::EndsWith(text, last_line)) {
    char byte;
    const ssize_t count = read(fd, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::UnavailableError("the launcher was gone before it had said what to run");
    }
    text.push_back(byte);
    if (text.size() > kLongestText) return absl::InvalidArgumentError("the assignment is too long");
  }
  return text;
}

}  // namespace phalanx::control
