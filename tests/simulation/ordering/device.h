// One rank's device: streams that run in order, and slots. An operation holds a slot from when it
// is launched and its stream has reached it until it is complete.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_DEVICE_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_DEVICE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace phalanx::ordering::simulation {

class Device {
 public:
  // `hoards`: launches wait for as long as somebody waits for the whole device.
  Device(int slots, bool hoards) : slots_(slots), hoards_(hoards) {}

  void Issue(uint64_t id, uint32_t stream, bool beside);
  void Launch(uint64_t id);
  void Complete(uint64_t id);  // or it was aborted
  // By a wait for the whole device.
  void Hold() { ++holds_; }
  void Release();

  bool IsPresent(uint64_t id) const { return ops_.at(id).present; }
  bool IsResident(uint64_t id) const { return resident_.count(id) > 0; }
  bool IsComplete(uint64_t id) const { return ops_.count(id) == 0; }
  std::vector<uint64_t> Incomplete() const;

  // Taken by the caller: what streams have reached, and what has got a slot, since the last call.
  std::vector<uint64_t> TakeReached();
  std::vector<uint64_t> TakeResident();

  // Operations that had to wait for a slot: the launch queue gave the device more than it holds.
  int overflows() const { return overflows_; }

 private:
  struct Op {
    uint32_t stream = 0;
    bool present = false;
    bool launched = false;
  };

  void Reach(uint32_t stream);
  void Start(uint64_t id);
  void FillSlots();

  const int slots_;
  const bool hoards_;
  int holds_ = 0;
  int overflows_ = 0;
  std::map<uint64_t, Op> ops_;                                     // incomplete
  std::map<uint32_t, std::deque<std::vector<uint64_t>>> streams_;  // incomplete units
  std::set<uint64_t> resident_;
  std::deque<uint64_t> wait_for_slot_;
  std::vector<uint64_t> held_launches_;
  std::vector<uint64_t> reached_;
  std::vector<uint64_t> became_resident_;
};

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_DEVICE_H_
