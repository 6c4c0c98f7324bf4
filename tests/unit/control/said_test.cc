// What an agent says again to the next coordinator, after a view has come.
#include "said.h"

#include <gtest/gtest.h>

#include <vector>

namespace phalanx::control {
namespace {

TEST(SaidTest, WhatCrossedAViewIsKept) {
  message::View view;
  view.members = {{0, Incarnation{1}}, {1, Incarnation{12}}};
  view.performed_faults = {4};
  std::vector<Message> said = {
      message::MemberLost{Incarnation{2}, "was replaced"},
      message::MemberLost{Incarnation{12}, "is lost already"},
      message::Leave{Incarnation{1}},
      message::Leave{Incarnation{3}},
      message::FaultPerformed{4, 0},
      message::FaultPerformed{5, 0},
  };
  ForgetWhatIsKnown(view, &said);
  EXPECT_EQ(said,
            (std::vector<Message>{message::MemberLost{Incarnation{12}, "is lost already"},
                                  message::Leave{Incarnation{1}}, message::FaultPerformed{5, 0}}));
}

}  // namespace
}  // namespace phalanx::control
