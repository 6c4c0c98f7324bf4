#include "link_faults.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {

void LinkFaults::Begin(const std::string& text) {
  const absl::StatusOr<faults::Fault> fault = faults::ParseFault(text);
  const uint64_t number = ++begun_;
  absl::Status status = fault.status();
  if (status.ok()) {
    active_.emplace(number, Active{*fault, asio::steady_timer(loop_)});
    status = Apply();
  }
  if (!status.ok()) {
    active_.erase(number);
    return logger_.Error(
        absl::StrCat("nothing suffers the fault '", text, "': ", std::string(status.message())));
  }
  logger_.Warning(absl::StrCat("a fault: ", text));
  if (fault->for_ns == 0) return;
  asio::steady_timer& end = active_.at(number).end;
  end.expires_after(std::chrono::nanoseconds(fault->for_ns));
  end.async_wait([this, number](const asio::error_code& stopped) {
    if (!stopped) End(number);
  });
}

void LinkFaults::End(uint64_t number) {
  const std::string text = faults::ToText(active_.at(number).fault);
  active_.erase(number);
  const absl::Status status = Apply();
  if (status.ok()) return logger_.Warning(absl::StrCat("the fault is over: ", text));
  logger_.Error(absl::StrCat("the fault '", text, "' doesn't end: ", status.message()));
}

absl::Status LinkFaults::Apply() {
  if (network_ == nullptr) {
    return absl::FailedPreconditionError("there is no emulated network; start with --emulate");
  }
  std::vector<faults::Fault> now;
  for (const auto& [number, active] : active_) now.push_back(active.fault);
  return network_->Suffer(now);
}

}  // namespace phalanx::control
