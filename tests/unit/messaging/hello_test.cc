#include "messaging/hello.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace phalanx::messaging {
namespace {

spi::Identity Self(int rank) {
  spi::Identity identity;
  identity.job_token = 99;
  identity.epoch = Epoch{4};
  identity.rank = rank;
  identity.incarnation = Incarnation{100 + static_cast<uint64_t>(rank)};
  return identity;
}

spi::PeerIdentity Peer(int rank) { return {rank, Self(rank).incarnation}; }

absl::Span<const std::byte> AsBytes(const HelloPayload& hello) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&hello), sizeof(hello));
}

TEST(Hello, SurvivesTheWire) {
  const HelloPayload hello = MakeHello(Self(2), Peer(5), 77);
  const auto parsed = ParseHello(AsBytes(hello));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->rank, 2);
  EXPECT_EQ(parsed->expected_rank, 5);
  EXPECT_EQ(parsed->key, 77u);
  EXPECT_TRUE(CheckHello(Self(5), Peer(2), *parsed).ok());
}

TEST(Hello, GarbageIsNone) {
  HelloPayload hello = MakeHello(Self(2), Peer(5), 77);
  EXPECT_FALSE(ParseHello(AsBytes(hello).first(sizeof(hello) - 1)).has_value());
  EXPECT_FALSE(ParseHello({}).has_value());
  hello.magic ^= 1;
  EXPECT_FALSE(ParseHello(AsBytes(hello)).has_value());
}

TEST(Hello, EveryFieldIsChecked) {
  const HelloPayload right = MakeHello(Self(2), Peer(5), 77);
  const auto check = [](const HelloPayload& hello) { return CheckHello(Self(5), Peer(2), hello); };
  HelloPayload hello = right;
  hello.job_token += 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
  EXPECT_EQ(check(hello).message().find("99"), absl::string_view::npos);  // a secret
  hello = right;
  hello.epoch -= 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
  EXPECT_NE(check(hello).message().find("epoch 3"), absl::string_view::npos);
  hello = right;
  hello.rank = 3;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
  hello = right;
  hello.incarnation += 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
  hello = right;
  hello.expected_rank = 6;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
  hello = right;
  hello.expected_incarnation += 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(check(hello)));
}

}  // namespace
}  // namespace phalanx::messaging
