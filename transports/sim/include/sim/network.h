// A deterministic network in one process, for tests: every delay comes from the seed and the clock
// is virtual, so a failure replays by its seed.
//
// It is also a strict judge. What a transport only forbids, it looks for: a range read before its
// signal was seen or outside what was published, memory changed while peers may read it, a buffer
// changed while its message is in flight. Such finds are violations(), beside wrong data.
#ifndef PHALANX_SIM_NETWORK_H_
#define PHALANX_SIM_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spi/group.h"
#include "spi/link.h"

namespace phalanx::sim {

class Core;

struct Options {
  uint64_t seed = 1;
  // A message, and a signal's way to each reader, takes a time between these. With both zero a
  // signal is seen at once.
  std::chrono::nanoseconds least_delay{100};
  std::chrono::nanoseconds most_delay{10000};
  // From a rank's death until its peers are told, plus a delay as above.
  std::chrono::nanoseconds detection{1000000};
  // Bytes that a link takes in for receives that aren't there yet; other sends stay in flight.
  size_t unexpected_bytes = 64 * 1024;
  // A publication is refused by chance, once in so many times; 0: never.
  int refuses_one_in = 8;
  // Above zero: members can't be read in place, so they copy, with windows for so many rounds of a
  // region, and refuse publications until a window is acknowledged.
  uint32_t copy_windows = 0;
};

// Thread-safe like its parts, but only a single thread makes a run that repeats itself. Outlives
// all that was opened from it.
class Network {
 public:
  explicit Network(const Options& options);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Wait() of what is opened here lets virtual time go on to the next event.
  std::unique_ptr<spi::Wire> OpenWire();
  std::unique_ptr<spi::GroupDomain> OpenDomain();

  // Lets the next thing happen: virtual time goes on to it. False if nothing is on its way, so that
  // whoever waits waits for ever.
  bool Step();
  std::chrono::nanoseconds now() const;

  // The process of that rank (as its wires' identities and its domains name it) stops here: nothing
  // more leaves or reaches it, and its peers find out after a while.
  void Kill(int rank);

  std::vector<std::string> violations() const;

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace phalanx::sim

#endif  // PHALANX_SIM_NETWORK_H_
