// Why something can't go on: data, and the text that every rank's error, the log and `phalanx
// status` show.
#ifndef PHALANX_ORDERING_EXPLANATION_H_
#define PHALANX_ORDERING_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ordering/names.h"
#include "ordering/signature.h"

namespace phalanx::ordering {

// One rank's side of an operation.
struct Party {
  int rank = -1;
  Signature signature;
};

struct Explanation {
  enum class Kind : uint8_t {
    kCycle,       // operations wait for each other; proven
    kAbsentRank,  // a rank issues an operation no more
    kRankBehind,  // a rank is alive and hasn't issued an operation yet
    kMismatch,    // members of an operation disagree
    kDeviceWait,  // a cycle that a wait for the whole device is part of
  };
  // On `rank`, `op` can't happen before `waits_for`.
  struct Line {
    enum class Why : uint8_t {
      kStream,   // stands behind it in a stream
      kHost,     // not issued, since the host waits for it
      kAbsent,   // not issued, and nothing is left that would
      kBehind,   // not issued yet
      kDevice,   // not launched, since the device is held by a wait for it among others
      kDiffers,  // issued with this signature
    };
    int rank = -1;
    Why why = Why::kStream;
    OpName op;
    std::optional<Signature> signature;  // if known
    std::optional<uint32_t> stream;      // if issued
    std::string call_site;               // empty when unknown
    std::optional<OpName> waits_for;
    uint64_t behind = 0;  // kBehind: how many operations of the lane
  };

  Kind kind = Kind::kCycle;
  // kCycle, kDeviceWait: each waits for the next one's operation, the last for the first one's.
  std::vector<Line> lines;
  std::optional<Difference> difference;  // kMismatch: between the first two lines
  std::vector<OpName> aborted;
};

// "stream", "host", "absent", "behind", "device", "differs".
const char* NameOf(Explanation::Line::Why why);
// What to change in the program.
const char* RemedyOf(Explanation::Kind kind);
// "cycle", "absent rank", "rank behind", "mismatch", "device wait".
const char* NameOf(Explanation::Kind kind);

// Several lines: what, each line's rank and operation, and what to change.
std::string Describe(const Explanation& explanation);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_EXPLANATION_H_
