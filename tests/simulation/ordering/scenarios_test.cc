// Named programs, each in strict and adaptive, under many timings: those that every user has met,
// and those that refuted drafts of the protocol.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "judge.h"

namespace phalanx::ordering::simulation {
namespace {

using Kind = Explanation::Kind;

constexpr uint64_t kTimings = 30;
constexpr uint64_t kTimingsOfLong = 6;

struct Mode {
  const char* name;
  bool adaptive;
  bool suggested;  // the schedule, in the order of the labels, holds from the beginning
  int crashes;
};
constexpr Mode kModes[] = {
    {"strict", false, false, 0},
    {"strict, the sequencer dies", false, false, 1},
    {"adaptive", true, false, 0},
    {"adaptive with a schedule", true, true, 0},
    {"adaptive with a schedule, the sequencer dies twice", true, true, 2},
};

using Check = std::function<std::string(const Result&)>;

// Runs `program` in all modes and timings; `check` sees each result that the oracle has no doubts
// about. `early`: in some of them members complete operations apart.
void ForAll(const Program& program, const Check& check, uint64_t timings = kTimings,
            bool early = false) {
  for (const Mode& mode : kModes) {
    for (uint64_t seed = 1; seed <= timings; ++seed) {
      Options options;
      options.seed = seed;
      options.adaptive = mode.adaptive;
      options.crashes = mode.crashes;
      options.certified_path = seed % 3 > 0;
      if (early) options.early = 0.5 * static_cast<double>(seed / 3 % 3);
      if (mode.suggested) options.suggestion = ScheduleOf(program);
      Result result;
      std::string wrong = Judge(program, options, &result);
      if (wrong.empty()) wrong = check(result);
      ASSERT_EQ(wrong, "") << mode.name << ", timing " << seed << "\n" << Describe(program);
    }
  }
}

void ExpectCompletes(const Program& program, uint64_t timings = kTimings) {
  ForAll(
      program, [](const Result& result) { return result.completed ? "" : "it didn't complete"; },
      timings, true);
}

void ExpectVerdict(const Program& program, Kind kind, const Check& check = nullptr) {
  ForAll(program, [&](const Result& result) -> std::string {
    if (!result.verdict.has_value()) return "no verdict";
    if (result.verdict->kind != kind) return ordering::Describe(*result.verdict);
    return check ? check(result) : "";
  });
}

Check DiffersIn(const std::string& field, const std::string& one, const std::string& other) {
  return [=](const Result& result) -> std::string {
    const auto& difference = result.verdict->difference;
    if (!difference.has_value() || difference->field != field) return "not by " + field;
    const bool both = (difference->left == one && difference->right == other) ||
                      (difference->left == other && difference->right == one);
    return both ? "" : absl::StrCat(difference->left, " and ", difference->right);
  };
}

Program WithSlots(const std::string& text, int slots, std::vector<int> nodes = {}) {
  Program program = Parse(text);
  program.slots = slots;
  if (!nodes.empty()) program.node_of_rank = std::move(nodes);
  return program;
}

// On one node, and with every rank on a node of its own.
std::vector<Program> Placements(const std::string& text, int slots) {
  std::vector<Program> programs = {WithSlots(text, slots), WithSlots(text, slots)};
  for (size_t rank = 0; rank < programs[1].ranks.size(); ++rank) {
    programs[1].node_of_rank[rank] = static_cast<int>(rank);
  }
  return programs;
}

void ExpectCompletesAnywhere(const std::string& text) {
  for (const int slots : {1, 2, 3}) {
    for (const Program& program : Placements(text, slots)) ExpectCompletes(program);
  }
}

void ExpectVerdictAnywhere(const std::string& text, Kind kind, const Check& check = nullptr) {
  for (const int slots : {1, 2, 3}) {
    for (const Program& program : Placements(text, slots)) ExpectVerdict(program, kind, check);
  }
}

// --- what users meet
// --------------------------------------------------------------------------------

TEST(ScenarioTest, TwoCommunicatorsInOppositeOrders) {
  ExpectCompletesAnywhere("r0 A@a/s0; A@b/s1 | r1 A@b/s1; A@a/s0");
}

TEST(ScenarioTest, GroupPartsOfOneCommunicatorSwapped) {
  ExpectVerdictAnywhere("r0 G{B@a%root0; C@a:3; D@a:2} | r1 G{B@a%root0; D@a:2; C@a:3}",
                        Kind::kMismatch, DiffersIn("count", "3", "2"));
}

TEST(ScenarioTest, GroupPartsOfTwoCommunicatorsSwapped) {
  ExpectCompletesAnywhere("r0 G{A@b; B@a%root0} | r1 G{B@a%root0; A@b}");
}

TEST(ScenarioTest, LatinSquare) {
  const std::vector<std::string> orders = {"05264173", "10325467", "21036745", "32107654",
                                           "43570216", "56741032", "67413520", "74652301"};
  std::string text;
  for (size_t rank = 0; rank < orders.size(); ++rank) {
    absl::StrAppend(&text, rank == 0 ? "" : " | ", "r", rank, " 20*(");
    for (const char op : orders[rank])
      absl::StrAppend(&text, "A@c", std::string(1, op), "/s", std::string(1, op), ";");
    absl::StrAppend(&text, "hs)");
  }
  for (const int slots : {1, 2, 4}) {
    ExpectCompletes(WithSlots(text, slots, {0, 0, 0, 0, 1, 1, 1, 1}), kTimingsOfLong);
  }
}

TEST(ScenarioTest, OneOrderOnThreeStreams) {
  const std::string program = "A@a/s0; A@b/s1; A@c/s2; A@a/s0; A@b/s1; A@c/s2";
  ExpectCompletesAnywhere(
      absl::StrCat("r0 ", program, " | r1 ", program, " | r2 ", program, " | r3 ", program));
}

TEST(ScenarioTest, ThreadsWithAllReducesAndMessages) {
  ExpectCompletesAnywhere(
      "r0 20*(A@a/s0;hs) & 16*(>1/s1;~<1/s1;hs) | r1 20*(A@a/s0;hs) & 16*(>0/s1;~<0/s1;hs)");
}

TEST(ScenarioTest, AllReduceBesideMessageInOppositeOrders) {
  ExpectCompletesAnywhere("r0 A@a/s0; >1@b/s1 | r1 <0@b/s1; A@a/s0");
}

TEST(ScenarioTest, HostWaitsAgainstEachOther) {
  ExpectVerdictAnywhere("r0 X@s%a2a; ds; R@r/s1 | r1 R@r/s1; hs; X@s%a2a", Kind::kCycle);
  // With keys and no wait before both are issued.
  ExpectCompletesAnywhere("r0 X@s#x%a2a; ~R@r#r; hs | r1 R@r#r; ~X@s#x%a2a; hs");
}

TEST(ScenarioTest, KindsSwappedOnOneCommunicator) {
  ExpectVerdictAnywhere("r0 X@a%a2a; R@a | r1 R@a; X@a%a2a", Kind::kMismatch,
                        DiffersIn("kind", "all_to_all", "all_reduce"));
  ExpectCompletesAnywhere("r0 X@a#x%a2a; ~R@a#r | r1 R@a#r; ~X@a#x%a2a");
}

TEST(ScenarioTest, RankLeavesOneOut) {
  for (Program program : Placements("r0 5*(A@a; B@b; C@c:7) | r1 5*(A@a; C@c:7)", 2)) {
    program.communicators[1] = {0, 1};
    ExpectVerdict(program, Kind::kAbsentRank, [](const Result& result) -> std::string {
      const Explanation::Line& line = result.verdict->lines[0];
      return line.rank == 1 && line.op.lane.communicator.value == 1 ? "" : "the wrong rank";
    });
  }
}

TEST(ScenarioTest, RankIsALayerAhead) {
  const std::string program = "A@a:10; A@a:20";
  ExpectVerdictAnywhere(
      absl::StrCat("r0 ", program, " | r1 ", program, " | r2 ", program, " | r3 A@a:20"),
      Kind::kMismatch, DiffersIn("count", "10", "20"));
}

TEST(ScenarioTest, OneIterationMore) {
  ExpectVerdictAnywhere("r0 9*(A@a;hs) | r1 10*(A@a;hs)", Kind::kAbsentRank,
                        [](const Result& result) -> std::string {
                          return result.verdict->lines[0].rank == 0 ? "" : "the wrong rank";
                        });
}

TEST(ScenarioTest, ArgumentsDiffer) {
  ExpectVerdictAnywhere("r0 3*(A@a); A@a:409600 | r1 3*(A@a); A@a:409598", Kind::kMismatch,
                        DiffersIn("count", "409600", "409598"));
  ExpectVerdictAnywhere("r0 A@a | r1 A@a%bf16", Kind::kMismatch,
                        DiffersIn("type", "float", "bfloat16"));
  ExpectVerdictAnywhere("r0 A@a | r1 A@a%max", Kind::kMismatch,
                        DiffersIn("reduce operation", "sum", "max"));
  ExpectVerdictAnywhere("r0 A@a%root0 | r1 A@a%root1", Kind::kMismatch,
                        DiffersIn("root", "0", "1"));
}

TEST(ScenarioTest, MessagesCross) {
  ExpectCompletesAnywhere("r0 >1; ~<1; hs | r1 >0; ~<0; hs");
  // Nobody has said that they may run beside each other.
  ExpectVerdictAnywhere("r0 >1; <1; hs | r1 >0; <0; hs", Kind::kCycle);
}

TEST(ScenarioTest, CommunicatorsMadeInOppositeOrders) {
  ExpectCompletesAnywhere(
      "r0 X@w#x%split/s0; Y@w#y%split/s1; hsX; hsY; A@x/s2; A@y/s2; hs | "
      "r1 Y@w#y%split/s1; X@w#x%split/s0; hsY; hsX; A@x/s2; A@y/s2; hs");
}

TEST(ScenarioTest, ThreadMakesACommunicatorBesideAnother) {
  const std::string program = "X@w#x%split/s0; hs; A@x/s0; hs & Y@w#y%split/s1; hs";
  ExpectCompletesAnywhere(absl::StrCat("r0 ", program, " | r1 ", program));
}

TEST(ScenarioTest, HostsWaitInOppositeOrders) {
  ExpectVerdictAnywhere(
      "r0 A; hs; B | r1 B; hs; A", Kind::kCycle, [](const Result& result) -> std::string {
        if (result.verdict->lines.size() != 2) return "more than two";
        const int ranks = result.verdict->lines[0].rank + result.verdict->lines[1].rank;
        return ranks == 1 ? "" : "not both ranks";
      });
}

// Both ranks' second operation was aborted before it is issued.
TEST(ScenarioTest, HostsGoOnAfterAVerdict) {
  const Program program = WithSlots("r0 A; hs; B; hs; C; hs | r1 B; hs; A; hs; C; hs", 2, {0, 1});
  for (const bool adaptive : {false, true}) {
    for (uint64_t seed = 1; seed <= kTimings; ++seed) {
      Options options;
      options.seed = seed;
      options.adaptive = adaptive;
      options.goes_on = true;
      Result result;
      ASSERT_EQ(Judge(program, options, &result), "") << "timing " << seed;
      EXPECT_TRUE(result.finished);
      EXPECT_FALSE(result.completed);
      ASSERT_TRUE(result.verdict.has_value());
      EXPECT_EQ(result.verdict->aborted.size(), 2U);
    }
  }
}

TEST(ScenarioTest, LearnedOrderIsLeft) {
  const std::string loop = "8*(A/s0; B/s1; hsA; hsB)";
  for (const int slots : {2, 3}) {
    for (const Program& program :
         Placements(absl::StrCat("r0 ", loop, "; A/s0; B/s1; hsA; hsB | r1 ", loop,
                                 "; B/s1; hs; A/s0; hs"),
                    slots)) {
      ExpectCompletes(program);
      Options options;
      options.adaptive = true;
      Result result;
      EXPECT_EQ(Judge(program, options, &result), "");
      EXPECT_GT(result.certified_launches, 0U);
    }
  }
}

// Pauses of up to 20 ms between any two instructions of any rank are no reason to leave the
// schedule.
TEST(ScenarioTest, LoopWithPausesStaysCertified) {
  const std::string loop = "60*(A/s0; B/s1; hsA; hsB)";
  for (const int slots : {2, 3}) {
    const Program program =
        WithSlots(absl::StrCat("r0 ", loop, " | r1 ", loop, " | r2 ", loop), slots, {0, 0, 1});
    for (uint64_t seed = 1; seed <= kTimings; ++seed) {
      Options options;
      options.seed = seed;
      options.adaptive = true;
      options.pauses = 0.1;
      Result result;
      ASSERT_EQ(Judge(program, options, &result), "");
      EXPECT_EQ(result.fences, 0U) << slots << " slots, timing " << seed;
      EXPECT_GT(result.certified_launches, 300U) << "of 360";
    }
  }
}

// Nor where a message's sender is done long before its receiver comes.
TEST(ScenarioTest, LoopWithMessagesAndPausesStaysCertified) {
  uint64_t apart = 0;
  for (const int slots : {2, 3}) {
    const Program program =
        WithSlots("r0 60*(A/s0; >1@p/s1; hsA) | r1 60*(A/s0; <0@p/s1; hsA; hs)", slots, {0, 1});
    for (uint64_t seed = 1; seed <= kTimings; ++seed) {
      Options options;
      options.seed = seed;
      options.adaptive = true;
      options.pauses = 0.1;
      options.early = 1;
      Result result;
      ASSERT_EQ(Judge(program, options, &result), "");
      EXPECT_EQ(result.fences, 0U) << slots << " slots, timing " << seed;
      EXPECT_GT(result.certified_launches, 200U) << "of 240";
      apart += result.apart;
    }
  }
  EXPECT_GT(apart, 200U);
}

TEST(ScenarioTest, GraphsReplayedInOppositeOrders) {
  ExpectCompletesAnywhere("r0 10*(A@a/s0; A@b/s1); hs | r1 10*(A@b/s1; A@a/s0); hs");
}

TEST(ScenarioTest, RankStopsButLives) {
  const std::string loop = "5*(A@a; hs)";
  const std::string text =
      absl::StrCat("r0 ", loop, "; A@a; hs | r1 ", loop, "; stop | r2 ", loop, "; A@a; hs");
  for (const Program& program : Placements(text, 2)) {
    ExpectVerdict(program, Kind::kRankBehind, [](const Result& result) -> std::string {
      const Explanation::Line& line = result.verdict->lines[0];
      return line.rank == 1 && line.behind == 1 && line.op.sequence == 5
                 ? ""
                 : "wrong rank or operation";
    });
  }
}

TEST(ScenarioTest, AllRanksChangeTogether) {
  const std::string program = "8*(A:32; hs); A:7; hs";
  ExpectCompletesAnywhere(absl::StrCat("r0 ", program, " | r1 ", program));
}

// --- device-wide waits
// ------------------------------------------------------------------------------

TEST(ScenarioTest, DeviceWaitThatHoldsBackLaunches) {
  Program program = WithSlots("r0 A; ds | r1 A", 2);
  ExpectCompletes(program);
  program.device_wait_holds = true;
  // Announced, the operation isn't launched when the wait begins, and can't be after.
  Options options;
  Result result;
  EXPECT_EQ(Judge(program, options, &result), "");
  ASSERT_TRUE(result.verdict.has_value());
  EXPECT_EQ(result.verdict->kind, Kind::kDeviceWait);
  // Certified, it is launched when it is issued.
  Program later = WithSlots("r0 B; hs; A; ds | r1 B; hs; A", 2);
  later.device_wait_holds = true;
  const Signature signature = later.ranks[0][0][0].calls[0].signature;
  options.adaptive = true;
  options.suggestion = Schedule{{{Lane::Of({0}), signature}, {Lane::Of({1}), signature}},
                                {{Lane::Of({0}), 0}, {Lane::Of({1}), 0}}};
  EXPECT_EQ(Judge(later, options, &result), "");
  EXPECT_TRUE(result.completed);
}

// --- what refuted drafts
// ---------------------------------------------------------------------------- The schedule is
// alphabetical, and with too few slots for one these are programs like any other.

TEST(RefutingProgramTest, StreamBehindAnUnlaunchedEntry) {
  ExpectCompletes(WithSlots("r0 A/s0; G/s1 | r1 G/s0; A/s0", 2, {0, 1}));
}

TEST(RefutingProgramTest, ReservedSlot) {
  ExpectCompletes(WithSlots("r0 A/s0; B/s1; C/s2 | r1 C/s0; hsC; B/s0; A/s0", 2, {0, 1}));
}

TEST(RefutingProgramTest, HostWaitBeforeTheFirstEntry) {
  ExpectCompletes(WithSlots("r0 A | r1 B; hsB; A | r2 B", 2, {0, 1, 1}));
}

TEST(RefutingProgramTest, OwedInScheduleOrder) {
  ExpectCompletes(WithSlots("r0 B | r1 B/s0; A/s0 | r2 A", 2, {0, 1, 1}));
}

TEST(RefutingProgramTest, OwedAcrossStreams) {
  ExpectCompletes(WithSlots("r0 C/s0; A/s0 | r1 A/s1; C/s2", 2, {0, 1}));
}

TEST(RefutingProgramTest, GroupAsOneUnit) {
  ExpectCompletesAnywhere("r0 G{X;Y}/s0; Z/s1 | r1 X; Z; Y");
}

// While one operation holds the slot, tickets of both kinds queue up for it.
TEST(RefutingProgramTest, TwoSourcesOfTickets) {
  const std::string both = "20*(L/s0; M/s1; G/s2)";
  for (const int slots : {1, 2}) {
    ExpectCompletes(
        WithSlots(absl::StrCat("r0 ", both, " | r1 ", both, " | r2 20*(G)"), slots, {0, 0, 1}));
  }
}

// Rank 0 has completed the message, or the broadcast that it is the root of, and has nothing to
// announce when the others wait for it. By the schedule it isn't their turn on rank 1.
TEST(RefutingProgramTest, CompleteBeforeTheOthersCome) {
  ExpectCompletesAnywhere("r0 B@b%root0 | r1 B@b%root0; hsB; A | r2 A");
  ExpectCompletesAnywhere("r0 A@a/s0; >1@b/s1 | r1 <0@b/s1; hs; A@a/s0");
  ExpectCompletesAnywhere("r0 >1/s0; >1/s0; A/s0 | r1 A/s0; <0/s1; <0/s1");
  ExpectCompletesAnywhere("r0 B%root0/s0; A/s1 | r1 B%root0/s0; A/s1 | r2 A/s0; hsA; B%root0/s1");
}

TEST(RefutingProgramTest, HostWaitInsideOfTheSchedule) {
  ExpectCompletes(WithSlots("r0 A/s0; B/s1 | r1 B/s1; hsB; A/s0", 3, {0, 1}));
}

TEST(RefutingProgramTest, HardRunAheadBound) {
  ExpectCompletes(WithSlots("r0 300*(A/s0); 300*(B/s1) | r1 300*(B/s1); 300*(A/s0)", 2, {0, 1}),
                  kTimingsOfLong);
}

// --- all small programs
// -----------------------------------------------------------------------------

// Two ranks, three operations: every order, placing on two streams and host wait of both ranks.
std::vector<std::string> AllOfOneRank() {
  std::vector<std::string> programs;
  std::string order = "ABC";
  do {
    for (int streams = 0; streams < 8; ++streams) {
      for (int waits = 0; waits < 4; ++waits) {
        std::string text;
        for (int i = 0; i < 3; ++i) {
          absl::StrAppend(&text, i == 0 ? "" : "; ", std::string(1, order[static_cast<size_t>(i)]),
                          "/s", streams >> i & 1);
          if (i < 2 && (waits >> i & 1) != 0) absl::StrAppend(&text, "; hs");
        }
        programs.push_back(text);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return programs;
}

TEST(AllSmallProgramsTest, CompleteOrAreExplained) {
  const std::vector<std::string> programs = AllOfOneRank();
  int completable = 0;
  uint64_t seed = 0;
  for (const std::string& first : programs) {
    if (first.find("A") > first.find("B") || first.find("B") > first.find("C"))
      continue;  // renamed
    for (const std::string& second : programs) {
      const int slots = 2 + static_cast<int>(seed % 2);
      const Program program = WithSlots(absl::StrCat("r0 ", first, " | r1 ", second), slots,
                                        {0, seed % 3 == 0 ? 0 : 1});
      std::mt19937_64 random(seed);
      for (const bool adaptive : {false, true}) {
        Options options;
        options.seed = ++seed;
        options.adaptive = adaptive;
        options.crashes = static_cast<int>(seed / 2 % 3);
        if (adaptive) options.suggestion = ScheduleOf(program, &random);
        Result result;
        ASSERT_EQ(Judge(program, options, &result), "") << Describe(program);
        completable += result.completed ? 1 : 0;
      }
    }
  }
  EXPECT_GT(completable, 4'000);
}

}  // namespace
}  // namespace phalanx::ordering::simulation
