// What the ordering service knows as JSON, for programs that read reports. docs/ordering.md
// describes the objects.
#ifndef PHALANX_ORDERING_JSON_JSON_H_
#define PHALANX_ORDERING_JSON_JSON_H_

#include <string>

#include "nlohmann/json.hpp"
#include "ordering/explanation.h"
#include "ordering/names.h"
#include "ordering/signature.h"

namespace phalanx::ordering {

nlohmann::json ToJson(const OpName& op);
nlohmann::json ToJson(const Signature& signature);
nlohmann::json ToJson(const Explanation& explanation);

// One line, without its end. Bytes that aren't UTF-8 are replaced.
std::string LineOf(const nlohmann::json& json);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_JSON_JSON_H_
