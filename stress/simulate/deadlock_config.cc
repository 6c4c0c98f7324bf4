// Reads the description of a deadlock simulation.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "simulate/deadlock.h"

namespace phalanx::simulate {
namespace {

using Json = nlohmann::json;

constexpr double kMostRounds = 1e9;
constexpr int kMostRanks = 65'536;
constexpr size_t kMostGroups = 65'536;  // communicators have 16-bit names
constexpr int kMostCollectives = 1'000'000;

absl::Status Wrong(const std::string& field, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("field \"", field, "\" ", what));
}

// An object's fields by name; each must be asked for, or it is one that nobody knows.
class Fields {
 public:
  // `json` outlives it.
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  absl::Status MustBeObject() const {
    if (json_.is_object()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(where_.empty() ? "the configuration" : where_, " must be an object"));
  }
  const Json* Find(const std::string& name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string NameOf(const std::string& name) const {
    return where_.empty() ? name : absl::StrCat(where_, ".", name);
  }

  // Leaves *value as it is where the field is missing, unless it is `required`.
  template <typename Number>
  absl::Status Read(const std::string& name, double low, double high, bool required,
                    Number* value) {
    const Json* field = Find(name);
    if (field == nullptr) {
      return required ? Wrong(NameOf(name), "is missing") : absl::OkStatus();
    }
    const bool whole = std::numeric_limits<Number>::is_integer;
    const bool fits = whole ? field->is_number_integer() : field->is_number();
    if (!fits || field->get<double>() < low || field->get<double>() > high) {
      return Wrong(NameOf(name), absl::StrCat("must be a ", whole ? "whole number" : "number",
                                              " from ", low, " to ", high));
    }
    *value = field->get<Number>();
    return absl::OkStatus();
  }
  absl::Status Read(const std::string& name, std::string* value) {
    const Json* field = Find(name);
    if (field == nullptr) return absl::OkStatus();
    if (!field->is_string()) return Wrong(NameOf(name), "must be a text");
    *value = field->get<std::string>();
    return absl::OkStatus();
  }
  // One of `names`; *index is its place among them.
  absl::Status Read(const std::string& name, const std::vector<std::string>& names, bool required,
                    size_t* index) {
    std::string text = required ? "" : names[*index];
    PHX_RETURN_IF_ERROR(Read(name, &text));
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      return Wrong(NameOf(name), absl::StrCat("must be one of ", absl::StrJoin(names, ", ")));
    }
    *index = static_cast<size_t>(found - names.begin());
    return absl::OkStatus();
  }

  absl::Status NothingElse() const {
    for (const auto& [name, value] : json_.items()) {
      if (known_.count(name) == 0) return Wrong(NameOf(name), "isn't known");
    }
    return absl::OkStatus();
  }

