#include "ordering/sequencer.h"

#include "gtest/gtest.h"

namespace phalanx::ordering {
namespace {

constexpr CommunicatorId kWorld{0};

Signature Of(OpKind kind, uint64_t count = 64) {
  Signature signature;
  signature.kind = kind;
  signature.count = count;
  return signature;
}

// Suggests a schedule of one operation to a sequencer of two nodes, on which nothing runs.
bool Certifies(const Lane& lane, const Signature& signature, bool complete_together) {
  Roster roster({0, 1});
  roster.Add(kWorld, {0, 1});
  SequencerSettings settings;
  settings.fewest_slots = 2;
  settings.complete_together = complete_together;
  Sequencer sequencer(settings, &roster);
  sequencer.Step(SequencerBegins{});
  for (const int node : {0, 1}) sequencer.Step(NodeSaid{node, {sequencer.term(), Clear{}}});
  sequencer.Step(Suggest{{{{lane, signature}}, {{lane, 0}}}});
  return sequencer.certified();
}

TEST(SequencerTest, SpeculatesOnlyWithWhatNoMemberCompletesAlone) {
  const Lane world = Lane::Of(kWorld);
  const Lane pair = Lane::OfPair(kWorld, 0, 1);
  EXPECT_TRUE(Certifies(world, Of(OpKind::kAllReduce), false));
  EXPECT_TRUE(Certifies(world, Of(OpKind::kBarrier, 0), false));
  EXPECT_FALSE(Certifies(world, Of(OpKind::kAllReduce, 0), false));
  EXPECT_FALSE(Certifies(world, Of(OpKind::kBroadcast), false));
  EXPECT_FALSE(Certifies(pair, Of(OpKind::kMessage), false));
  EXPECT_TRUE(Certifies(pair, Of(OpKind::kMessage), true));
}

}  // namespace
}  // namespace phalanx::ordering
