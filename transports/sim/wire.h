// The two ends of simulated links.
#ifndef PHALANX_SIM_WIRE_H_
#define PHALANX_SIM_WIRE_H_

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core.h"
#include "spi/link.h"

namespace phalanx::sim {

// A message on its way.
struct Outgoing {
  spi::Label label = 0;
  const std::byte* live = nullptr;
  std::vector<std::byte> bytes;       // as they were when it was sent
  spi::Transfer* transfer = nullptr;  // null when it has ended
};

// One that has come before its receive.
struct Arrived {
  uint32_t check = 0;
  std::vector<std::byte> bytes;
};

struct Incoming {
  uint32_t check = 0;
  absl::Span<std::byte> buffer;
  spi::Transfer* transfer = nullptr;
};

// One side of a link.
struct Side {
  spi::PeerIdentity expected;
  bool hello = false;  // our greeting has reached the peer
  bool open = false;
  absl::Status failure;
  std::list<std::shared_ptr<Outgoing>> outgoing;
  std::map<spi::MessageTag, Incoming> posted;
  // From the peer, before their receives.
  std::map<spi::MessageTag, Arrived> arrived;
  std::map<spi::MessageTag, std::shared_ptr<Outgoing>> waiting;
  size_t arrived_bytes = 0;
};

// One wire.
struct Endpoint {
  std::string address;
  bool has_identity = false;
  spi::Identity identity;
  absl::Status ended;                                            // Abort() or Close()
  std::map<std::string, std::shared_ptr<Side>> sides;            // by the peer's address
  std::deque<std::pair<spi::Transfer*, absl::Status>> finished;  // told by Progress()

  bool TellFinished();
};

}  // namespace phalanx::sim

#endif  // PHALANX_SIM_WIRE_H_
