// What a deadlock simulation found, as text and JSON.
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "rank_program.h"
#include "simulate/deadlock.h"

namespace phalanx::simulate {
namespace {

using Json = nlohmann::json;

const char* NameOf(Model model) {
  return model == Model::kSingleQueue ? "single_queue" : "synchronisation";
}

const char* NameOf(Interface interface) { return interface == Interface::kKey ? "key" : "stream"; }

std::string Text(const Rate& rate) {
  const Interval interval = ConfidenceOf(rate);
  return absl::StrFormat("%8.3f %%   (%d of %d rounds; 95 %%: %.3f … %.3f %%)", 100 * rate.value(),
                         rate.hits, rate.rounds, 100 * interval.low, 100 * interval.high);
}

std::string PublishedText(const DeadlockConfig::Published& published) {
  const double percent = 100 * published.rate;
  if (published.rounds == 0) return absl::StrFormat("%8.3f %%   (of unknown rounds)", percent);
  return absl::StrFormat("%8.3f %%   (of %d rounds)", percent, published.rounds);
}

Json ToJson(const Rate& rate) {
  const Interval interval = ConfidenceOf(rate);
  return {{"rate", rate.value()},
          {"hits", rate.hits},
          {"rounds", rate.rounds},
          {"low_95", interval.low},
          {"high_95", interval.high}};
}

}  // namespace

std::string DeadlockText(const DeadlockConfig& config, const DeadlockResult& result) {
  const Layout layout(config);
  std::string text =
      absl::StrFormat("# %s: %d ranks, %d groups, %d collectives a round, model %s, disorder %g",
                      config.name, config.ranks, config.groups.size(), layout.collectives(),
                      NameOf(config.model), config.disorder);
  if (config.model == Model::kSynchronisation) {
    absl::StrAppendFormat(&text, ", synchronisation %g", config.synchronisation);
  }
  absl::StrAppend(&text, "\n");
  absl::StrAppend(&text, "plain launch, published rule  ", Text(result.plain), "\n");
  if (config.published.has_value()) {
    absl::StrAppend(&text, "published                     ", PublishedText(*config.published),
                    "\n");
    absl::StrAppend(&text, "                              ", config.published->source, "\n");
  }
  absl::StrAppend(&text, "plain launch, exact           ", Text(result.plain_exact), "\n");
  absl::StrAppend(&text, "Phalanx, hangs                ", Text(result.phalanx), "\n");
  if (config.interface == Interface::kStream) {
    absl::StrAppend(&text, "Phalanx, explained            ", Text(result.explained), "\n");
  }
  absl::StrAppendFormat(&text, "  of these rounds plain launching can't end %d\n",
                        result.impossible);
  absl::StrAppendFormat(
      &text,
      "  interface %s, %d slots, %d ranks a node; %d collectives, %d tickets of the sequencer\n",
      NameOf(config.interface), config.slots, config.ranks_per_node, result.collectives,
      result.tickets);
  if (config.phalanx_rounds < config.rounds) {
    absl::StrAppendFormat(&text, "  Phalanx ran the first %d of the %d rounds\n",
                          config.phalanx_rounds, config.rounds);
  }
  return text;
}

absl::Status WriteDeadlockJson(const DeadlockConfig& config, const DeadlockResult& result,
                               const std::string& path) {
  const Layout layout(config);
  Json json = {{"name", config.name},
               {"ranks", config.ranks},
               {"groups", config.groups.size()},
               {"collectives", layout.collectives()},
               {"model", NameOf(config.model)},
               {"interface", NameOf(config.interface)},
               {"disorder", config.disorder},
               {"synchronisation", config.synchronisation},
               {"seed", config.seed},
               {"slots", config.slots},
               {"ranks_per_node", config.ranks_per_node},
               {"plain", ToJson(result.plain)},
               {"plain_exact", ToJson(result.plain_exact)},
               {"phalanx", ToJson(result.phalanx)},
               {"explained", ToJson(result.explained)},
               {"impossible", result.impossible},
               {"completed_collectives", result.collectives},
               {"tickets", result.tickets}};
  if (config.published.has_value()) {
    json["published"] = {{"rate", config.published->rate}, {"source", config.published->source}};
    if (config.published->rounds > 0) json["published"]["rounds"] = config.published->rounds;
  }
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("can't write ", path));
  return absl::OkStatus();
}

}  // namespace phalanx::simulate
