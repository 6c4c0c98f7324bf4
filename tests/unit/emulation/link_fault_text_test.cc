#include "control_emulation/link_fault_text.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

std::string RulesOf(const std::string& text) { return LinkRules(*faults::ParseFaults(text)); }

constexpr char kNone[] =
    "flush chain bridge phalanx forward\n"
    "flush chain bridge phalanx input\n"
    "flush chain bridge phalanx output\n";

TEST(LinkFaultText, TheTableLetsAllPass) {
  EXPECT_EQ(LinkTable(),
            "add table bridge phalanx\n"
            "add counter bridge phalanx lost\n"
            "add chain bridge phalanx forward { type filter hook forward priority 0; policy "
            "accept; }\n"
            "add chain bridge phalanx input { type filter hook input priority 0; policy accept; }\n"
            "add chain bridge phalanx output { type filter hook output priority 0; policy accept; "
            "}\n");
  EXPECT_EQ(RulesOf(""), kNone);
}

TEST(LinkFaultText, ACutIsInBothDirectionsOrInOne) {
  EXPECT_EQ(RulesOf("cut link=0-12 at=time:1s"),
            std::string(kNone) +
                "add rule bridge phalanx forward iifname \"port0\" oifname \"port12\" counter name "
                "\"lost\" drop\n"
                "add rule bridge phalanx forward iifname \"port12\" oifname \"port0\" counter name "
                "\"lost\" drop\n");
  EXPECT_EQ(RulesOf("cut link=3>1 at=step:4 for=1s"),
            std::string(kNone) +
                "add rule bridge phalanx forward iifname \"port3\" oifname \"port1\" counter name "
                "\"lost\" drop\n");
}

TEST(LinkFaultText, ACutNodeDoesntHearTheHubEither) {
  EXPECT_EQ(RulesOf("cut node=2 at=time:1s"),
            std::string(kNone) +
                "add rule bridge phalanx forward iifname \"port2\" counter name \"lost\" drop\n"
                "add rule bridge phalanx forward oifname \"port2\" counter name \"lost\" drop\n"
                "add rule bridge phalanx input iifname \"port2\" counter name \"lost\" drop\n"
                "add rule bridge phalanx output oifname \"port2\" counter name \"lost\" drop\n");
}

TEST(LinkFaultText, AllFaultsHoldTogether) {
  const std::string rules = RulesOf("cut link=0>1 at=time:1s;cut link=0-1 at=time:1s");
  EXPECT_EQ(rules,
            std::string(kNone) +
                "add rule bridge phalanx forward iifname \"port0\" oifname \"port1\" counter name "
                "\"lost\" drop\n"
                "add rule bridge phalanx forward iifname \"port0\" oifname \"port1\" counter name "
                "\"lost\" drop\n"
                "add rule bridge phalanx forward iifname \"port1\" oifname \"port0\" counter name "
                "\"lost\" drop\n");
}

}  // namespace
}  // namespace phalanx::control