 private:
  const Json& json_;
  const std::string where_;
  std::set<std::string> known_;
};

absl::StatusOr<Group> ParseGroup(const Json& json, const std::string& where) {
  Fields fields(json, where);
  PHX_RETURN_IF_ERROR(fields.MustBeObject());
  Group group;
  PHX_RETURN_IF_ERROR(fields.Read("collectives", 1, kMostCollectives, true, &group.collectives));
  const Json* ranks = fields.Find("ranks");
  const absl::Status wrong =
      Wrong(fields.NameOf("ranks"), "must be an array of two or more different ranks");
  if (ranks == nullptr || !ranks->is_array()) return wrong;
  for (const Json& rank : *ranks) {
    if (!rank.is_number_integer() || rank < 0 || rank >= kMostRanks) return wrong;
    group.ranks.push_back(rank.get<int>());
  }
  std::sort(group.ranks.begin(), group.ranks.end());
  const bool twice =
      std::adjacent_find(group.ranks.begin(), group.ranks.end()) != group.ranks.end();
  if (group.ranks.size() < 2 || twice) return wrong;
  PHX_RETURN_IF_ERROR(fields.NothingElse());
  return group;
}

// The groups of a model that is split by tensors, replicated for data and cut into pipeline stages.
// Pipeline stages have no collective in common.
absl::Status ParseDecomposition(const Json& json, DeadlockConfig* config) {
  Fields fields(json, "groups");
  int tensor = 0;
  int data = 0;
  int pipeline = 0;
  int of_tensor_group = 0;
  int of_data_group = 0;
  PHX_RETURN_IF_ERROR(fields.Read("tensor_parallel", 2, 1024, true, &tensor));
  PHX_RETURN_IF_ERROR(fields.Read("data_parallel", 2, 1024, true, &data));
  PHX_RETURN_IF_ERROR(fields.Read("pipeline_parallel", 1, 1024, true, &pipeline));
  PHX_RETURN_IF_ERROR(
      fields.Read("collectives_per_tensor_group", 1, kMostCollectives, true, &of_tensor_group));
  PHX_RETURN_IF_ERROR(
      fields.Read("collectives_per_data_group", 1, kMostCollectives, true, &of_data_group));
  PHX_RETURN_IF_ERROR(fields.NothingElse());
  if (static_cast<int64_t>(tensor) * data * pipeline > kMostRanks) {
    return Wrong("groups", absl::StrCat("names more than ", kMostRanks, " ranks"));
  }
  for (int stage = 0; stage < pipeline; ++stage) {
    const int first = stage * tensor * data;
    for (int replica = 0; replica < data; ++replica) {
      Group group{{}, of_tensor_group};
      for (int i = 0; i < tensor; ++i) group.ranks.push_back(first + replica * tensor + i);
      config->groups.push_back(std::move(group));
    }
    for (int shard = 0; shard < tensor; ++shard) {
      Group group{{}, of_data_group};
      for (int i = 0; i < data; ++i) group.ranks.push_back(first + i * tensor + shard);
      config->groups.push_back(std::move(group));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseGroups(const Json* json, DeadlockConfig* config) {
  if (json != nullptr && json->is_object()) {
    PHX_RETURN_IF_ERROR(ParseDecomposition(*json, config));
  } else if (json != nullptr && json->is_array() && !json->empty()) {
    for (size_t i = 0; i < json->size(); ++i) {
      PHX_ASSIGN_OR_RETURN(Group group, ParseGroup((*json)[i], absl::StrCat("groups[", i, "]")));
      config->groups.push_back(std::move(group));
    }
  } else {
    return Wrong("groups", "must be an array of groups, or an object of a 3-D decomposition");
  }
  if (config->groups.size() > kMostGroups) {
    return Wrong("groups", absl::StrCat("has more than ", kMostGroups, " groups"));
  }
  std::set<int> ranks;
  for (const Group& group : config->groups) ranks.insert(group.ranks.begin(), group.ranks.end());
  config->ranks = *ranks.rbegin() + 1;
  if (config->ranks != static_cast<int>(ranks.size())) {
    return Wrong("groups", absl::StrCat("must name each rank from 0 to ", config->ranks - 1));
  }
  return absl::OkStatus();
}

absl::Status ParsePublished(const Json* json, DeadlockConfig* config) {
  if (json == nullptr) return absl::OkStatus();
  Fields fields(*json, "published");
  PHX_RETURN_IF_ERROR(fields.MustBeObject());
  DeadlockConfig::Published published;
  PHX_RETURN_IF_ERROR(fields.Read("rate", 0, 1, true, &published.rate));
  PHX_RETURN_IF_ERROR(fields.Read("rounds", 1, kMostRounds, false, &published.rounds));
  PHX_RETURN_IF_ERROR(fields.Read("source", &published.source));
  PHX_RETURN_IF_ERROR(fields.NothingElse());
  config->published = std::move(published);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeadlockConfig> ParseDeadlockConfig(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return absl::InvalidArgumentError("it isn't JSON");
  Fields fields(json, "");
  PHX_RETURN_IF_ERROR(fields.MustBeObject());
  DeadlockConfig config;
  config.name = "unnamed";
  PHX_RETURN_IF_ERROR(fields.Read("name", &config.name));
  PHX_RETURN_IF_ERROR(ParseGroups(fields.Find("groups"), &config));
  size_t model = 0;
  PHX_RETURN_IF_ERROR(fields.Read("model", {"single_queue", "synchronisation"}, true, &model));
  config.model = model == 0 ? Model::kSingleQueue : Model::kSynchronisation;
  size_t interface = 0;
  PHX_RETURN_IF_ERROR(fields.Read("interface", {"key", "stream"}, false, &interface));
  config.interface = interface == 0 ? Interface::kKey : Interface::kStream;
  PHX_RETURN_IF_ERROR(fields.Read("disorder", 0, 1, true, &config.disorder));
  // At 1 a rank would do nothing but wait.
  PHX_RETURN_IF_ERROR(fields.Read("synchronisation", 0, 0.99,
                                  config.model == Model::kSynchronisation,
                                  &config.synchronisation));
  if (config.model == Model::kSingleQueue && config.synchronisation > 0) {
    return Wrong("synchronisation", "has no meaning in the model single_queue");
  }
  PHX_RETURN_IF_ERROR(fields.Read("rounds", 1, kMostRounds, true, &config.rounds));
  config.phalanx_rounds = config.rounds;
  PHX_RETURN_IF_ERROR(fields.Read("phalanx_rounds", 1, kMostRounds, false, &config.phalanx_rounds));
  PHX_RETURN_IF_ERROR(fields.Read("seed", 0, 9e15, false, &config.seed));
  PHX_RETURN_IF_ERROR(fields.Read("slots", 1, 1024, false, &config.slots));
  PHX_RETURN_IF_ERROR(fields.Read("ranks_per_node", 1, kMostRanks, false, &config.ranks_per_node));
  PHX_RETURN_IF_ERROR(ParsePublished(fields.Find("published"), &config));
  PHX_RETURN_IF_ERROR(fields.NothingElse());
  return config;
}

absl::StatusOr<DeadlockConfig> ReadDeadlockConfig(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    return absl::NotFoundError(absl::StrCat("can't read the configuration file ", path));
  }
  absl::StatusOr<DeadlockConfig> config = ParseDeadlockConfig(text);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("configuration file ", path, ": ", std::string(config.status().message())));
  }
  return config;
}

}  // namespace phalanx::simulate
