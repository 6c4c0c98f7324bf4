// Faults that a job is to suffer, as people write them: `kill rank=2 at=step:120`. Pure.
//
// A fault is one line: ACTION TARGET at=WHEN [for=DURATION] [KEY=VALUE], its words after the action
// in any order.
//
//   kill      rank=N node=N agent=N coordinator spare=N voter=N
//   stop      the same; SIGSTOP, with for= SIGCONT after that time
//   exit      rank=N spare=N; code=N (0 to 255; 1)
//   segfault  rank=N spare=N
//   cut       link=A-B, between nodes A and B in both directions, or link=A>B: what A sends to B;
//             or node=N: all that it sends or is sent; for=
//   slow      link=A-B link=A>B; factor=X, over 1; for=
//   drop      link=A-B link=A>B; fraction=X, over 0 and at most 1; for=
//   flip      rank=N: a bit of what is saved of it; copy=K (0), of its K-th holder, of which the
//             node of the rank itself is the first
//   fill      rank=N node=N: its memory; for=
//   wipe      voter=N: its log
//
// WHEN is step:N or op:N (of the rank that is the target; cut, slow and drop take step:N of rank
// 0), time:DURATION (since the job began) or point:NAME (of the protocol: see Point). A DURATION is
// 250ms, 1.5s or 2m.
#ifndef PHALANX_FAULTS_FAULT_H_
#define PHALANX_FAULTS_FAULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::faults {

enum class Action : uint8_t {
  kKill,      // SIGKILL
  kStop,      // SIGSTOP
  kExit,      // with `code`
  kSegfault,  // SIGSEGV
  kCut,
  kSlow,  // to 1 / `factor`
  kDrop,  // `fraction` of what is sent
  kFlip,
  kFill,
  kWipe,
};

struct Target {
  enum class Kind : uint8_t { kRank, kNode, kAgent, kCoordinator, kSpare, kVoter, kLink };

  Kind kind = Kind::kRank;
  int number = 0;        // none of kCoordinator; the first node of kLink
  int other = 0;         // the other node of kLink
  bool one_way = false;  // of kLink: only what the first one sends to the other

  bool operator==(const Target&) const = default;
};

// Of a checkpoint or a change of view: just after this has happened.
enum class Point : uint8_t {
  kPrepared,
  kStored,
  kCommitted,
  kRestoring,
  kRestored,
  kRevoked,
  kProposed,
  kVoted,
};

struct When {
  enum class Kind : uint8_t { kStep, kTime, kOp, kPoint };

  Kind kind = Kind::kStep;
  int64_t count = 0;  // of kStep and kOp
  int64_t time_ns = 0;
  Point point = Point::kPrepared;

  bool operator==(const When&) const = default;
};

// Happens once in a job. at=step: when the process that holds the rank (0 for a fault of the
// network) comes to View::Checkpoint()
// of that step, before anything of it is saved. When the job comes to that step again, it doesn't.
struct Fault {
  Action action = Action::kKill;
  Target target;
  When when;
  int64_t for_ns = 0;   // 0: for good
  int code = 1;         // of kExit
  int copy = 0;         // of kFlip
  double factor = 1;    // of kSlow
  double fraction = 0;  // of kDrop

  bool operator==(const Fault&) const = default;
};

// Whether the network between the nodes suffers it, and no process.
bool IsOfNetwork(const Fault& fault);

// INVALID_ARGUMENT names the word that is wrong and what is known.
absl::StatusOr<Fault> ParseFault(absl::string_view text);

// One on each line, or with `;` between them; `#` begins a comment that goes to the line's end.
// INVALID_ARGUMENT quotes the fault that is wrong, and names its line where there are several.
absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text);

// Parses back to the same.
std::string ToText(const Fault& fault);

}  // namespace phalanx::faults

#endif  // PHALANX_FAULTS_FAULT_H_
