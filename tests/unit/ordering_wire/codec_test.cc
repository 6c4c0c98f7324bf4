#include "ordering_wire/codec.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "mutation.h"
#include "sample_messages.h"
#include "show.h"

namespace phalanx::ordering {
namespace {

// One sample of each kind there is: a kind that is added to messages.h is missed here.
TEST(CodecTest, EveryKindSurvivesTheWire) {
  const std::vector<Uplink> up = SampleUplinks();
  ASSERT_EQ(up.size(), std::variant_size_v<ReportBody> + 1);
  for (size_t i = 0; i < up.size(); ++i) {
    const auto* report = std::get_if<Report>(&up[i]);
    ASSERT_EQ(report != nullptr ? report->body.index() : std::variant_size_v<ReportBody>, i);
    const absl::StatusOr<Uplink> decoded = DecodeUplink(Encode(up[i]));
    ASSERT_TRUE(decoded.ok()) << ToText(up[i]) << decoded.status();
    EXPECT_EQ(ToText(*decoded), ToText(up[i]));
  }
  const std::vector<Downlink> down = SampleDownlinks();
  ASSERT_EQ(down.size(), std::variant_size_v<OrderBody>);
  for (size_t i = 0; i < down.size(); ++i) {
    ASSERT_EQ(down[i].body.index(), i);
    const absl::StatusOr<Downlink> decoded = DecodeDownlink(Encode(down[i]));
    ASSERT_TRUE(decoded.ok()) << ToText(down[i]) << decoded.status();
    EXPECT_EQ(ToText(*decoded), ToText(down[i]));
  }
}

TEST(CodecTest, EmptyListsSurviveTheWire) {
  for (const Uplink& message :
       {Uplink(Report{{}, Held{}}), Uplink(Report{{}, LocalTickets{}}),
        Uplink(Report{{}, Passed{{{Lane::Of(kSome), 1, {}, {}}}, 0}}),
        Uplink(Report{{}, SnapshotPart{1, RankSnapshot{0, 1, {}, {{}}, false, {}}}}),
        Uplink(NewCommunicator{})}) {
    const absl::StatusOr<Uplink> decoded = DecodeUplink(Encode(message));
    ASSERT_TRUE(decoded.ok()) << ToText(message) << decoded.status();
    EXPECT_EQ(ToText(*decoded), ToText(message));
  }
  Explanation explanation = SampleExplanation();
  explanation.aborted.clear();
  for (const OrderBody& body :
       {OrderBody(Resume{}), OrderBody(Certify{std::make_shared<const Schedule>()}),
        OrderBody(Verdict{std::make_shared<const Explanation>()}),
        OrderBody(Verdict{std::make_shared<const Explanation>(explanation)})}) {
    const absl::StatusOr<Downlink> decoded = DecodeDownlink(Encode(Order{{}, body}));
    ASSERT_TRUE(decoded.ok()) << ToText(Order{{}, body}) << decoded.status();
    EXPECT_EQ(ToText(*decoded), ToText(Order{{}, body}));
  }
}

TEST(CodecTest, DirectionsAreKeptApart) {
  for (const Uplink& message : SampleUplinks()) {
    EXPECT_EQ(DecodeDownlink(Encode(message)).status(),
              absl::InvalidArgumentError("malformed ordering message: its kind doesn't go down"));
  }
  for (const Downlink& message : SampleDownlinks()) {
    EXPECT_EQ(DecodeUplink(Encode(message)).status(),
              absl::InvalidArgumentError("malformed ordering message: its kind doesn't go up"));
  }
}

std::string ErrorOf(const Report& report) {
  return std::string(DecodeUplink(Encode(report)).status().message());
}

TEST(CodecTest, RangesAreHeld) {
  const std::string prefix = "malformed ordering message: ";
  EXPECT_EQ(ErrorOf({{}, Stalled{-1}}), prefix + "a rank out of range");
  EXPECT_EQ(ErrorOf({{}, Stalled{kMostRanks}}), prefix + "a rank out of range");
  Present present{SampleOp(1), Signature{}, false, 0};
  EXPECT_EQ(ErrorOf({{}, present}), "");
  present.signature.kind = static_cast<OpKind>(static_cast<int>(OpKind::kDestroy) + 1);
  EXPECT_EQ(ErrorOf({{}, present}), prefix + "a kind of operation out of range");
  present.signature = {OpKind::kSplit, static_cast<DataType>(kDataTypeCount)};
  EXPECT_EQ(ErrorOf({{}, present}), prefix + "a data type out of range");
  present.signature = {OpKind::kSplit, DataType::kInt8, static_cast<ReduceOp>(kReduceOpCount)};
  EXPECT_EQ(ErrorOf({{}, present}), prefix + "a reduce operation out of range");
  present.signature = {OpKind::kSplit, DataType::kInt8, ReduceOp::kSum, -1};
  EXPECT_EQ(ErrorOf({{}, present}), prefix + "a root out of range");
  EXPECT_EQ(ErrorOf({{}, Done{{Lane{kSome, static_cast<Lane::Kind>(3), 0}, 0}}}),
            prefix + "a kind of lane out of range");
  EXPECT_EQ(ErrorOf({{}, Done{{Lane{kSome, Lane::Kind::kCommunicator, 1}, 0}}}),
            prefix + "a communicator's lane with a detail");
  EXPECT_EQ(ErrorOf({{}, Done{{Lane::OfPair(kSome, 0, kMostRanks), 0}}}),
            prefix + "a pair of ranks out of range");
  EXPECT_EQ(ErrorOf({{}, Done{{Lane::OfPair(kSome, -1, 0), 0}}}),
            prefix + "a pair of ranks out of range");
  Passed passed = SamplePassed();
  passed.lanes[0].beyond = {75, 72};
  EXPECT_EQ(ErrorOf({{}, passed}), prefix + "operations that aren't in order");
  passed = SamplePassed();
  passed.lanes[0].launched[0].entries = {};
  EXPECT_EQ(ErrorOf({{}, passed}), prefix + "a schedule without entries");
  SnapshotPart part{0, SampleSnapshot()};
  part.snapshot.threads[0].state = static_cast<ThreadView::State>(3);
  EXPECT_EQ(ErrorOf({{}, part}), prefix + "a thread's state out of range");
  part.snapshot.threads = {};
  part.snapshot.issued.assign(kMostElements - part.snapshot.ops.size(), {Lane::Of(kSome), 1});
  EXPECT_EQ(ErrorOf({{}, part}), "");
  part.snapshot.issued.push_back({Lane::Of(kSome), 1});
  EXPECT_EQ(ErrorOf({{}, part}), prefix + "it lists too much");
}

TEST(CodecTest, ExplanationsRangesAreHeld) {
  Explanation explanation = SampleExplanation();
  const auto decode = [&] {
    return DecodeDownlink(
               Encode(Order{{}, Verdict{std::make_shared<const Explanation>(explanation)}}))
        .ok();
  };
  EXPECT_TRUE(decode());
  explanation.kind = static_cast<Explanation::Kind>(5);
  EXPECT_FALSE(decode());
  explanation = SampleExplanation();
  explanation.lines[1].why = static_cast<Explanation::Line::Why>(6);
  EXPECT_FALSE(decode());
  explanation = SampleExplanation();
  explanation.lines[1].rank = -1;
  EXPECT_FALSE(decode());
}

TEST(CodecTest, LongTextsAreCut) {
  SnapshotPart part{0, SampleSnapshot()};
  part.snapshot.ops[0].call_site = std::string(kLongestText + 1, 'x');
  const absl::StatusOr<Uplink> decoded = DecodeUplink(Encode(Report{{}, part}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto& body = std::get<SnapshotPart>(std::get<Report>(*decoded).body);
  EXPECT_EQ(body.snapshot.ops[0].call_site.size(), kLongestText);
}

// What is accepted is a value like any other: it survives the wire again.
template <typename Decoder>
bool IsTakenUnharmed(const std::string& bytes, const Decoder& decode) {
  const auto decoded = decode(bytes);
  if (!decoded.ok()) {
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
    return false;
  }
  const auto again = decode(Encode(*decoded));
  EXPECT_TRUE(again.ok()) << again.status();
  if (again.ok()) {
    EXPECT_EQ(ToText(*again), ToText(*decoded));
  }
  return true;
}

TEST(CodecTest, MutationsNeverHarm) {
  const uint64_t seed = MutationSeed();
  SCOPED_TRACE("replay with PHALANX_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> samples;
  for (const Uplink& message : SampleUplinks()) samples.push_back(Encode(message));
  for (const Downlink& message : SampleDownlinks()) samples.push_back(Encode(message));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 100000 && std::chrono::steady_clock::now() < end; ++round) {
    const std::string bytes = Mutate(samples[random() % samples.size()], random);
    for (const bool taken :
         {IsTakenUnharmed(bytes, DecodeUplink), IsTakenUnharmed(bytes, DecodeDownlink)}) {
      ++(taken ? accepted : refused);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace phalanx::ordering
