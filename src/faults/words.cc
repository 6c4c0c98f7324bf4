#include "words.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/check.h"

namespace phalanx::faults {
namespace {

using Kind = Target::Kind;

constexpr uint32_t Bit(Kind kind) { return 1U << static_cast<uint32_t>(kind); }

constexpr uint32_t kWorkers = Bit(Kind::kRank) | Bit(Kind::kSpare);
constexpr uint32_t kProcesses =
    kWorkers | Bit(Kind::kNode) | Bit(Kind::kAgent) | Bit(Kind::kCoordinator) | Bit(Kind::kVoter);

constexpr ActionWord kActions[] = {
    {"kill", Action::kKill, kProcesses, false, ""},
    {"stop", Action::kStop, kProcesses, true, ""},
    {"exit", Action::kExit, kWorkers, false, "code"},
    {"segfault", Action::kSegfault, kWorkers, false, ""},
    {"cut", Action::kCut, Bit(Kind::kLink) | Bit(Kind::kNode), true, ""},
    {"slow", Action::kSlow, Bit(Kind::kLink), true, "factor"},
    {"drop", Action::kDrop, Bit(Kind::kLink), true, "fraction"},
    {"flip", Action::kFlip, Bit(Kind::kRank), false, "copy"},
    {"fill", Action::kFill, Bit(Kind::kRank) | Bit(Kind::kNode), true, ""},
    {"wipe", Action::kWipe, Bit(Kind::kVoter), false, ""},
};

constexpr TargetWord kTargets[] = {
    {"rank", Kind::kRank, "rank=N"},    {"node", Kind::kNode, "node=N"},
    {"agent", Kind::kAgent, "agent=N"}, {"coordinator", Kind::kCoordinator, "coordinator"},
    {"spare", Kind::kSpare, "spare=N"}, {"voter", Kind::kVoter, "voter=N"},
    {"link", Kind::kLink, "link=A-B"},
};

constexpr WhenWord kWhens[] = {
    {"step", When::Kind::kStep},
    {"time", When::Kind::kTime},
    {"op", When::Kind::kOp},
    {"point", When::Kind::kPoint},
};

constexpr PointWord kPoints[] = {
    {"prepared", Point::kPrepared},   {"stored", Point::kStored},
    {"committed", Point::kCommitted}, {"restoring", Point::kRestoring},
    {"restored", Point::kRestored},   {"revoked", Point::kRevoked},
    {"proposed", Point::kProposed},   {"voted", Point::kVoted},
};

template <typename Word, size_t N>
const Word* Find(const Word (&words)[N], absl::string_view name) {
  const Word* const found = std::find_if(std::begin(words), std::end(words),
                                         [&](const Word& word) { return word.name == name; });
  return found == std::end(words) ? nullptr : found;
}

template <typename Word, size_t N, typename Value>
const Word& WordIn(const Word (&words)[N], Value value) {
  const Word* const found = std::find_if(std::begin(words), std::end(words),
                                         [&](const Word& word) { return word.value == value; });
  PHX_CHECK(found != std::end(words));
  return *found;
}

template <typename Word, size_t N>
std::string Names(const Word (&words)[N]) {
  return absl::StrJoin(words, ", ",
                       [](std::string* out, const Word& word) { out->append(word.name); });
}

}  // namespace

const ActionWord* FindAction(absl::string_view name) { return Find(kActions, name); }
const TargetWord* FindTarget(absl::string_view name) { return Find(kTargets, name); }
const WhenWord* FindWhen(absl::string_view name) { return Find(kWhens, name); }
const PointWord* FindPoint(absl::string_view name) { return Find(kPoints, name); }

const ActionWord& WordOf(Action action) { return WordIn(kActions, action); }
const TargetWord& WordOf(Kind kind) { return WordIn(kTargets, kind); }
const WhenWord& WordOf(When::Kind kind) { return WordIn(kWhens, kind); }
const PointWord& WordOf(Point point) { return WordIn(kPoints, point); }

std::string AllActions() { return Names(kActions); }
std::string AllPoints() { return Names(kPoints); }

std::string TargetsOf(const ActionWord& action) {
  std::vector<const char*> shapes;
  for (const TargetWord& target : kTargets) {
    if (Fits(action, target.value)) shapes.push_back(target.shape);
  }
  return absl::StrJoin(shapes, ", ");
}

bool Fits(const ActionWord& action, Kind kind) { return (action.targets & Bit(kind)) != 0; }

}  // namespace phalanx::faults
