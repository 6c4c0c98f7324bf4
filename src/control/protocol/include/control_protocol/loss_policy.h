// What is tried when a rank is lost, and in which order: PHALANX_ON_LOSS.
#ifndef PHALANX_CONTROL_PROTOCOL_LOSS_POLICY_H_
#define PHALANX_CONTROL_PROTOCOL_LOSS_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

enum class LossChoice : uint8_t {
  kSpare,    // one that waits takes the place
  kRestart,  // a process that its node starts anew does; --max-restarts
  kShrink,   // nobody does: the job goes on with fewer ranks, where the program can
  kFail,     // the job ends with the reason
};

class LossPolicy {
 public:
  // Spare, restart, shrink, fail.
  LossPolicy();
  bool operator==(const LossPolicy&) const = default;

  // "spare,fail". INVALID_ARGUMENT: it is empty, has an unknown word, or one that would never be
  // tried, since it was there before or comes after `fail`.
  static absl::StatusOr<LossPolicy> Parse(absl::string_view text);
  std::string ToText() const;

  bool Has(LossChoice choice) const;

  // The same in the terms of whoever replaces the lost.
  struct Steps {
    bool spares = false;          // may take a place
    bool restarts = false;        // processes may be started anew
    bool restarts_first = false;  // a new process takes the place where it can, a spare else
    bool shrinks = false;         // where these can't
  };
  // Where a job can shrink, nothing is tried after that.
  Steps For(bool can_shrink) const;

 private:
  std::vector<LossChoice> order_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_LOSS_POLICY_H_
