// One well-formed message of every kind, with every field set, and a text that shows every field.
#ifndef PHALANX_TESTS_UNIT_ORDERING_WIRE_SAMPLE_MESSAGES_H_
#define PHALANX_TESTS_UNIT_ORDERING_WIRE_SAMPLE_MESSAGES_H_

#include <memory>
#include <string>
#include <vector>

#include "ordering_wire/codec.h"

namespace phalanx::ordering {

inline const CommunicatorId kSome{513};

inline Signature SampleSignature() {
  return {OpKind::kAllGatherV, DataType::kFloat8E5m2, ReduceOp::kPreMultipliedSum, 65535,
          uint64_t{1} << 40,   0xfedcba9876543210ULL};
}

inline OpName SampleOp(uint64_t sequence) { return {Lane::Of(kSome), sequence}; }
inline OpName SampleKeyedOp() { return {Lane::OfKey(kSome, "layer3.weight"), 2}; }
inline OpName SamplePairOp() { return {Lane::OfPair(kSome, 65535, 1), 4}; }

inline Ticket SampleTicket() { return {{1, 22, 333}, {1, 21, 4}, SamplePairOp()}; }

inline RankSnapshot SampleSnapshot() {
  RankSnapshot snapshot;
  snapshot.rank = 12;
  snapshot.progress = 1234567890123;
  snapshot.ops = {{SampleOp(7), SampleSignature(), 3, 99, true, false, "train.py:42", true, 1'500},
                  {SampleKeyedOp(), Signature{}, 0, 100, false, true, ""}};
  snapshot.threads = {{ThreadView::State::kWaiting, {SampleOp(7), SamplePairOp()}, true},
                      {ThreadView::State::kEnded, {}, false}};
  snapshot.device_held = true;
  snapshot.tickets = 12;
  snapshot.issued = {{Lane::Of(kSome), 8}, {Lane::OfPair(kSome, 1, 0), 1}};
  return snapshot;
}

inline Explanation SampleExplanation() {
  Explanation explanation;
  explanation.kind = Explanation::Kind::kMismatch;
  Explanation::Line full;
  full.rank = 3;
  full.why = Explanation::Line::Why::kDiffers;
  full.op = SampleOp(7);
  full.signature = SampleSignature();
  full.stream = 0;  // given, though it is the default
  full.call_site = "train.py:43";
  full.waits_for = SampleKeyedOp();
  full.behind = 17;
  Explanation::Line bare;
  bare.rank = 0;
  bare.why = Explanation::Line::Why::kAbsent;
  bare.op = SamplePairOp();
  explanation.lines = {full, bare};
  explanation.difference = Difference{"count", "1024", "1000"};
  explanation.aborted = {SampleOp(7), SamplePairOp()};
  return explanation;
}

inline Passed SamplePassed() {
  Passed passed;
  passed.rank = 14;
  passed.lanes = {{SamplePairOp().lane, 70, {72, 75}, {{60, 74, {SampleSignature(), Signature{}}}}},
                  {Lane::Of(kSome), 3, {}, {}}};
  return passed;
}

inline std::vector<Uplink> SampleUplinks() {
  const Term term{5, 6};
  const Party left{1, SampleSignature()};
  const Party right{2, Signature{}};
  return {
      Report{term, Present{SampleOp(7), SampleSignature(), true, 9}},
      Report{term, Done{SampleKeyedOp()}},
      Report{term, Diverged{SamplePairOp()}},
      Report{term, Clear{}},
      Report{term, Held{{SampleTicket(), Ticket{{1, 2, 3}, {}, SampleKeyedOp()}}}},
      Report{term, LocalTickets{{{Lane::Of(kSome), SampleSignature()}, {SampleKeyedOp().lane, {}}},
                                {70, 80}}},
      Report{term, Disagreement{SampleOp(8), left, right}},
      Report{term, Stalled{65535}},
      Report{term, SnapshotPart{3, SampleSnapshot()}},
      Report{term, Refused{std::make_shared<const Explanation>(SampleExplanation())}},
      Report{term, SamplePassed()},
      NewCommunicator{kSome, {3, 0, 65535}}};
}

inline std::vector<Downlink> SampleDownlinks() {
  const Term term{7, 8};
  const auto schedule = std::make_shared<const Schedule>(
      Schedule{{{Lane::Of(kSome), SampleSignature()}, {SampleKeyedOp().lane, {}}},
               {{Lane::Of(kSome), 40}, {SampleKeyedOp().lane, 50}}});
  return {Order{term, SampleTicket()},
          Order{term, Certify{schedule}},
          Order{term, Fence{}},
          Order{term, Question{}},
          Order{term, Resume{{SampleTicket(), SampleTicket()}}},
          Order{term, AskSnapshot{11}},
          Order{term, Verdict{std::make_shared<const Explanation>(SampleExplanation())}}};
}

}  // namespace phalanx::ordering

#endif  // PHALANX_TESTS_UNIT_ORDERING_WIRE_SAMPLE_MESSAGES_H_
