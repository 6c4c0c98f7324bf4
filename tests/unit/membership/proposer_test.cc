#include "membership/proposer.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "membership/voter.h"

namespace phalanx::membership {
namespace {

using Kind = Outcome::Kind;
constexpr int64_t kMs = 1'000'000;

std::set<VoterId> Ids(std::initializer_list<uint64_t> values) {
  std::set<VoterId> ids;
  for (const uint64_t value : values) ids.insert(VoterId{value});
  return ids;
}

RecordPtr Formed(const std::set<VoterId>& voters) {
  return std::make_shared<const Record>(Record{0, {}, {voters, {}}, "formed"});
}

// Voters with immediate disks and links; `down` ones neither hear nor answer.
class Job {
 public:
  explicit Job(const std::set<VoterId>& voters) : known_(Formed(voters)) {
    for (const VoterId& voter : voters) AddVoter(voter);
  }
  void AddVoter(VoterId id) { voters_.emplace(id, Voter(VoterState{id, {}, {}, nullptr})); }
  void Wipe(VoterId id) {  // another log comes in its place
    voters_.erase(id);
    voters_.emplace(id, Voter(VoterState{VoterId{id.value + 100}, {}, {}, nullptr}));
  }
  Proposer NewProposer() {
    ProposerSettings settings;
    settings.id = ProposerId{next_++};
    settings.known = known_;
    return Proposer(settings);
  }

  // Until the request ends; time moves when nothing else happens.
  Outcome Perform(Proposer* proposer, const Request& request, int64_t deadline_ns = 1'000 * kMs) {
    sent_ = 0;
    std::vector<ProposerOutput> outputs =
        proposer->Step(Begin{request, now_ns_ + deadline_ns}, now_ns_);
    for (;;) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (const auto* finished = std::get_if<Finished>(&outputs[i])) return finished->outcome;
        ++sent_;
        const ToVoter message = std::get<Send>(outputs[i]).message;
        for (const ToProposer& answer : Deliver(message)) {
          const auto more = proposer->Step(FromVoter{answer}, now_ns_);
          outputs.insert(outputs.end(), more.begin(), more.end());
        }
      }
      now_ns_ = proposer->WakeAt().value();
      outputs = proposer->Step(Tick{}, now_ns_);
    }
  }

  std::vector<ToProposer> Deliver(const ToVoter& message) {
    const VoterId to = std::visit([](const auto& body) { return body.to; }, message);
    const auto voter = voters_.find(to);
    if (voter == voters_.end() || down.contains(to)) return {};
    std::vector<ToProposer> answers;
    std::vector<VoterOutput> outputs = voter->second.Step(Asked{0, message});
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (const auto* persist = std::get_if<Persist>(&outputs[i])) {
        const auto more = voter->second.Step(Persisted{persist->number});
        outputs.insert(outputs.end(), more.begin(), more.end());
      } else {
        answers.push_back(std::get<Answer>(outputs[i]).message);
      }
    }
    return answers;
  }

  const Voter& voter(uint64_t id) const { return voters_.at(VoterId{id}); }
  int64_t now_ns() const { return now_ns_; }
  int sent() const { return sent_; }  // messages of the last request
  std::set<VoterId> down;

 private:
  RecordPtr known_;
  std::map<VoterId, Voter> voters_;
  uint64_t next_ = 101;
  int64_t now_ns_ = 0;
  int sent_ = 0;
};

TEST(ProposerTest, ReadsWhatTheJobWasFormedWith) {
  for (const auto& voters : {Ids({1}), Ids({1, 2, 3}), Ids({1, 2, 3, 4, 5})}) {
    Job job(voters);
    Proposer proposer = job.NewProposer();
    const Outcome outcome = job.Perform(&proposer, Read{});
    EXPECT_EQ(outcome.kind, Kind::kCommitted);
    EXPECT_EQ(*outcome.record, *Formed(voters));
    EXPECT_EQ(job.sent(), static_cast<int>(voters.size()));  // one round trip
    EXPECT_TRUE(proposer.idle());
    EXPECT_EQ(proposer.WakeAt(), std::nullopt);
  }
}

TEST(ProposerTest, ChangesVersionByVersion) {
  Job job(Ids({1, 2, 3}));
  Proposer first = job.NewProposer();
  Proposer second = job.NewProposer();
  for (uint64_t version = 0; version < 5; ++version) {
    Proposer* proposer = version % 2 == 0 ? &first : &second;
    const std::string value = "value " + std::to_string(version + 1);
    const Outcome outcome = job.Perform(proposer, CompareAndSet{version, value});
    EXPECT_EQ(outcome.kind, Kind::kCommitted);
    EXPECT_EQ(outcome.record->version, version + 1);
    EXPECT_EQ(outcome.record->value, value);
    EXPECT_EQ(proposer->known(), outcome.record);
  }
  const Outcome read = job.Perform(&first, Read{});
  EXPECT_EQ(read.record->value, "value 5");
}

