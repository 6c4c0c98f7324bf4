#include "ordering_json/json.h"

namespace phalanx::ordering {
namespace {

using Json = nlohmann::json;

Json ToJson(const Explanation::Line& line) {
  Json json = {{"rank", line.rank}, {"why", NameOf(line.why)}, {"op", ToJson(line.op)}};
  if (line.signature.has_value()) json["signature"] = ToJson(*line.signature);
  if (line.stream.has_value()) json["stream"] = *line.stream;
  if (!line.call_site.empty()) json["call_site"] = line.call_site;
  if (line.waits_for.has_value()) json["waits_for"] = ToJson(*line.waits_for);
  if (line.why == Explanation::Line::Why::kBehind) json["behind"] = line.behind;
  return json;
}

}  // namespace

Json ToJson(const OpName& op) {
  const Lane& lane = op.lane;
  Json json = {
      {"name", Describe(op)}, {"communicator", lane.communicator.value}, {"sequence", op.sequence}};
  switch (lane.kind) {
    case Lane::Kind::kCommunicator:
      break;
    case Lane::Kind::kKey:
      json["key"] = lane.detail;
      break;
    case Lane::Kind::kPair:
      json["source"] = lane.source();
      json["destination"] = lane.destination();
      break;
  }
  return json;
}

Json ToJson(const Signature& signature) { return Describe(signature); }

Json ToJson(const Explanation& explanation) {
  Json lines = Json::array();
  for (const Explanation::Line& line : explanation.lines) lines.push_back(ToJson(line));
  Json aborted = Json::array();
  for (const OpName& op : explanation.aborted) aborted.push_back(ToJson(op));
  Json difference;
  if (explanation.difference.has_value()) {
    difference = {{"field", explanation.difference->field},
                  {"left", explanation.difference->left},
                  {"right", explanation.difference->right}};
  }
  return {{"kind", NameOf(explanation.kind)},     {"lines", std::move(lines)},
          {"difference", std::move(difference)},  {"aborted", std::move(aborted)},
          {"remedy", RemedyOf(explanation.kind)}, {"text", Describe(explanation)}};
}

std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace phalanx::ordering
