#include "faults/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

namespace phalanx::faults {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Fault AtStep(Action action, int rank, int64_t step, int code = 1) {
  Fault fault;
  fault.action = action;
  fault.target.number = rank;
  fault.when.count = step;
  fault.code = code;
  return fault;
}

TEST(FaultTest, ARanksStepIsRead) {
  EXPECT_EQ(*ParseFault("kill rank=2 at=step:120"), AtStep(Action::kKill, 2, 120));
  EXPECT_EQ(*ParseFault(" exit\trank=0  at=step:0 "), AtStep(Action::kExit, 0, 0));
  EXPECT_EQ(*ParseFault("segfault rank=65535 at=step:9000000000"),
            AtStep(Action::kSegfault, 65535, 9'000'000'000));
  EXPECT_EQ(*ParseFault("exit code=7 at=step:5 rank=1"), AtStep(Action::kExit, 1, 5, 7));
}

TEST(FaultTest, TimesAreExact) {
  const Fault stop = *ParseFault("stop rank=1 at=time:1.5s for=250ms");
  EXPECT_EQ(stop.action, Action::kStop);
  EXPECT_EQ(stop.when.kind, When::Kind::kTime);
  EXPECT_EQ(stop.when.time_ns, 1'500'000'000);
  EXPECT_EQ(stop.for_ns, 250'000'000);
  EXPECT_EQ(ParseFault("kill node=1 at=time:2m")->when.time_ns, 120'000'000'000);
  EXPECT_EQ(ParseFault("kill node=1 at=time:0.000000001s")->when.time_ns, 1);
  EXPECT_EQ(ParseFault("kill node=1 at=time:0.000001ms")->when.time_ns, 1);
  EXPECT_EQ(ParseFault("kill node=1 at=time:1000.0m")->when.time_ns, 60'000'000'000'000);
}

TEST(FaultTest, EveryTargetPointAndMeasureIsRead) {
  const Fault kill = *ParseFault("kill coordinator at=point:stored");
  EXPECT_EQ(kill.target.kind, Target::Kind::kCoordinator);
  EXPECT_EQ(kill.when.kind, When::Kind::kPoint);
  EXPECT_EQ(kill.when.point, Point::kStored);
  const Fault slow = *ParseFault("slow link=0-12 factor=2.5 at=time:1s");
  EXPECT_EQ(slow.target, (Target{Target::Kind::kLink, 0, 12}));
  EXPECT_EQ(slow.factor, 2.5);
  EXPECT_EQ(slow.for_ns, 0);
  EXPECT_EQ(ParseFault("drop link=1-0 at=time:1s fraction=0.01")->fraction, 0.01);
  EXPECT_EQ(ParseFault("flip rank=3 at=point:revoked")->copy, 0);
  EXPECT_EQ(ParseFault("flip rank=3 at=point:revoked copy=2")->copy, 2);
  EXPECT_EQ(ParseFault("exit rank=0 at=op:1000")->when.kind, When::Kind::kOp);
  EXPECT_EQ(ParseFault("wipe voter=2 at=point:proposed")->target.kind, Target::Kind::kVoter);
}

TEST(FaultTest, LinksHaveTwoDirectionsOrOne) {
  EXPECT_EQ(ParseFault("cut link=0-1 at=time:1s")->target, (Target{Target::Kind::kLink, 0, 1}));
  EXPECT_EQ(ParseFault("cut link=2>0 at=time:1s")->target,
            (Target{Target::Kind::kLink, 2, 0, /*one_way=*/true}));
  EXPECT_EQ(ToText(*ParseFault("drop link=2>0 fraction=0.5 at=time:1s")),
            "drop link=2>0 at=time:1s fraction=0.5");
}

TEST(FaultTest, ANetworkGoesByTheStepsOfARank) {
  const Fault cut = *ParseFault("cut link=0-1 at=step:40 for=1500ms");
  EXPECT_TRUE(IsOfNetwork(cut));
  EXPECT_EQ(cut.when.kind, When::Kind::kStep);
  EXPECT_EQ(cut.when.count, 40);
  EXPECT_EQ(cut.for_ns, 1'500'000'000);
  const Fault node = *ParseFault("cut node=2 at=step:7");
  EXPECT_TRUE(IsOfNetwork(node));
  EXPECT_EQ(node.target, (Target{Target::Kind::kNode, 2}));
  EXPECT_EQ(node.for_ns, 0);
  EXPECT_TRUE(IsOfNetwork(*ParseFault("slow link=0-1 factor=2 at=step:1")));
  EXPECT_TRUE(IsOfNetwork(*ParseFault("drop link=0-1 fraction=1 at=step:1")));
  EXPECT_FALSE(IsOfNetwork(*ParseFault("kill node=1 at=time:1s")));
}

TEST(FaultTest, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* named;
  } cases[] = {
      {"", "for example: kill rank=2 at=step:120"},
      {"murder rank=2 at=step:1", "unknown action 'murder'; known are kill, stop, exit, segfault"},
      {"kill rank=two at=step:1", "'rank=two': no number"},
      {"kill rank=-1 at=step:1", "'rank=-1': no number"},
      {"kill rank=1 rank=2 at=step:1", "'rank=2': a second target"},
      {"kill rank=1 node=2 at=step:1", "'node=2': a second target"},
      {"kill rank=1 at=step:1 at=step:2", "'at=step:2': a second at"},
      {"kill coordinator=1 at=time:1s", "'coordinator=1': there is only one"},
      {"kill rank=1 at=noon", "'at=noon': no moment; known are at=step:N"},
      {"kill rank=1 at=step:x", "'at=step:x': no number"},
      {"kill rank=1 at=point:noon", "'at=point:noon': no point; known are prepared, stored"},
      {"kill rank=1 at=time:1h", "'1h' is no duration; write it as 250ms"},
      {"kill rank=1 at=time:1.s", "'1.s' is no duration"},
      {"kill rank=1 at=time:-1s", "'-1s' is no duration"},
      {"kill rank=1 at=time:0.0000001ms", "is no duration"},
      {"kill rank=1 at=time:60001m", "longer than 1000 hours"},
      {"kill rank=1 at=time:60000.1m", "longer than 1000 hours"},
      {"kill rank=1 at=step:1 code=3", "unknown word 'code=3'; kill takes rank=N, node=N"},
      {"kill rank=1 at=step:1 for=3s", "unknown word 'for=3s'"},
      {"stop rank=1 at=step:1 for=0s", "'for=0s': that is no time at all"},
      {"flip coordinator at=time:1s", "unknown word 'coordinator'; flip takes rank=N, at=WHEN"},
      {"flip rank=1 at=time:1s copy=-1", "'copy=-1': no number"},
      {"cut rank=1 at=time:1s", "cut takes node=N, link=A-B, at=WHEN, for=DURATION"},
      {"cut link=1 at=time:1s", "'link=1': no two nodes as in link=0-1, or link=0>1 for one"},
      {"cut link=1> at=time:1s", "'link=1>': no two nodes"},
      {"cut link=1>2-3 at=time:1s", "'link=1>2-3': no two nodes"},
      {"cut link=1>1 at=time:1s", "'link=1>1': a link has two ends"},
      {"slow node=1 at=time:1s factor=2", "unknown word 'node=1'; slow takes link=A-B, at=WHEN"},
      {"cut link=0-1 at=op:9", "cut link=A-B takes at=step:N (of rank 0), at=time:DURATION or"},
      {"cut link=1-1 at=time:1s", "'link=1-1': a link has two ends"},
      {"kill at=step:1", "add one of rank=N"},
      {"kill rank=1", "it says not when; add at=step:N"},
      {"kill node=1 at=step:1",
       "kill node=N takes at=time:DURATION or at=point:NAME, not at=step:N"},
      {"exit rank=1 at=step:1 code=256", "'code=256': no exit code from 0 to 255"},
      {"slow link=0-1 at=time:1s", "slow needs a factor"},
      {"slow link=0-1 at=time:1s factor=nan", "'factor=nan': no number over 1"},
      {"slow link=0-1 at=time:1s factor=inf", "'factor=inf'"},
      {"drop link=0-1 at=time:1s fraction=0", "'fraction=0': no number over 0"},
      {"drop link=0-1 at=time:1s fraction=nan", "'fraction=nan'"},
      {"drop link=0-1 at=time:1s fraction=1.1", "'fraction=1.1'"},
  };
  for (const auto& [text, named] : cases) {
    const auto fault = ParseFault(text);
    EXPECT_EQ(fault.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(fault.status().message()), HasSubstr(named)) << text;
  }
}

TEST(FaultTest, ManyAreRead) {
  const auto faults = ParseFaults(
      "# a bad day\n"
      "kill rank=2 at=step:120; exit rank=0 at=step:7 code=9 # twice\n"
      "\n ;; segfault rank=1 at=step:8\n");
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_THAT(*faults, ElementsAre(AtStep(Action::kKill, 2, 120), AtStep(Action::kExit, 0, 7, 9),
                                   AtStep(Action::kSegfault, 1, 8)));
  EXPECT_THAT(*ParseFaults(" \n# nothing\n"), IsEmpty());
}

TEST(FaultTest, TheWrongOneOfManyIsQuoted) {
  EXPECT_EQ(ParseFaults("kill rank=2 at=step:1; kill rank=x at=step:1").status().message(),
            "the fault 'kill rank=x at=step:1': 'rank=x': no number from 0 on");
  EXPECT_EQ(ParseFaults("kill rank=2 at=step:1\n\nkill rank=x at=step:1\n").status().message(),
            "line 3: the fault 'kill rank=x at=step:1': 'rank=x': no number from 0 on");
}

class RandomFault {
 public:
  explicit RandomFault(uint64_t seed) : random_(seed) {}

  Fault Next() {
    Fault fault;
    fault.action = static_cast<Action>(Below(10));
    fault.target = NextTarget(fault.action);
    const bool is_rank = fault.target.kind == Target::Kind::kRank;
    const bool takes_step = IsOfNetwork(fault) && Below(3) == 0;
    fault.when.kind = is_rank         ? static_cast<When::Kind>(Below(4))
                      : takes_step    ? When::Kind::kStep
                      : Below(2) == 0 ? When::Kind::kTime
                                      : When::Kind::kPoint;
    if (fault.when.kind == When::Kind::kTime) {
      fault.when.time_ns = NextDuration();
    } else if (fault.when.kind == When::Kind::kPoint) {
      fault.when.point = static_cast<Point>(Below(7));
    } else {
      fault.when.count = Below(INT64_MAX);
    }
    const bool lasts = fault.action == Action::kStop || fault.action == Action::kCut ||
                       fault.action == Action::kSlow || fault.action == Action::kDrop ||
                       fault.action == Action::kFill;
    if (lasts && Below(2) == 0) fault.for_ns = NextDuration();
    if (fault.action == Action::kExit) fault.code = static_cast<int>(Below(256));
    const double share = (1 + static_cast<double>(Below(1'000'000))) / 1'000'000;
    if (fault.action == Action::kSlow)
      fault.factor = 1 + share * static_cast<double>(Below(900) + 1);
    if (fault.action == Action::kFlip) fault.copy = static_cast<int>(Below(5));
    if (fault.action == Action::kDrop) fault.fraction = share / static_cast<double>(Below(900) + 1);
    return fault;
  }

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  // Of every magnitude, from a nanosecond on.
  int64_t NextDuration() {
    int64_t most = 1;
    for (int64_t digits = Below(16); digits > 0; --digits) most *= 10;
    return 1 + Below(most);
  }

  Target NextTarget(Action action) {
    using Kind = Target::Kind;
    std::vector<Kind> kinds;
    switch (action) {
      case Action::kKill:
      case Action::kStop:
        kinds = {Kind::kRank,        Kind::kNode,  Kind::kAgent,
                 Kind::kCoordinator, Kind::kSpare, Kind::kVoter};
        break;
      case Action::kExit:
      case Action::kSegfault:
        kinds = {Kind::kRank, Kind::kSpare};
        break;
      case Action::kCut:
        kinds = {Kind::kLink, Kind::kNode};
        break;
      case Action::kSlow:
      case Action::kDrop:
        kinds = {Kind::kLink};
        break;
      case Action::kFlip:
        kinds = {Kind::kRank};
        break;
      case Action::kFill:
        kinds = {Kind::kRank, Kind::kNode};
        break;
      case Action::kWipe:
        kinds = {Kind::kVoter};
        break;
    }
    Target target;
    target.kind = kinds[static_cast<size_t>(Below(static_cast<int64_t>(kinds.size())))];
    if (target.kind != Kind::kCoordinator) target.number = static_cast<int>(Below(INT32_MAX));
    if (target.kind == Kind::kLink) {
      target.other = target.number + 1;
      target.one_way = Below(2) == 0;
    }
    return target;
  }

  std::mt19937_64 random_;
};

TEST(FaultTest, WhatIsWrittenIsReadAsItWas) {
  const char* const given = std::getenv("PHALANX_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "PHALANX_TEST_SEED=" << seed << std::endl;
  RandomFault random(seed);
  std::string all;
  std::vector<Fault> faults;
  for (int i = 0; i < 5'000; ++i) {
    const Fault fault = random.Next();
    const std::string text = ToText(fault);
    const auto again = ParseFault(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    ASSERT_EQ(*again, fault) << text << " became " << ToText(*again);
    faults.push_back(fault);
    all += (i % 2 == 0 ? ";" : "\n") + text;
  }
  EXPECT_EQ(*ParseFaults(all), faults);
}

}  // namespace
}  // namespace phalanx::faults
