// What the parts of a simulated network share: clock, chance, events, and the list of violations.
#ifndef PHALANX_SIM_CORE_H_
#define PHALANX_SIM_CORE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/network.h"

namespace phalanx::sim {

struct Endpoint;
struct GroupState;

using Time = std::chrono::nanoseconds;

class Core {
 public:
  explicit Core(const Options& options);
  ~Core();

  // Held by every call from outside. Recursive, since a finished transfer's listener may call back.
  using Lock = std::lock_guard<std::recursive_mutex>;
  std::recursive_mutex& mutex() const { return mutex_; }

  const Options& options() const { return options_; }
  Time now() const { return now_; }

  // A delay by chance, and one chance in `n`.
  Time Delay();
  bool OneIn(int n) { return n > 0 && random_() % static_cast<uint64_t>(n) == 0; }

  // Events of one time happen in the order in which they were asked for.
  void At(Time time, std::function<void()> event);
  void After(Time delay, std::function<void()> event) { At(now_ + delay, std::move(event)); }
  bool Step();
  // Step(), or, with nothing on its way, waits for another thread to do something: at most
  // `timeout` and a millisecond. The caller doesn't hold the lock.
  void StepOrWait(std::chrono::nanoseconds timeout);
  // To be called when something has been done that has no event.
  void Changed() { changed_.notify_all(); }

  void Violation(const std::string& text);
  const std::vector<std::string>& violations() const { return violations_; }

  void Kill(int rank);
  // Whether the peers of `rank` know by now that it is gone.
  bool KnownDead(int rank) const { return known_dead_.count(rank) != 0; }
  bool Dead(int rank) const { return dead_.count(rank) != 0; }

  // Wires, by address.
  std::shared_ptr<Endpoint> AddEndpoint();
  std::shared_ptr<Endpoint> FindEndpoint(const std::string& address) const;

  // Groups, by what their members have prepared.
  uint64_t PrepareGroup() { return prepared_++; }
  std::shared_ptr<GroupState> FindGroup(const std::string& key, int size);

 private:
  const Options options_;
  mutable std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::mt19937_64 random_;
  Time now_{0};
  uint64_t asked_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  std::vector<std::string> violations_;
  std::set<int> dead_;
  std::set<int> known_dead_;
  uint64_t prepared_ = 0;
  std::map<std::string, std::shared_ptr<Endpoint>> endpoints_;
  std::map<std::string, std::shared_ptr<GroupState>> groups_;
};

std::unique_ptr<spi::Wire> OpenWire(Core* core);
std::unique_ptr<spi::GroupDomain> OpenDomain(Core* core);

}  // namespace phalanx::sim

#endif  // PHALANX_SIM_CORE_H_
