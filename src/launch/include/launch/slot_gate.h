// A device that holds few collectives at once, as a GPU does, and nobody to order them: what
// PHALANX_ORDERING=off means where slots are limited.
#ifndef PHALANX_LAUNCH_SLOT_GATE_H_
#define PHALANX_LAUNCH_SLOT_GATE_H_

#include <deque>
#include <mutex>

#include "engine/launch_gate.h"

namespace phalanx::launch {

// Operations take a slot in the order in which their streams reach them, and keep it until they
// are done. Two ranks that take theirs in different orders wait for each other for ever.
class SlotGate final : public engine::LaunchGate {
 public:
  explicit SlotGate(int slots) : free_(slots) {}

  void Issued(engine::Operation* operation, bool reached) override;
  void Reached(engine::Operation* operation) override;
  void Ended(engine::Operation* operation) override;
  void HostComes(std::chrono::nanoseconds) override {}
  void HostWaits(const engine::Operation&) override {}
  void HostWaitsForDevice() override {}
  void HostGoesOn() override {}
  bool AwaitLaunch(std::chrono::nanoseconds /*patience*/) override { return false; }
  std::string Report() override { return ""; }

 private:
  std::mutex mutex_;
  int free_;
  std::deque<engine::Operation*> waiting_;
};

}  // namespace phalanx::launch

#endif  // PHALANX_LAUNCH_SLOT_GATE_H_