TEST(ProposerTest, AConflictComesWithThePresentRecord) {
  Job job(Ids({1, 2, 3}));
  Proposer first = job.NewProposer();
  Proposer second = job.NewProposer();
  EXPECT_EQ(job.Perform(&first, CompareAndSet{0, "first"}).kind, Kind::kCommitted);
  const Outcome outcome = job.Perform(&second, CompareAndSet{0, "second"});
  EXPECT_EQ(outcome.kind, Kind::kConflict);
  EXPECT_EQ(outcome.record->value, "first");
}

TEST(ProposerTest, AMinorityOfTheVotersMayBeDown) {
  Job job(Ids({1, 2, 3, 4, 5}));
  Proposer proposer = job.NewProposer();
  job.down = Ids({1, 4});
  EXPECT_EQ(job.Perform(&proposer, CompareAndSet{0, "first"}).kind, Kind::kCommitted);
  // Others are down now: what was committed is found.
  job.down = Ids({2, 3});
  Proposer other = job.NewProposer();
  EXPECT_EQ(job.Perform(&other, Read{}).record->value, "first");
}

TEST(ProposerTest, WithoutAMajorityItEndsAtItsDeadline) {
  Job job(Ids({1, 2, 3}));
  job.down = Ids({1, 2});
  Proposer proposer = job.NewProposer();
  const Outcome outcome = job.Perform(&proposer, CompareAndSet{0, "lost"}, 700 * kMs);
  EXPECT_EQ(outcome.kind, Kind::kUnknown);
  EXPECT_EQ(outcome.record, nullptr);
  EXPECT_EQ(job.now_ns(), 700 * kMs);
  job.down.clear();
  EXPECT_EQ(job.Perform(&proposer, CompareAndSet{0, "again"}).kind, Kind::kCommitted);
}

TEST(ProposerTest, WhatAMinorityAcceptedIsSettledByWhoeverFindsIt) {
  Job job(Ids({1, 2, 3}));
  const auto half_done =
      std::make_shared<const Record>(Record{1, {{77}, 1}, {Ids({1, 2, 3}), {}}, "half done"});
  job.Deliver(Accept{VoterId{1}, Ballot{1, {77}}, half_done});
  // Not found: another change takes its version.
  job.down = Ids({1});
  Proposer proposer = job.NewProposer();
  EXPECT_EQ(job.Perform(&proposer, CompareAndSet{0, "mine"}).kind, Kind::kCommitted);
  job.down.clear();
  EXPECT_EQ(job.Perform(&proposer, Read{}).record->value, "mine");

  Job other(Ids({1, 2, 3}));
  other.Deliver(Accept{VoterId{1}, Ballot{1, {77}}, half_done});
  Proposer finder = other.NewProposer();
  const Outcome outcome = other.Perform(&finder, CompareAndSet{0, "mine"});
  EXPECT_EQ(outcome.kind, Kind::kConflict);
  EXPECT_EQ(outcome.record->value, "half done");
  EXPECT_EQ(other.voter(2).state().record->value, "half done");
}

