#include "wire.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace phalanx::stress {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the shell's command writes; empty when it can't be run.
std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), &pclose);
  std::string text;
  char part[1024];
  while (pipe != nullptr) {
    const size_t count = fread(part, 1, sizeof(part), pipe.get());
    if (count == 0) break;
    text.append(part, count);
  }
  return text;
}

}  // namespace

absl::StatusOr<Wire> Wire::Find(Communicator& world) {
  Wire wire;
  if (!absl::SimpleAtod(Variable("PHALANX_EMULATED_RATE"), &wire.bits_per_second_)) return Wire();
  wire.counts_ = Variable("PHALANX_LOCAL_RANK") == "0";
  double nodes = wire.counts_ ? 1 : 0;
  const absl::Status status =
      world.AllReduce(&nodes, &nodes, 1, DataType::kFloat64, ReduceOp::kSum).Wait();
  if (!status.ok()) return status;
  wire.nodes_ = static_cast<int>(nodes);
  return wire;
}

absl::StatusOr<double> Wire::SentBytes() const {
  if (!counts_) return 0.0;
  const std::string text = OutputOf(absl::StrCat(
      "PATH=$PATH:/usr/sbin:/sbin exec tc -s -j qdisc show dev ", Variable("PHALANX_BIND")));
  const nlohmann::json queues = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!queues.is_array() || queues.empty() || !queues[0].is_object()) {
    return absl::UnavailableError("tc says nothing of what the node's link has carried");
  }
  return queues[0].value("bytes", 0.0);
}

double Wire::LeastAllReduceUs(double bytes) const {
  const double payload = 2.0 * (nodes_ - 1) / nodes_ * bytes;
  return payload * kWirePerPayload * 8 / bits_per_second_ * 1e6;
}

}  // namespace phalanx::stress
