// The text of `phalanx status`, from its JSON.
#ifndef PHALANX_TOOLS_STATUS_TEXT_H_
#define PHALANX_TOOLS_STATUS_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace phalanx::tools {

// Throws nlohmann::json::exception where the object isn't what docs/ordering.md describes.
std::string StatusText(const nlohmann::json& status);

}  // namespace phalanx::tools

#endif  // PHALANX_TOOLS_STATUS_TEXT_H_