TEST(ProposerTest, RecognisesItsOwnChangeWhenSomebodyElseSettledIt) {
  Job job(Ids({1, 2, 3}));
  Proposer proposer = job.NewProposer();
  // Its accepts reach one voter only, and no answer comes back.
  std::vector<ProposerOutput> outputs =
      proposer.Step(Begin{CompareAndSet{0, "mine"}, 10'000 * kMs}, 0);
  std::vector<ProposerOutput> accepts;
  for (const ProposerOutput& output : outputs) {
    for (const ToProposer& answer : job.Deliver(std::get<Send>(output).message)) {
      const auto more = proposer.Step(FromVoter{answer}, 0);
      accepts.insert(accepts.end(), more.begin(), more.end());
    }
  }
  ASSERT_EQ(accepts.size(), 3U);
  job.Deliver(std::get<Send>(accepts[0]).message);
  Proposer other = job.NewProposer();
  EXPECT_EQ(job.Perform(&other, Read{}).record->value, "mine");

  std::optional<Outcome> outcome;
  int64_t now_ns = 0;
  while (!outcome.has_value()) {
    now_ns = proposer.WakeAt().value();
    outputs = proposer.Step(Tick{}, now_ns);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (const auto* finished = std::get_if<Finished>(&outputs[i])) {
        outcome = finished->outcome;
        break;
      }
      for (const ToProposer& answer : job.Deliver(std::get<Send>(outputs[i]).message)) {
        const auto more = proposer.Step(FromVoter{answer}, now_ns);
        outputs.insert(outputs.end(), more.begin(), more.end());
      }
    }
  }
  EXPECT_EQ(outcome->kind, Kind::kCommitted);
  EXPECT_EQ(outcome->record->version, 1U);
  EXPECT_EQ(outcome->record->value, "mine");
}

TEST(ProposerTest, AWipedVoterDoesNotVote) {
  Job job(Ids({1, 2, 3}));
  Proposer proposer = job.NewProposer();
  job.down = Ids({3});
  EXPECT_EQ(job.Perform(&proposer, CompareAndSet{0, "kept"}).kind, Kind::kCommitted);
  job.down = Ids({1});
  job.Wipe(VoterId{2});
  // 3 knows nothing and 2 no longer does: together they would make another version 1.
  Proposer other = job.NewProposer();
  EXPECT_EQ(job.Perform(&other, CompareAndSet{0, "forked"}).kind, Kind::kUnknown);
  job.down.clear();
  EXPECT_EQ(job.Perform(&other, CompareAndSet{0, "late"}).kind, Kind::kConflict);
  EXPECT_EQ(other.known()->value, "kept");
}

TEST(ProposerTest, NeverGoesBackBehindWhatItKnows) {
  Job job(Ids({1, 2, 3}));
  Proposer proposer = job.NewProposer();
  const auto heard =
      std::make_shared<const Record>(Record{7, {{77}, 1}, {Ids({1, 2, 3}), {}}, "heard"});
  EXPECT_TRUE(proposer.Step(Heard{heard}, 0).empty());
  EXPECT_EQ(job.Perform(&proposer, Read{}, 500 * kMs).kind, Kind::kUnknown);
}

TEST(ProposerTest, ReplacesVotersByMajoritiesOfBothSets) {
  Job job(Ids({1, 2, 3}));
  for (const uint64_t id : {4, 5, 6}) job.AddVoter(VoterId{id});
  Proposer proposer = job.NewProposer();
  EXPECT_EQ(job.Perform(&proposer, CompareAndSet{0, "value"}).kind, Kind::kCommitted);
  EXPECT_EQ(job.Perform(&proposer, FinishReplacement{1}).kind, Kind::kRefused);
  job.down = Ids({5, 6});
  EXPECT_EQ(job.Perform(&proposer, BeginReplacement{1, Ids({4, 5, 6})}).kind, Kind::kUnknown);
  job.down = Ids({3, 6});
  // What one voter or more have accepted is found, and settled.
  Outcome outcome = job.Perform(&proposer, Read{});
  ASSERT_EQ(outcome.kind, Kind::kCommitted);
  EXPECT_EQ(outcome.record->version, 2U);
  EXPECT_EQ(outcome.record->voters, (VoterSets{Ids({1, 2, 3}), Ids({4, 5, 6})}));
  EXPECT_EQ(job.Perform(&proposer, BeginReplacement{2, Ids({1, 2, 3})}).kind, Kind::kRefused);
  outcome = job.Perform(&proposer, FinishReplacement{2});
  ASSERT_EQ(outcome.kind, Kind::kCommitted);
  EXPECT_EQ(outcome.record->voters, (VoterSets{Ids({4, 5, 6}), {}}));
  EXPECT_EQ(outcome.record->value, "value");

  // A proposer that knows the old set only finds the new one.
  job.down.clear();
  Proposer old = job.NewProposer();
  EXPECT_EQ(job.Perform(&old, Read{}).record->version, 3U);
  // One that has heard needs none of the old ones.
  job.down = Ids({1, 2, 3});
  Proposer told = job.NewProposer();
  told.Step(Heard{outcome.record}, job.now_ns());
  EXPECT_EQ(job.Perform(&told, CompareAndSet{3, "new"}).kind, Kind::kCommitted);
}

TEST(ProposerTest, PausesAreRandomGrowAndRepeatWithTheSeed) {
  const auto wakes = [](uint64_t seed) {
    ProposerSettings settings;
    settings.id = ProposerId{101};
    settings.known = Formed(Ids({1}));
    settings.seed = seed;
    Proposer proposer(settings);
    proposer.Step(Begin{Read{}, 100'000 * kMs}, 0);
    std::vector<int64_t> at;
    while (!proposer.idle()) {
      at.push_back(*proposer.WakeAt());
      proposer.Step(Tick{}, at.back());
    }
    return at;
  };
  const std::vector<int64_t> some = wakes(1);
  EXPECT_EQ(some, wakes(1));
  EXPECT_NE(some, wakes(2));
  EXPECT_EQ(some[0], 50 * kMs);
  EXPECT_LE(some[1], 60 * kMs);
  EXPECT_EQ(some[2] - some[1], 100 * kMs);
  EXPECT_EQ(some.back(), 100'000 * kMs);
  EXPECT_LT(some.size(), 300U);
  for (size_t i = 1; i < some.size(); ++i) EXPECT_LE(some[i] - some[i - 1], 1'000 * kMs);
}

}  // namespace
}  // namespace phalanx::membership
