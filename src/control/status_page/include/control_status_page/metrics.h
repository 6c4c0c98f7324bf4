// A job's state as Prometheus' text format, version 0.0.4. Pure.
#ifndef PHALANX_CONTROL_STATUS_PAGE_METRICS_H_
#define PHALANX_CONTROL_STATUS_PAGE_METRICS_H_

#include <string>

namespace phalanx::control {

inline constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

// `status`: the object that docs/status.md describes. What it lacks is left out; empty if it isn't
// such an object. Names of seconds and bytes end so, and those that only rise end in `_total`.
std::string MetricsOf(const std::string& status);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_PAGE_METRICS_H_
