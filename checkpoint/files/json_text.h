// JSON that anybody may have written: parsed and looked into without exceptions.
#ifndef PHALANX_CHECKPOINT_FILES_JSON_TEXT_H_
#define PHALANX_CHECKPOINT_FILES_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace phalanx::checkpoint {

// One object. INVALID_ARGUMENT for anything else, and for an object that names a key twice: readers
// would disagree about its value.
absl::StatusOr<nlohmann::json> ParseObject(const std::string& text);

// The member `key` of the object; INVALID_ARGUMENT if it isn't there or is of another type.
absl::StatusOr<uint64_t> UnsignedAt(const nlohmann::json& object, const char* key);
absl::StatusOr<std::string> TextAt(const nlohmann::json& object, const char* key);

// `text` in quotes for a message, on one line whatever it holds.
std::string Quoted(const std::string& text);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_JSON_TEXT_H_
