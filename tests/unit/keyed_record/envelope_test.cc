#include "keyed_record/envelope.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

TEST(EnvelopeTest, WhatIsSealedComesOut) {
  for (const std::string& value :
       {std::string(), std::string("record"), std::string("\0x\xff", 3)}) {
    const Envelope envelope{{0x0123456789abcdef, 7}, value};
    const absl::StatusOr<Envelope> unsealed = Unseal(Seal(envelope.tag, value));
    ASSERT_TRUE(unsealed.ok()) << unsealed.status();
    EXPECT_EQ(*unsealed, envelope);
  }
}

TEST(EnvelopeTest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(Seal({0x0807060504030201, 0x10}, "v"),
            std::string("phxkey01\1\2\3\4\5\6\7\10\20\0\0\0\0\0\0\0v", 25));
}

TEST(EnvelopeTest, OtherBytesAreRefused) {
  const std::string whole = Seal({1, 2}, "");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(Unseal(whole.substr(0, length)).ok()) << length;
  }
  EXPECT_EQ(Unseal("what somebody else has put there").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace phalanx::control
