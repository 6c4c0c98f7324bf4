#include "keyed_record/key_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx::control {
namespace {

using ::testing::HasSubstr;
using Kind = StoreCall::Kind;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr uint64_t kMe = 11;
constexpr uint64_t kOther = 99;

class KeyWriterTest : public testing::Test {
 protected:
  void Perform(const KeyInput& input) {
    call_.reset();
    finished_.reset();
    for (const KeyOutput& output : writer_.Step(input, now_ns_)) {
      if (const auto* call = std::get_if<StoreCall>(&output)) call_ = *call;
      if (const auto* say = std::get_if<Say>(&output)) said_.push_back(say->line);
      if (const auto* finished = std::get_if<Finished>(&output)) finished_ = *finished;
    }
  }
  void Start(KeyRequest request, int64_t patience_ns = 60 * kSecond) {
    Perform(Begin{std::move(request), now_ns_ + patience_ns});
  }
  void AnswerPut(int64_t revision) { Perform(StoreAnswer{absl::OkStatus(), true, revision, ""}); }
  void AnswerFound(int64_t revision, const std::string& value) {
    Perform(StoreAnswer{absl::OkStatus(), false, revision, value});
  }
  void AnswerNothing(int64_t after_ns = kSecond) {
    now_ns_ += after_ns;
    Perform(StoreAnswer{absl::DeadlineExceededError("Deadline Exceeded"), false, 0, ""});
  }
  void WakeUpInTime() {
    ASSERT_TRUE(writer_.WakeAt().has_value());
    now_ns_ = *writer_.WakeAt();
    Perform(WakeUp{});
  }
  void ExpectCall(Kind kind, int64_t expected, size_t endpoint = 0) {
    ASSERT_TRUE(call_.has_value());
    EXPECT_EQ(call_->kind, kind);
    EXPECT_EQ(call_->expected, expected);
    EXPECT_EQ(call_->endpoint, endpoint);
  }
  void ExpectFinished(absl::StatusCode code, const std::string& value = "") {
    ASSERT_TRUE(finished_.has_value());
    EXPECT_EQ(finished_->status.code(), code) << finished_->status;
    EXPECT_EQ(finished_->value, value);
    EXPECT_TRUE(writer_.idle());
  }
  void Claim() {
    Start(ClaimKey{});
    AnswerFound(5, Seal({kOther, 3}, "found"));
    AnswerPut(6);
    ExpectFinished(absl::StatusCode::kOk, "found");
  }

