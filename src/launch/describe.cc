#include "describe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/key_table.h"
#include "plan/collective.h"

namespace phalanx::launch {

ordering::Lane LaneOf(const engine::Channel& channel, const engine::Request& request) {
  if (request.key != nullptr) return ordering::Lane::OfKey(channel.id(), request.key->name);
  if (!request.is_message()) return ordering::Lane::Of(channel.id());
  const int own = channel.ranks()[static_cast<size_t>(channel.group().rank)];
  const int peer = channel.ranks()[static_cast<size_t>(request.root_or_peer)];
  const bool sends = request.kind == plan::CollectiveKind::kSend;
  return ordering::Lane::OfPair(channel.id(), sends ? own : peer, sends ? peer : own);
}

std::string CallSiteOf(const engine::Request& request) {
  if (request.file == nullptr) return "";
  const absl::string_view file(request.file);
  // Options that were declared without braces know where their type is defined.
  if (absl::EndsWith(file, "phalanx/communicator.h")) return "";
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", request.line);
}

}  // namespace phalanx::launch
