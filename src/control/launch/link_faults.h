// What the links of a job's emulated network suffer, and for how long.
#ifndef PHALANX_CONTROL_LAUNCH_LINK_FAULTS_H_
#define PHALANX_CONTROL_LAUNCH_LINK_FAULTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "asio/io_context.hpp"
#include "asio/steady_timer.hpp"
#include "base/logger.h"
#include "control_emulation/emulated_network.h"
#include "faults/fault.h"

namespace phalanx::control {

// For the loop's thread, which must be the process's only one. It is held up for as long as a tool
// needs, some milliseconds. What can't be done is said to `logger`, and so is what begins and ends.
class LinkFaults {
 public:
  // `network` is borrowed; null: there is none, so nothing can be done. Destroy it once the loop
  // has stopped.
  LinkFaults(asio::io_context& loop, EmulatedNetwork* network, Logger logger)
      : loop_(loop), network_(network), logger_(std::move(logger)) {}

  // Of a fault as ToText() writes it; it ends by itself after its for=.
  void Begin(const std::string& text);

 private:
  struct Active {
    faults::Fault fault;
    asio::steady_timer end;
  };

  void End(uint64_t number);
  // That exactly those in `active_` hold.
  absl::Status Apply();

  asio::io_context& loop_;
  EmulatedNetwork* const network_;
  const Logger logger_;
  std::map<uint64_t, Active> active_;
  uint64_t begun_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_LINK_FAULTS_H_
