// What the ordering costs at scale, as text and JSON.
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "simulate/order.h"

namespace phalanx::simulate {
namespace {

double Per(double amount, uint64_t count) {
  return count == 0 ? 0 : amount / static_cast<double>(count);
}
double Per(uint64_t amount, uint64_t count) { return Per(static_cast<double>(amount), count); }

int StrideOf(const OrderSettings& settings) {
  return settings.stride > 0 ? settings.stride : settings.ranks_per_node;
}

double TicketsPerSecond(const OrderResult& result) {
  return result.sequencer_ns == 0 ? 0 : 1e9 / result.sequencer_ns;
}

std::string MessagesText(const OrderResult& result) {
  const OrderMessages& messages = result.messages;
  std::string text = absl::StrFormat("messages      %d in all, %.3f an operation\n", messages.all,
                                     Per(messages.all, result.operations));
  absl::StrAppendFormat(&text, "coordinator   %d received, %d sent: %.2f and %.2f an operation\n",
                        messages.to_coordinator, messages.from_coordinator,
                        Per(messages.to_coordinator, result.operations),
                        Per(messages.from_coordinator, result.operations));
  absl::StrAppendFormat(
      &text,
      "busiest node  %d: %d over the network, %d on the node: %.2f and %.2f for each of its %d "
      "operations\n",
      messages.busiest_node, messages.busiest_network, messages.busiest_local,
      Per(messages.busiest_network, messages.busiest_operations),
      Per(messages.busiest_local, messages.busiest_operations), messages.busiest_operations);
  return text;
}

std::string MemoryText(const OrderSettings& settings, const OrderMemory& memory) {
  return absl::StrFormat(
      "memory        sequencer %d bytes, and %.0f for an operation in flight\n"
      "              node      %d bytes, and %.0f\n"
      "              rank      %d bytes, and %.0f\n"
      "              members   %d bytes in each agent and the coordinator, %.0f a communicator\n",
      memory.sequencer, memory.sequencer_per_operation, memory.node, memory.node_per_operation,
      memory.rank, memory.rank_per_operation, memory.roster,
      Per(static_cast<double>(memory.roster), static_cast<uint64_t>(settings.communicators)));
}

}  // namespace

std::string OrderText(const OrderSettings& settings, const OrderResult& result) {
  std::string text = absl::StrFormat(
      "# %d ranks on %d nodes, %d communicators of %d ranks (every %d), %d operations of each, %s, "
      "%d "
      "slots\n",
      settings.ranks, (settings.ranks + settings.ranks_per_node - 1) / settings.ranks_per_node,
      settings.communicators, settings.members, StrideOf(settings), settings.operations,
      settings.certified ? "certified" : "announced", settings.slots);
  if (settings.certified) {
    absl::StrAppendFormat(
        &text,
        "learned       after %d operations; %.1f s for all nodes and ranks to take "
        "the schedule; %d fences\n",
        result.learning_operations, result.certify_seconds, result.fences);
    absl::StrAppendFormat(&text, "operations    %d complete; %d launches by schedule\n",
                          result.operations, result.certified_launches);
  } else {
    absl::StrAppendFormat(&text, "operations    %d complete; %d tickets of the sequencer\n",
                          result.operations, result.tickets);
  }
  absl::StrAppend(&text, MessagesText(result));
  if (settings.certified) {
    absl::StrAppend(&text,
                    "              while the order holds nothing is sent, not even a heartbeat\n");
  } else {
    absl::StrAppendFormat(&text, "one core      %.0f tickets a second (%.0f ns each)\n",
                          TicketsPerSecond(result), result.sequencer_ns);
    absl::StrAppendFormat(&text, "              node %.0f ns, rank %.0f ns for an operation\n",
                          result.node_ns, result.rank_ns);
  }
  absl::StrAppend(&text, MemoryText(settings, result.memory));
  return text;
}

absl::Status WriteOrderJson(const OrderSettings& settings, const OrderResult& result,
                            const std::string& path) {
  const OrderMessages& messages = result.messages;
  const OrderMemory& memory = result.memory;
  const nlohmann::json json = {{"ranks", settings.ranks},
                               {"communicators", settings.communicators},
                               {"ranks_per_node", settings.ranks_per_node},
                               {"members", settings.members},
                               {"stride", StrideOf(settings)},
                               {"operations_per_communicator", settings.operations},
                               {"mode", settings.certified ? "certified" : "announced"},
                               {"slots", settings.slots},
                               {"operations", result.operations},
                               {"tickets", result.tickets},
                               {"tickets_per_second", TicketsPerSecond(result)},
                               {"sequencer_ns", result.sequencer_ns},
                               {"node_ns", result.node_ns},
                               {"rank_ns", result.rank_ns},
                               {"learning_operations", result.learning_operations},
                               {"certified_launches", result.certified_launches},
                               {"certify_seconds", result.certify_seconds},
                               {"fences", result.fences},
                               {"messages",
                                {{"all", messages.all},
                                 {"to_coordinator", messages.to_coordinator},
                                 {"from_coordinator", messages.from_coordinator},
                                 {"busiest_node", messages.busiest_node},
                                 {"busiest_network", messages.busiest_network},
                                 {"busiest_local", messages.busiest_local},
                                 {"busiest_operations", messages.busiest_operations}}},
                               {"memory_bytes",
                                {{"sequencer", memory.sequencer},
                                 {"sequencer_per_operation", memory.sequencer_per_operation},
                                 {"node", memory.node},
                                 {"node_per_operation", memory.node_per_operation},
                                 {"rank", memory.rank},
                                 {"rank_per_operation", memory.rank_per_operation},
                                 {"roster", memory.roster}}}};
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("can't write ", path));
  return absl::OkStatus();
}

}  // namespace phalanx::simulate
