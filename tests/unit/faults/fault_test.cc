#include "faults/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::faults {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(FaultTest, EveryActionIsRead) {
  EXPECT_EQ(*ParseFault("kill rank=2 at=step:120"), (Fault{Action::kKill, 2, 120}));
  EXPECT_EQ(*ParseFault(" exit\trank=0  at=step:0 "), (Fault{Action::kExit, 0, 0}));
  EXPECT_EQ(*ParseFault("segfault rank=65535 at=step:1"), (Fault{Action::kSegfault, 65535, 1}));
}

TEST(FaultTest, WordsComeInAnyOrder) {
  EXPECT_EQ(*ParseFault("exit code=7 at=step:5 rank=1"), (Fault{Action::kExit, 1, 5, 7}));
  EXPECT_EQ(*ParseFault("exit rank=1 at=step:5"), (Fault{Action::kExit, 1, 5, 1}));
  EXPECT_EQ(*ParseFault("segfault rank=3 at=step:9000000000"),
            (Fault{Action::kSegfault, 3, 9'000'000'000}));
}

TEST(FaultTest, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* named;
  } cases[] = {
      {"", "for example: kill rank=2 at=step:120"},
      {"murder rank=2 at=step:1", "unknown action 'murder'; known are kill, exit and segfault"},
      {"kill rank=two at=step:1", "'rank=two': no number"},
      {"kill rank=-1 at=step:1", "'rank=-1': no number"},
      {"kill rank=1 rank=2 at=step:1", "'rank=2' says again"},
      {"kill rank=1 at=noon", "unknown word 'at=noon'"},
      {"kill rank=1 at=step:1 code=3", "unknown word 'code=3'"},
      {"kill at=step:1", "add rank=N"},
      {"kill rank=1", "add at=step:N"},
      {"exit rank=1 at=step:1 code=256", "code=256 is over 255"},
  };
  for (const auto& [text, named] : cases) {
    const auto fault = ParseFault(text);
    EXPECT_EQ(fault.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(fault.status().message()), HasSubstr(named)) << text;
  }
}

TEST(FaultTest, ManyAreReadAndComeBackAsTheyWere) {
  const auto faults = ParseFaults(
      "# a bad day\n"
      "kill rank=2 at=step:120; exit rank=0 at=step:7 code=9 # twice\n"
      "\n ;; segfault rank=1 at=step:8\n");
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_THAT(*faults, ElementsAre(Fault{Action::kKill, 2, 120}, Fault{Action::kExit, 0, 7, 9},
                                   Fault{Action::kSegfault, 1, 8}));
  for (const Fault& fault : *faults) EXPECT_EQ(*ParseFault(ToText(fault)), fault);
  EXPECT_THAT(*ParseFaults(" \n# nothing\n"), IsEmpty());
}

TEST(FaultTest, TheWrongOneOfManyIsQuoted) {
  const auto faults = ParseFaults("kill rank=2 at=step:1;kill rank=x at=step:1");
  EXPECT_THAT(std::string(faults.status().message()),
              HasSubstr("the fault 'kill rank=x at=step:1': 'rank=x'"));
}

}  // namespace
}  // namespace phalanx::faults
