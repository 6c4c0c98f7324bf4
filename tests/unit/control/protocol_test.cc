#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <random>
#include <string>

#include "control_protocol/endpoint.h"
#include "control_protocol/frame.h"
#include "control_protocol/job.h"
#include "control_protocol/message.h"
#include "mutation.h"
#include "sample_messages.h"

namespace phalanx::control {
namespace {

TEST(MessageTest, EveryKindSurvivesTheWire) {
  const std::vector<Message> samples = SampleMessages();
  ASSERT_EQ(samples.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < samples.size(); ++i) {
    ASSERT_EQ(samples[i].index(), i);
    const absl::StatusOr<Message> decoded = Decode(Encode(samples[i]));
    ASSERT_TRUE(decoded.ok()) << NameOf(samples[i]) << ": " << decoded.status();
    EXPECT_EQ(*decoded, samples[i]) << NameOf(samples[i]);
  }
}

TEST(MessageTest, EveryTruncationIsRefused) {
  for (const Message& sample : SampleMessages()) {
    const std::string bytes = Encode(sample);
    for (size_t length = 0; length < 8; ++length) {
      EXPECT_FALSE(Decode(absl::string_view(bytes).substr(0, length)).ok());
    }
    // Longer prefixes may happen to hold a whole message; they must not be read beyond their end.
    for (size_t length = 8; length < bytes.size(); ++length) {
      static_cast<void>(Decode(absl::string_view(bytes).substr(0, length)));
    }
  }
}

TEST(MessageTest, BoundsAreHeld) {
  message::Join join{kProtocolVersion, SampleMember(0), 1, false};
  join.member.rank = kMaxWorldSize;
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.member.rank = -2;
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.member.rank = 0;
  join.member.addresses["ucx"] = std::string(kMaxAddressBytes, 'x');
  EXPECT_TRUE(Decode(Encode(join)).ok());
  join.member.addresses["ucx"] += 'x';
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.member.addresses.clear();
  for (size_t i = 0; i <= kMaxAddresses; ++i) join.member.addresses[std::to_string(i)] = "x";
  EXPECT_FALSE(Decode(Encode(join)).ok());

  join.member.addresses.clear();
  EXPECT_TRUE(Decode(Encode(join)).ok());
  join.settings.on_loss = LossPolicy::Parse("restart,spare").value();
  join.settings.may_shrink = true;
  join.settings.checkpoint_every = kMaxCheckpointEvery;
  EXPECT_EQ(std::get<message::Join>(Decode(Encode(join)).value()).settings, join.settings);
  join.settings.checkpoint_every = 0;
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.settings.checkpoint_every = 1;
  join.settings.ordering = static_cast<OrderingMode>(kOrderingModeCount);
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.settings.ordering = OrderingMode::kAdaptive;
  join.settings.device_slots = kMaxDeviceSlots;
  EXPECT_TRUE(Decode(Encode(join)).ok());
  ++join.settings.device_slots;
  EXPECT_FALSE(Decode(Encode(join)).ok());
  join.settings.device_slots = -1;
  EXPECT_FALSE(Decode(Encode(join)).ok());

  join.settings.device_slots = 0;
  join.settings.suspect_after_ms = kMinSuspectAfterMs;
  EXPECT_TRUE(Decode(Encode(join)).ok());
  --join.settings.suspect_after_ms;
  EXPECT_FALSE(Decode(Encode(join)).ok());

  EXPECT_FALSE(Decode(Encode(message::Refused{Incarnation{1}, absl::OkStatus()})).ok());
  EXPECT_FALSE(Decode(Encode(message::AgentWelcome{-1})).ok());
  EXPECT_FALSE(Decode(Encode(message::Segments{{-1}})).ok());
  // A view out of order, and one with a member on no node.
  EXPECT_FALSE(Decode(Encode(message::View{Epoch{1}, 1, {SampleMember(1)}, {1, 1}})).ok());
  EXPECT_FALSE(Decode(Encode(message::View{Epoch{1}, 1, {SampleMember(0)}, {1}})).ok());
}

TEST(MessageTest, TheLongestPayloadFitsIntoAWorkersMessage) {
  const std::string longest = Encode(message::Ordering{std::string(kMaxOrderingBytes, 'x')});
  EXPECT_LE(longest.size(), kMaxWorkerMessageBytes);
  EXPECT_TRUE(Decode(longest).ok());
  EXPECT_FALSE(Decode(Encode(message::Ordering{std::string(kMaxOrderingBytes + 1, 'x')})).ok());
}

TEST(MessageTest, LongTextsAreCut) {
  const absl::StatusOr<Message> decoded =
      Decode(Encode(message::Progress{std::string(kMaxTextBytes + 1, 'x')}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<message::Progress>(*decoded).line.size(), kMaxTextBytes);
}

TEST(MessageTest, MutationsNeverHarm) {
  const uint64_t seed = MutationSeed();
  SCOPED_TRACE("replay with PHALANX_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<Message> samples = SampleMessages();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 200000 && std::chrono::steady_clock::now() < end; ++round) {
    const std::string bytes = Mutate(Encode(samples[random() % samples.size()]), random);
    const absl::StatusOr<Message> decoded = Decode(bytes);
    ++(decoded.ok() ? accepted : refused);
    if (!decoded.ok()) {
      ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    // What is accepted is a value like any other: it survives the wire again.
    const absl::StatusOr<Message> again = Decode(Encode(*decoded));
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, *decoded);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(FrameTest, PiecesMakeMessages) {
  FrameReader reader(100);
  const std::string stream = Frame("one") + Frame("") + Frame("three");
  std::vector<std::string> messages;
  for (const char byte : stream) {
    reader.Append(absl::string_view(&byte, 1));
    while (true) {
      const absl::StatusOr<std::optional<std::string>> next = reader.Next();
      ASSERT_TRUE(next.ok());
      if (!next->has_value()) break;
      messages.push_back(**next);
    }
  }
  EXPECT_EQ(messages, (std::vector<std::string>{"one", "", "three"}));
}

TEST(FrameTest, TheLimitIsHeld) {
  FrameReader reader(3);
  reader.Append(Frame("abc"));
  EXPECT_EQ(**reader.Next(), "abc");
  // Four bytes of length are enough to refuse.
  reader.Append(Frame("abcd").substr(0, 4));
  EXPECT_EQ(reader.Next().status(),
            absl::InvalidArgumentError("a frame of 4 bytes is over the limit of 3"));
  FrameReader hostile(kMaxWorkerMessageBytes);
  hostile.Append("\xff\xff\xff\xff");
  EXPECT_FALSE(hostile.Next().ok());
}

TEST(EndpointTest, ParsesAndPrints) {
  for (const char* text : {"127.0.0.1:4711", "node7.example:1", "[::1]:65535"}) {
    const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    EXPECT_EQ(ToString(*endpoint), text);
  }
  EXPECT_EQ(ParseEndpoint("[::1]:9")->host, "::1");
  for (const char* text : {"", "host", "host:", "host:x", "host:65536", ":1", "::1:1", "host:-1"}) {
    EXPECT_EQ(ParseEndpoint(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(JobIdTest, Characters) {
  EXPECT_EQ(ValidateJobId("0123abcd-A_.:[]"), absl::OkStatus());
  EXPECT_FALSE(ValidateJobId("").ok());
  EXPECT_FALSE(ValidateJobId("a/b").ok());
  EXPECT_FALSE(ValidateJobId(std::string(65, 'x')).ok());
}

}  // namespace
}  // namespace phalanx::control
