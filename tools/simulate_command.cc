#include <cstdio>
#include <optional>
#include <string>

#include "command_line.h"
#include "simulate/deadlock.h"
#include "simulate/order.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Both simulate in one thread of this process: no ranks are started, nothing is sent. docs/simulate.md says
what the figures mean. An interrupt ends them; a JSON file is written at the end only.

Examples:
  phalanx simulate deadlock --config examples/deadlock/64_ranks_4x4x4.json
  phalanx simulate order --ranks 16384 --communicators 4096
  phalanx simulate order --ranks 16384 --communicators 4096 --mode certified)";

struct DeadlockOptions {
  std::string config;
  std::optional<uint64_t> rounds;
  std::optional<uint64_t> phalanx_rounds;
  std::optional<uint64_t> seed;
  std::string json;
};

CLI::App* AddDeadlock(CLI::App& command, DeadlockOptions* options) {
  CLI::App* deadlock = command.add_subcommand(
      "deadlock", "How often programs out of order deadlock, plainly launched and through Phalanx");
  deadlock->add_option("--config", options->config, "What to simulate, as JSON")
      ->type_name("FILE")
      ->required();
  deadlock->add_option("--rounds", options->rounds, "In place of the file's: of plain launching")
      ->check(CLI::Range(1, 1'000'000'000));
  deadlock
      ->add_option("--phalanx-rounds", options->phalanx_rounds,
                   "In place of the file's: through Phalanx, from the same first round on")
      ->check(CLI::Range(1, 1'000'000'000));
  deadlock->add_option("--seed", options->seed, "In place of the file's");
  deadlock->add_option("--json", options->json, "Write the figures there")->type_name("FILE");
  return deadlock;
}

struct OrderOptions {
  simulate::OrderSettings settings;
  std::string mode = "announced";
  std::string json;
};

CLI::App* AddOrder(CLI::App& command, OrderOptions* options) {
  simulate::OrderSettings& settings = options->settings;
  CLI::App* order = command.add_subcommand(
      "order", "What ordering costs at scale: messages, tickets a second, memory");
  order->add_option("--ranks", settings.ranks, "Of the job")
      ->check(CLI::Range(2, 65'536))
      ->capture_default_str();
  order->add_option("--communicators", settings.communicators, "Of the job")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  order->add_option("--ranks-per-node", settings.ranks_per_node, "The last node may have fewer")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  order->add_option("--members", settings.members, "Ranks of each communicator")
      ->check(CLI::Range(2, 65'536))
      ->capture_default_str();
  order
      ->add_option("--stride", settings.stride,
                   "From a member to the next; 1: side by side; default: one member on a node")
      ->check(CLI::Range(1, 65'536));
  order->add_option("--ops-per-communicator", settings.operations, "That are measured")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  order->add_option("--slots", settings.slots, "Operations that a device holds at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  order
      ->add_option("--mode", options->mode,
                   "announced: by tickets; certified: by a schedule that is learned first")
      ->check(CLI::IsMember({"announced", "certified"}))
      ->capture_default_str();
  order->add_option("--json", options->json, "Write the figures there")->type_name("FILE");
  return order;
}

int Fail(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "phalanx: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

int Deadlock(const DeadlockOptions& options) {
  absl::StatusOr<simulate::DeadlockConfig> config = simulate::ReadDeadlockConfig(options.config);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  config->rounds = options.rounds.value_or(config->rounds);
  config->phalanx_rounds = options.phalanx_rounds.value_or(config->phalanx_rounds);
  config->seed = options.seed.value_or(config->seed);
  const simulate::DeadlockResult result = simulate::SimulateDeadlock(*config);
  std::fputs(simulate::DeadlockText(*config, result).c_str(), stdout);
  if (!options.json.empty()) {
    const absl::Status written = simulate::WriteDeadlockJson(*config, result, options.json);
    if (!written.ok()) return Fail(written, kExitFailure);
  }
  return result.phalanx.hits == 0 ? 0 : kExitFailure;
}

int Order(OrderOptions options) {
  options.settings.certified = options.mode == "certified";
  const absl::StatusOr<simulate::OrderResult> result = simulate::SimulateOrder(options.settings);
  if (!result.ok()) {
    return Fail(result.status(),
                absl::IsInvalidArgument(result.status()) ? kExitUsage : kExitFailure);
  }
  std::fputs(simulate::OrderText(options.settings, *result).c_str(), stdout);
  if (options.json.empty()) return 0;
  const absl::Status written = simulate::WriteOrderJson(options.settings, *result, options.json);
  return written.ok() ? 0 : Fail(written, kExitFailure);
}

}  // namespace

int SimulateCommand(const std::vector<std::string>& arguments) {
  CLI::App command("Simulate the ordering of collectives.", "phalanx simulate");
  command.require_subcommand(1);
  command.footer(kFooter);
  DeadlockOptions deadlock_options;
  const CLI::App* deadlock = AddDeadlock(command, &deadlock_options);
  OrderOptions order_options;
  AddOrder(command, &order_options);
  int exit_code = 0;
  if (!Parse(command, arguments, &exit_code)) return exit_code;
  return deadlock->parsed() ? Deadlock(deadlock_options) : Order(order_options);
}

}  // namespace phalanx::tools
