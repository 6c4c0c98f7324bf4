// Coordinators, one after the other and some too long, that keep a record under a key of a store,
// in virtual time: calls and answers are lost and late, also long after their time-out; the store
// freezes and is away; coordinators freeze, die and go on.
#ifndef PHALANX_TESTS_SIMULATION_KEYED_WORLD_H_
#define PHALANX_TESTS_SIMULATION_KEYED_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "keyed_record/key_writer.h"

namespace phalanx::control::simulation {

enum class Broken : uint8_t {
  kNothing,
  kPutsWithoutComparing,  // the store
  kForgetsPuts,           // the store, now and then, after it has answered
};

struct Tally {
  int writes = 0;      // acknowledged
  int refused = 0;     // ABORTED
  int recognised = 0;  // acknowledged although the answer of the put was lost
};

class World {
 public:
  World(uint64_t seed, Broken broken);

  // What went wrong, naming the seed; empty: nothing.
  std::string Run(Tally* tally);

 private:
  struct Put {
    int64_t revision = 0;
    WriteTag tag;
    std::string value;
  };
  struct Coordinator {
    explicit Coordinator(KeyWriterSettings settings)
        : id(settings.writer), writer(std::move(settings)) {}
    uint64_t id;
    KeyWriter writer;
    uint64_t call = 0;  // the one that is under way
    bool claimed = false;
    bool over = false;          // has failed or died
    size_t known_at_begin = 0;  // how many puts somebody had been told of when it began
    int64_t deadline_ns = 0;
    std::string wanted;  // what it puts
    int64_t frozen_until_ns = 0;
  };
  struct Event {
    enum class Kind : uint8_t { kArrive, kAnswer, kWake, kBegin, kSuccessor } kind;
    size_t coordinator = 0;
    uint64_t call = 0;
    StoreCall asked;
    StoreAnswer answer;
  };

  bool Chance(double of) { return std::bernoulli_distribution(of)(random_); }
  int64_t Between(int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random_);
  }
  void At(int64_t at_ns, Event event) { events_.emplace(at_ns, std::move(event)); }

  void StartCoordinator();
  void BeginRequest(size_t index);
  void Feed(size_t index, const KeyInput& input);
  void Ask(size_t index, const StoreCall& call);
  void Arrive(const Event& event);
  StoreAnswer Apply(const StoreCall& call);
  void OnFinished(size_t index, const Finished& finished);
  void CheckClaimed(const Coordinator& coordinator, const std::string& value);
  void CheckHistory();
  void Wrong(const std::string& what);

  const uint64_t seed_;
  const Broken broken_;
  std::mt19937_64 random_;
  double loss_ = 0;
  double late_ = 0;
  int64_t now_ns_ = 0;
  int64_t faults_end_ns_ = 0;
  std::vector<std::pair<int64_t, int64_t>> frozen_;  // the store: from, to
  std::multimap<int64_t, Event> events_;
  std::vector<std::unique_ptr<Coordinator>> coordinators_;
  std::vector<Put> history_;
  int64_t revision_ = 0;  // the store's, of all keys
  size_t known_ = 0;      // history_ up to there: somebody was told so
  int64_t values_ = 0;
  uint64_t calls_ = 0;
  int commits_after_faults_ = 0;
  Tally tally_;
  std::string wrong_;
};

}  // namespace phalanx::control::simulation

#endif  // PHALANX_TESTS_SIMULATION_KEYED_WORLD_H_
