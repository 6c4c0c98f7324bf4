#include "judge.h"

#include "absl/strings/str_cat.h"
#include "oracle.h"
#include "random_program.h"

namespace phalanx::ordering::simulation {
namespace {

// Whether buffers have let something happen that no schedule under rendezvous can: what the oracle
// says then is no measure.
bool IsBeyond(const Oracle& oracle, const Result& result) {
  for (size_t rank = 0; rank < result.ended.size(); ++rank) {
    for (const OpName& op : result.ended[rank]) {
      if (!oracle.IsComplete(static_cast<int>(rank), op)) return true;
    }
  }
  return false;
}

std::string Compare(const Program& program, const Options& options, const Oracle& oracle,
                    const Result& result) {
  if (!result.violation.empty()) return result.violation;
  if (result.completed) {
    const bool can = oracle.completes() || (options.early > 0 && IsBeyond(oracle, result));
    return can ? "" : "it completed, which no schedule can";
  }
  if (!result.verdict.has_value()) return "it hangs without a word";
  const Explanation& verdict = *result.verdict;
  const bool aborts = !verdict.aborted.empty();
  if (aborts && options.goes_on && !result.finished && !result.waits_for_absent) {
    return "it hangs after a verdict";
  }
  // The one thing that launching late can spoil.
  if (verdict.kind == Explanation::Kind::kDeviceWait && program.device_wait_holds) return "";
  if (oracle.completes()) {
    return absl::StrCat("some schedule completes it, but: ", ordering::Describe(verdict));
  }
  if (options.early > 0 && IsBeyond(oracle, result)) return "";
  const std::string untrue = oracle.Refute(verdict);
  if (untrue.empty()) return "";
  return absl::StrCat(untrue, ": ", ordering::Describe(verdict));
}

void Count(const Result& result, Tally* tally) {
  ++tally->runs;
  tally->fences += result.fences;
  tally->apart += result.apart;
  tally->certified_launches += result.certified_launches;
  tally->completed += result.completed ? 1 : 0;
  if (!result.verdict.has_value()) return;
  switch (result.verdict->kind) {
    case Explanation::Kind::kCycle:
      ++tally->cycles;
      break;
    case Explanation::Kind::kAbsentRank:
      ++tally->absent;
      break;
    case Explanation::Kind::kRankBehind:
      ++tally->behind;
      break;
    case Explanation::Kind::kMismatch:
      ++tally->mismatches;
      break;
    case Explanation::Kind::kDeviceWait:
      ++tally->device_waits;
      break;
  }
}

}  // namespace

std::string Describe(const Tally& tally) {
  return absl::StrCat(tally.runs, " runs: ", tally.completed, " completed (", tally.behind,
                      " after a rank was behind), ", tally.cycles, " cycles, ", tally.absent,
                      " absent ranks, ", tally.mismatches, " mismatches, ", tally.device_waits,
                      " device waits; ", tally.certified_launches, " launches by schedule, ",
                      tally.fences, " fences, ", tally.apart, " completions before all were there");
}

std::string Judge(const Program& program, const Options& options, Result* result) {
  const Roster roster = program.MakeRoster();
  const Oracle oracle(program, roster);
  World world(program, options);
  const Result outcome = world.Run();
  if (result != nullptr) *result = outcome;
  const std::string wrong = Compare(program, options, oracle, outcome);
  if (wrong.empty()) return "";
  return absl::StrCat(wrong, outcome.waits.empty() ? "" : "\nincomplete:\n", outcome.waits);
}

std::string JudgeSeed(uint64_t seed, Tally* tally) {
  const Program program = RandomProgram(seed);
  for (const bool adaptive : {false, true}) {
    Result result;
    const std::string wrong = Judge(program, RandomOptions(program, seed, adaptive), &result);
    Count(result, tally);
    if (wrong.empty()) continue;
    return absl::StrCat("seed ", seed, adaptive ? ", adaptive: " : ", strict: ", wrong,
                        "\nreplay: ./dev sim ", seed, "\n", Describe(program));
  }
  return "";
}

}  // namespace phalanx::ordering::simulation
