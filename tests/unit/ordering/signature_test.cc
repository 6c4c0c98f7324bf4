#include "ordering/signature.h"

#include "gtest/gtest.h"
#include "ordering/names.h"

namespace phalanx::ordering {
namespace {

constexpr Signature kSum = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};

TEST(SignatureTest, EveryFieldCounts) {
  Signature other = kSum;
  EXPECT_EQ(Compare(kSum, other), std::nullopt);
  EXPECT_EQ(HashOf(kSum), HashOf(other));

  const auto expect = [](Signature changed, const Difference& difference) {
    EXPECT_EQ(Compare(kSum, changed), difference);
    EXPECT_NE(HashOf(kSum), HashOf(changed));
  };
  other.kind = OpKind::kAllToAll;
  expect(other, {"kind", "all_reduce", "all_to_all"});
  other = kSum;
  other.type = DataType::kBfloat16;
  expect(other, {"type", "float", "bfloat16"});
  other = kSum;
  other.count = 1022;
  expect(other, {"count", "1024", "1022"});
  other = kSum;
  other.reduce = ReduceOp::kMax;
  expect(other, {"reduce operation", "sum", "max"});
  other = kSum;
  other.root = 1;
  expect(other, {"root", "0", "1"});
  other = kSum;
  other.counts_hash = 0xab;
  expect(other, {"counts", "hash 0", "hash ab"});
}

// Ranks of different builds compare these.
TEST(SignatureTest, HashesAreFixed) {
  EXPECT_EQ(HashOf(Signature{}), HashOf(Signature{}));
  EXPECT_EQ(Lane::OfKey({1}, "layer3.weight"), Lane::OfKey({1}, "layer3.weight"));
  EXPECT_NE(Lane::OfKey({1}, "layer3.weight"), Lane::OfKey({1}, "layer3.bias"));
  EXPECT_NE(Lane::OfPair({1}, 0, 1), Lane::OfPair({1}, 1, 0));
}

TEST(SignatureTest, NamesAreReadable) {
  EXPECT_EQ(Describe(kSum), "all_reduce of 1024 float (sum)");
  EXPECT_EQ(Describe(OpName{Lane::Of({3}), 17}), "communicator 3, operation 17");
  EXPECT_EQ(Describe(OpName{Lane::OfPair({3}, 0, 1), 4}),
            "communicator 3, message 4 from rank 0 to rank 1");
}

}  // namespace
}  // namespace phalanx::ordering
