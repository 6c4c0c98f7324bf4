#include "control_emulation/emulated_network.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "control_emulation/link_fault_text.h"
#include "control_emulation/network_text.h"
#include "control_supervisor/program.h"
#include "namespaces.h"
#include "nlohmann/json.hpp"

namespace phalanx::control {
namespace {

absl::StatusOr<std::string> FindTool(const std::string& name, absl::string_view package) {
  const char* const path = std::getenv("PATH");
  absl::StatusOr<std::string> found =
      FindUserProgram(name, path != nullptr ? path : "/usr/bin:/bin", {"/usr/sbin", "/sbin"});
  if (found.ok()) return found;
  return absl::NotFoundError(absl::StrCat("emulating a cluster needs the program `", name,
                                          "`; on Debian: apt install ", package));
}

class Network : public EmulatedNetwork {
 public:
  Network(ClusterShape shape, bool has_faults)
      : shape_(std::move(shape)), has_faults_(has_faults) {}

  absl::Status Build();

  NetworkPlace PlaceOf(int node) const override {
    return namespaces_.Place(static_cast<size_t>(node) + 1);
  }
  std::string hub_address() const override { return kHubAddress; }
  Fd TakeSocket() override { return std::move(namespaces_.socket); }
  absl::StatusOr<std::vector<NodeTraffic>> ReadTraffic() const override;
  absl::Status Suffer(const std::vector<faults::Fault>& faults) override {
    return Filter(LinkRules(faults));
  }
  absl::StatusOr<uint64_t> ReadLostPackets() const override;

 private:
  int nodes() const { return static_cast<int>(shape_.ranks.size()); }
  NetworkPlace Hub() const { return namespaces_.Place(0); }
  absl::Status RunBatch(const NetworkPlace& place, const std::string& tool, std::string commands,
                        std::vector<int> kept_fds = {}) const {
    return RunTool(place, {tool, {"-batch", "-"}, std::move(commands), std::move(kept_fds)})
        .status();
  }
  absl::Status AddTraffic(const NetworkPlace& place, const std::string& interface, uint64_t* bytes,
                          uint64_t* dropped_packets) const;
  absl::Status Filter(std::string commands) const {
    return RunTool(Hub(), {nft_, {"-f", "-"}, std::move(commands), {}}).status();
  }

  const ClusterShape shape_;
  const bool has_faults_;
  std::string ip_;
  std::string tc_;
  std::string nft_;
  Namespaces namespaces_;  // the first one is the hub
};

absl::Status Network::Build() {
  PHX_ASSIGN_OR_RETURN(ip_, FindTool("ip", "iproute2"));
  PHX_ASSIGN_OR_RETURN(tc_, FindTool("tc", "iproute2"));
  if (has_faults_) {
    PHX_ASSIGN_OR_RETURN(nft_, FindTool("nft", "nftables"));
  }
  PHX_ASSIGN_OR_RETURN(namespaces_, MakeNamespaces(shape_.ranks.size() + 1));
  std::vector<int> node_fds;
  for (int node = 0; node < nodes(); ++node) node_fds.push_back(PlaceOf(node).network);
  PHX_RETURN_IF_ERROR(RunBatch(Hub(), ip_, HubLinks(node_fds), node_fds));
  PHX_RETURN_IF_ERROR(RunBatch(Hub(), tc_, HubQueues(shape_)));
  for (int node = 0; node < nodes(); ++node) {
    PHX_RETURN_IF_ERROR(RunBatch(PlaceOf(node), ip_, NodeLinks(node)));
    PHX_RETURN_IF_ERROR(RunBatch(PlaceOf(node), tc_, NodeQueues(shape_)));
  }
  if (has_faults_) PHX_RETURN_IF_ERROR(Filter(LinkTable()));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NodeTraffic>> Network::ReadTraffic() const {
  std::vector<NodeTraffic> all(shape_.ranks.size());
  for (int node = 0; node < nodes(); ++node) {
    NodeTraffic& traffic = all[static_cast<size_t>(node)];
    PHX_RETURN_IF_ERROR(
        AddTraffic(PlaceOf(node), kNodeInterface, &traffic.sent_bytes, &traffic.dropped_packets));
    PHX_RETURN_IF_ERROR(
        AddTraffic(Hub(), PortName(node), &traffic.received_bytes, &traffic.dropped_packets));
  }
  return all;
}

// Of the queue at the root: what is under it is counted there too.
absl::Status Network::AddTraffic(const NetworkPlace& place, const std::string& interface,
                                 uint64_t* bytes, uint64_t* dropped_packets) const {
  PHX_ASSIGN_OR_RETURN(
      const std::string text,
      RunTool(place, {tc_, {"-s", "-j", "qdisc", "show", "dev", interface}, "", {}}));
  const nlohmann::json queues = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (queues.is_array()) {
    for (const nlohmann::json& queue : queues) {
      if (!queue.is_object() || !queue.value("root", false)) continue;
      *bytes += queue.value("bytes", uint64_t{0});
      *dropped_packets += queue.value("drops", uint64_t{0});
      return absl::OkStatus();
    }
  }
  return absl::UnavailableError(absl::StrCat("tc says nothing of the queue of ", interface));
}

absl::StatusOr<uint64_t> Network::ReadLostPackets() const {
  PHX_ASSIGN_OR_RETURN(
      const std::string text,
      RunTool(Hub(),
              {nft_, {"-j", "list", "counter", "bridge", kFaultTable, kLostCounter}, "", {}}));
  const nlohmann::json said = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto parts = said.is_object() ? said.find("nftables") : said.end();
  if (parts != said.end()) {
    for (const nlohmann::json& part : *parts) {
      if (!part.is_object() || !part.contains("counter")) continue;
      const nlohmann::json& counter = part.at("counter");
      if (counter.is_object()) return counter.value("packets", uint64_t{0});
    }
  }
  return absl::UnavailableError("nft says nothing of the packets that faults have taken");
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmulatedNetwork>> EmulatedNetwork::Make(const ClusterShape& shape,
                                                                       bool has_faults) {
  auto network = std::make_unique<Network>(shape, has_faults);
  PHX_RETURN_IF_ERROR(network->Build());
  return absl::StatusOr<std::unique_ptr<EmulatedNetwork>>(std::move(network));
}

const char* EmulatedInterface() { return kNodeInterface; }

std::string DescribeEmulation(const ClusterShape& shape) {
  return absl::StrCat("emulating ", shape.ranks.size(), " nodes (", absl::StrJoin(shape.ranks, ","),
                      " ranks), each with a link of ", RateText(shape.bits_per_second),
                      " in and out, bursts of ", kBurstBytes >> 10, " KiB, no latency added");
}

}  // namespace phalanx::control
