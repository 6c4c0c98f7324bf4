// The record of a job: its bytes, the log under it, and the register with one voter.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "control_record/job_record.h"
#include "control_record/logged_register.h"
#include "control_record/voter_log.h"
#include "sample_messages.h"

namespace phalanx::control {
namespace {

using testing::HasSubstr;

JobRecord SampleRecord(uint64_t epoch) {
  JobRecord record;
  record.view.epoch = Epoch{epoch};
  record.view.job_token = 99;
  record.view.members = {SampleMember(0), SampleMember(1)};
  record.view.node_cores = {4, 8};
  record.view.performed_faults = {0, 7};
  record.checkpoints.term = {epoch, 3};
  record.checkpoints.kept = {{{120, epoch}, {{1, 2}, {3, 4}}}, {{119, 1}, {{5, 6}, {7, 8}}}};
  record.finished = true;
  record.late_nodes = {2};
  record.evicted_nodes = {1, 3};
  return record;
}

Fd Memory() { return Fd(::memfd_create("record-test", MFD_CLOEXEC)); }

// As another process would see the same file.
Fd Again(const Fd& file) { return Fd(::dup(file.get())); }

TEST(JobRecord, ComesBackFromItsBytes) {
  const JobRecord record = SampleRecord(7);
  const absl::StatusOr<JobRecord> decoded = DecodeJobRecord(Encode(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, record);
}

TEST(JobRecord, AVersionOfOtherRanksIsRefused) {
  JobRecord record = SampleRecord(7);
  record.checkpoints.kept[1].digests.pop_back();
  EXPECT_EQ(DecodeJobRecord(Encode(record)).status(),
            absl::InvalidArgumentError("the record of the job has a version of other ranks"));
}

TEST(JobRecord, DamagedBytesAreRefusedOrRead) {
  const std::string bytes = Encode(SampleRecord(7));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeJobRecord(bytes.substr(0, length)).ok()) << length;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    const absl::StatusOr<JobRecord> decoded = DecodeJobRecord(changed);
    // What can be read can be written.
    if (!decoded.ok()) continue;
    EXPECT_TRUE(DecodeJobRecord(Encode(*decoded)).ok()) << i;
  }
}

membership::VoterState StateOf(membership::VoterId id, uint64_t round, std::string value) {
  membership::VoterState state;
  state.id = id;
  state.promised = {round, {9}};
  state.accepted = {round, {9}};
  membership::Record record;
  record.version = round;
  record.change = {{9}, round};
  record.voters = {{id}, {{4}, {5}}};
  record.value = std::move(value);
  state.record = std::make_shared<const membership::Record>(std::move(record));
  return state;
}

void ExpectState(const membership::VoterState& state, const membership::VoterState& wanted) {
  EXPECT_EQ(state.id, wanted.id);
  EXPECT_EQ(state.promised, wanted.promised);
  EXPECT_EQ(state.accepted, wanted.accepted);
  ASSERT_NE(state.record, nullptr);
  EXPECT_EQ(*state.record, *wanted.record);
}

TEST(VoterLog, ANewOneHasAVoterOfItsOwn) {
  const Fd file = Memory();
  const Fd other = Memory();
  const absl::StatusOr<VoterLog> log = VoterLog::Open(Again(file));
  const absl::StatusOr<VoterLog> another = VoterLog::Open(Again(other));
  ASSERT_TRUE(log.ok() && another.ok());
  EXPECT_NE(log->state().id, another->state().id);
  EXPECT_EQ(log->state().record, nullptr);
  const absl::StatusOr<VoterLog> again = VoterLog::Open(Again(file));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->state().id, log->state().id);
}

TEST(VoterLog, TheNewestStateComesBack) {
  const Fd file = Memory();
  absl::StatusOr<VoterLog> log = VoterLog::Open(Again(file));
  ASSERT_TRUE(log.ok()) << log.status();
  for (uint64_t round = 1; round <= 5; ++round) {
    const membership::VoterState state =
        StateOf(log->state().id, round, std::string(round * 1000, 'v'));
    ASSERT_TRUE(log->Write(state).ok());
    const absl::StatusOr<VoterLog> again = VoterLog::Open(Again(file));
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectState(again->state(), state);
  }
}

TEST(VoterLog, AWriteThatWasCutOffLeavesTheStateBeforeIt) {
  const Fd file = Memory();
  absl::StatusOr<VoterLog> log = VoterLog::Open(Again(file));
  ASSERT_TRUE(log.ok()) << log.status();
  const membership::VoterState before = StateOf(log->state().id, 1, "before");
  ASSERT_TRUE(log->Write(before).ok());
  ASSERT_TRUE(log->Write(StateOf(log->state().id, 2, "after")).ok());
  // Number 3 lies in the second place: spoil a byte of its state.
  constexpr off_t kInState = (off_t{1} << 32) + 100;
  char byte = 0;
  ASSERT_EQ(::pread(file.get(), &byte, 1, kInState), 1);
  byte = static_cast<char>(~byte);
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, kInState), 1);
  const absl::StatusOr<VoterLog> again = VoterLog::Open(Again(file));
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectState(again->state(), before);
}

// POSIX locks are of processes, so this needs one.
TEST(VoterLog, BelongsToOneProcess) {
  const Fd file = Memory();
  const absl::StatusOr<VoterLog> log = VoterLog::Open(Again(file));
  ASSERT_TRUE(log.ok()) << log.status();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::StatusOr<VoterLog> second = VoterLog::Open(Again(file));
    ::_exit(absl::IsFailedPrecondition(second.status()) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

absl::Status Written(JobRegister& job, const JobRecord& record) {
  absl::Status written = absl::UnknownError("not said");
  job.Write(record, [&](const absl::Status& status) { written = status; });
  return written;
}

TEST(LoggedRegister, WhatWasWrittenIsFound) {
  const Fd file = Memory();
  for (uint64_t epoch = 1; epoch <= 4; ++epoch) {
    absl::StatusOr<std::unique_ptr<LoggedRegister>> job = LoggedRegister::Open(Again(file));
    ASSERT_TRUE(job.ok()) << job.status();
    if (epoch == 1) {
      EXPECT_FALSE((*job)->found().has_value());
    } else {
      ASSERT_TRUE((*job)->found().has_value());
      EXPECT_EQ(*(*job)->found(), SampleRecord(epoch * 10 - 1));
    }
    ASSERT_TRUE(Written(**job, SampleRecord(epoch * 10)).ok());
    ASSERT_TRUE(Written(**job, SampleRecord((epoch + 1) * 10 - 1)).ok());
  }
}

TEST(LoggedRegister, AFileThatCantBeWrittenIsSaid) {
  const Fd file = Memory();
  absl::StatusOr<std::unique_ptr<LoggedRegister>> job =
      LoggedRegister::Open(Fd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(Written(**job, SampleRecord(1)).ok());
  const Fd readable(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY));
  ASSERT_TRUE(readable.valid());
  const absl::Status refused = LoggedRegister::Open(Again(readable)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the log of the job's record: "));
}

}  // namespace
}  // namespace phalanx::control
