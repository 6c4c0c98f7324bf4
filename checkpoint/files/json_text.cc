#include "json_text.h"

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace phalanx::checkpoint {

using Json = nlohmann::json;

absl::StatusOr<Json> ParseObject(const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string twice;
  bool has_twice = false;
  const auto look = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      has_twice = true;
      twice = parsed.get_ref<const std::string&>();
    }
    return true;
  };
  Json json = Json::parse(text, look, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("isn't JSON");
  if (!json.is_object()) return absl::InvalidArgumentError("isn't a JSON object");
  if (has_twice) return absl::InvalidArgumentError(absl::StrCat("has ", Quoted(twice), " twice"));
  return json;
}

absl::StatusOr<uint64_t> UnsignedAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return absl::InvalidArgumentError(absl::StrCat("has no number \"", key, "\""));
  }
  return found->get<uint64_t>();
}

absl::StatusOr<std::string> TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat("has no text \"", key, "\""));
  }
  return found->get<std::string>();
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::Utf8SafeCEscape(text), "'");
}

}  // namespace phalanx::checkpoint
