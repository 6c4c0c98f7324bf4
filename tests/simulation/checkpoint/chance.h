// Random choices of a seed, and messages that come in any order.
#ifndef PHALANX_TESTS_SIMULATION_CHECKPOINT_CHANCE_H_
#define PHALANX_TESTS_SIMULATION_CHECKPOINT_CHANCE_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace phalanx::checkpoint::simulation {

using Trace = std::function<void(const std::string&)>;

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}

  // Uniform in [least, most]; the same with every standard library.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  template <typename T>
  T& Of(std::vector<T>& choices) {
    return choices[static_cast<size_t>(Between(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937_64 random_;
};

// What is on its way. A careful one arrives once; others may be lost or come twice.
class Bag {
 public:
  void Add(bool careful, std::function<void()> arrive) {
    messages_.push_back({careful, std::move(arrive)});
  }
  bool empty() const { return messages_.empty(); }
  // What is repeated mustn't pile up faster than it arrives.
  bool full() const { return messages_.size() > 40; }

  void DeliverOne(Chance& chance, bool faults) {
    const auto last = static_cast<int64_t>(messages_.size()) - 1;
    const auto chosen = static_cast<size_t>(chance.Between(0, last));
    const bool lost = faults && !messages_[chosen].careful && chance.OneIn(12);
    const bool twice = faults && !messages_[chosen].careful && chance.OneIn(12);
    const std::function<void()> arrive = messages_[chosen].arrive;
    if (!twice) {
      messages_[chosen] = std::move(messages_.back());
      messages_.pop_back();
    }
    if (!lost) arrive();
  }

 private:
  struct Message {
    bool careful = false;
    std::function<void()> arrive;
  };
  std::vector<Message> messages_;
};

}  // namespace phalanx::checkpoint::simulation

#endif  // PHALANX_TESTS_SIMULATION_CHECKPOINT_CHANCE_H_
