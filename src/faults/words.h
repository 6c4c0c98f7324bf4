// The words that faults are written with.
#ifndef PHALANX_FAULTS_WORDS_H_
#define PHALANX_FAULTS_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "faults/fault.h"

namespace phalanx::faults {

struct ActionWord {
  const char* name;
  Action value;
  uint32_t targets;  // bits, by Target::Kind
  bool lasts;        // takes for=
  const char* key;   // of its own value; empty if it takes none
};

struct TargetWord {
  const char* name;
  Target::Kind value;
  const char* shape;  // how it is written
};

struct WhenWord {
  const char* name;
  When::Kind value;
};

struct PointWord {
  const char* name;
  Point value;
};

// nullptr if there is none.
const ActionWord* FindAction(absl::string_view name);
const TargetWord* FindTarget(absl::string_view name);
const WhenWord* FindWhen(absl::string_view name);
const PointWord* FindPoint(absl::string_view name);

const ActionWord& WordOf(Action action);
const TargetWord& WordOf(Target::Kind kind);
const WhenWord& WordOf(When::Kind kind);
const PointWord& WordOf(Point point);

// For messages.
std::string AllActions();
std::string AllPoints();
std::string TargetsOf(const ActionWord& action);

bool Fits(const ActionWord& action, Target::Kind kind);

}  // namespace phalanx::faults

#endif  // PHALANX_FAULTS_WORDS_H_