  int64_t now_ns_ = 1000 * kSecond;
  KeyWriter writer_{{.writer = kMe, .endpoints = {"a:1", "b:2"}}};
  std::optional<StoreCall> call_;
  std::optional<Finished> finished_;
  std::vector<std::string> said_;
};

TEST_F(KeyWriterTest, AClaimPutsWhatItFindsUnderItsName) {
  Start(ClaimKey{});
  ExpectCall(Kind::kGet, 0);
  AnswerFound(5, Seal({kOther, 3}, "found"));
  ExpectCall(Kind::kPut, 5);
  EXPECT_EQ(call_->value, Seal({kMe, 1}, "found"));
  EXPECT_EQ(call_->timeout_ns, kSecond);
  AnswerPut(6);
  ExpectFinished(absl::StatusCode::kOk, "found");
}

TEST_F(KeyWriterTest, PutsExpectTheLastRevision) {
  Claim();
  Start(PutValue{"next"});
  ExpectCall(Kind::kPut, 6);
  EXPECT_EQ(call_->value, Seal({kMe, 2}, "next"));
  AnswerPut(9);
  ExpectFinished(absl::StatusCode::kOk);
  Start(PutValue{"last"});
  ExpectCall(Kind::kPut, 9);
  EXPECT_EQ(call_->value, Seal({kMe, 3}, "last"));
}

TEST_F(KeyWriterTest, AClaimThatComesTooLateTakesTheNewerValue) {
  Start(ClaimKey{});
  AnswerFound(5, Seal({kOther, 3}, "old"));
  AnswerFound(7, Seal({kOther, 4}, "new"));
  ExpectCall(Kind::kPut, 7);
  EXPECT_EQ(call_->value, Seal({kMe, 2}, "new"));
  AnswerPut(8);
  ExpectFinished(absl::StatusCode::kOk, "new");
}

TEST_F(KeyWriterTest, APutWhoseAnswerWasLostIsRecognised) {
  Claim();
  Start(PutValue{"next"});
  const StoreCall first = *call_;
  AnswerNothing();
  EXPECT_FALSE(call_.has_value());
  WakeUpInTime();
  ExpectCall(Kind::kPut, 6, 1);
  EXPECT_EQ(call_->value, first.value);
  AnswerFound(7, first.value);
  ExpectFinished(absl::StatusCode::kOk);
  Start(PutValue{"last"});
  ExpectCall(Kind::kPut, 7, 1);
}

TEST_F(KeyWriterTest, AForeignValueEndsIt) {
  Claim();
  Start(PutValue{"next"});
  AnswerFound(8, Seal({kOther, 2}, "next"));
  ExpectFinished(absl::StatusCode::kAborted);
  Start(PutValue{"last"});
  ExpectFinished(absl::StatusCode::kFailedPrecondition);
}

TEST_F(KeyWriterTest, AKeyThatIsGoneIsNotMadeAgain) {
  Claim();
  Start(PutValue{"next"});
  AnswerFound(0, "");
  ExpectFinished(absl::StatusCode::kNotFound);
  KeyWriter fresh({.writer = kOther, .endpoints = {"a:1"}});
  fresh.Step(Begin{ClaimKey{}, now_ns_ + kSecond}, now_ns_);
  const std::vector<KeyOutput> outputs = fresh.Step(StoreAnswer{}, now_ns_);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(std::get<Finished>(outputs[0]).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(KeyWriterTest, AKeyIsMadeOnce) {
  Start(CreateKey{});
  ExpectCall(Kind::kPut, 0);
  const std::string ours = call_->value;
  EXPECT_EQ(ours, Seal({kMe, 1}, ""));
  AnswerNothing();
  WakeUpInTime();
  AnswerFound(3, ours);
  ExpectFinished(absl::StatusCode::kOk);
  Start(PutValue{"first"});
  ExpectCall(Kind::kPut, 3, 1);
}

TEST_F(KeyWriterTest, SomebodyElsesKeyIsLeftAlone) {
  Start(CreateKey{});
  AnswerFound(3, Seal({kOther, 1}, ""));
  ExpectFinished(absl::StatusCode::kAlreadyExists);
}

TEST_F(KeyWriterTest, WhatIsNoRecordIsNotClaimed) {
  Start(ClaimKey{});
  AnswerFound(3, "something else");
  ExpectFinished(absl::StatusCode::kInvalidArgument);
}

TEST_F(KeyWriterTest, AKeyIsRemoved) {
  Start(RemoveKey{});
  ExpectCall(Kind::kRemove, 0);
  AnswerNothing();
  WakeUpInTime();
  ExpectCall(Kind::kRemove, 0, 1);
  Perform(StoreAnswer{});
  ExpectFinished(absl::StatusCode::kOk);
}

TEST_F(KeyWriterTest, SilenceIsSaidAfterASecondAndThenEveryTen) {
  Claim();
  Start(PutValue{"next"});
  const int64_t began_ns = now_ns_;
  std::vector<int64_t> said_at_s;
  while (now_ns_ < began_ns + 25 * kSecond) {
    const size_t before = said_.size();
    AnswerNothing();
    if (said_.size() > before) said_at_s.push_back((now_ns_ - began_ns) / kSecond);
    WakeUpInTime();
  }
  ASSERT_EQ(said_at_s.size(), 3u);
  EXPECT_EQ(said_at_s[0], 1);
  EXPECT_GE(said_at_s[1], 11);
  EXPECT_LE(said_at_s[1], 13);
  EXPECT_EQ(said_[0],
            "etcd doesn't answer (a:1: Deadline Exceeded); the job's record waits for it");
  now_ns_ = began_ns + 30 * kSecond;
  AnswerPut(7);
  EXPECT_EQ(said_.back(), "etcd answers again, after 30.0 s");
  ExpectFinished(absl::StatusCode::kOk);
}

TEST_F(KeyWriterTest, AShortSilenceIsNotSaid) {
  Claim();
  Start(PutValue{"next"});
  AnswerNothing(10 * kMs);
  WakeUpInTime();
  AnswerPut(7);
  ExpectFinished(absl::StatusCode::kOk);
  EXPECT_TRUE(said_.empty());
}

TEST_F(KeyWriterTest, RefusedConnectionsAreNotTriedWithoutPause) {
  Claim();
  Start(PutValue{"next"});
  const int64_t began_ns = now_ns_;
  int calls = 0;
  while (now_ns_ < began_ns + 10 * kSecond) {
    AnswerNothing(0);
    WakeUpInTime();
    ++calls;
  }
  EXPECT_LE(calls, 30);
}

TEST_F(KeyWriterTest, EndsByItsDeadline) {
  Claim();
  Start(PutValue{"next"}, 2500 * kMs);
  const int64_t deadline_ns = now_ns_ + 2500 * kMs;
  while (!finished_.has_value()) {
    if (call_.has_value()) {
      EXPECT_LE(now_ns_ + call_->timeout_ns, deadline_ns);
      AnswerNothing(call_->timeout_ns);
    } else {
      WakeUpInTime();
    }
    ASSERT_LE(now_ns_, deadline_ns);
  }
  ExpectFinished(absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(finished_->status.message()), HasSubstr("Deadline Exceeded"));
}

}  // namespace
}  // namespace phalanx::control
