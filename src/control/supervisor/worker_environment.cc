#include "control_supervisor/worker_environment.h"

#include "absl/strings/str_cat.h"

namespace phalanx::control {

std::map<std::string, std::string> PlaceVariables(const WorkerPlace& place) {
  std::map<std::string, std::string> variables;
  const std::map<std::string, int> numbers = {{"RANK", place.rank},
                                              {"WORLD_SIZE", place.world_size},
                                              {"LOCAL_RANK", place.local_rank},
                                              {"LOCAL_WORLD_SIZE", place.local_world_size}};
  for (const auto& [name, value] : numbers) {
    if (name == "RANK" && place.rank < 0) continue;
    variables[name] = absl::StrCat(value);
    variables[absl::StrCat("PHALANX_", name)] = absl::StrCat(value);
  }
  if (place.rank < 0) variables["PHALANX_SPARE"] = "1";
  if (!place.agent.empty()) {
    variables["PHALANX_AGENT"] = place.agent;
    variables["PHALANX_SUPERVISED"] = "1";  // the library ends the process when we are gone
  }
  return variables;
}

std::vector<std::string> ChangeEnvironment(const std::vector<std::string>& base,
                                           const std::map<std::string, std::string>& changes) {
  std::vector<std::string> environment;
  for (const std::string& variable : base) {
    if (changes.count(variable.substr(0, variable.find('='))) == 0) environment.push_back(variable);
  }
  for (const auto& [name, value] : changes) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

}  // namespace phalanx::control
