// The texts of the launcher: lists of hosts, and what it hands to agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "control_launch/assignment_text.h"
#include "control_launch/host_list.h"
#include "control_process/fd.h"

namespace phalanx::control {

bool operator==(const HostSlots& one, const HostSlots& other) {
  return one.host == other.host && one.slots == other.slots;
}

namespace {

using testing::ElementsAre;

TEST(HostList, Parses) {
  EXPECT_THAT(*ParseHostList("a:2, user@b.example ,[::1]:3,[fe80::1%eth0]"),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"user@b.example", 1}, HostSlots{"::1", 3},
                          HostSlots{"fe80::1%eth0", 1}));
}

TEST(HostList, RefusesWhatIsWrong) {
  for (const std::string text : {"", "a,,b", ":2", "a:", "a:0", "a:-1", "a:x", "a:2:3", "-oProxy",
                                 "a b", "a;b", "$(b)", "[::1", "[::1]x", "a:65537"}) {
    const absl::Status status = ParseHostList(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(HostFile, Parses) {
  EXPECT_THAT(*ParseHostFile("# nodes\na:2\n\n b slots=3 max_slots=4 # more\nc"),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 3}, HostSlots{"c", 1}));
}

TEST(HostFile, NamesTheWrongLine) {
  EXPECT_THAT(std::string(ParseHostFile("a\nb slots=no\n").status().message()),
              testing::HasSubstr("line 2"));
  EXPECT_THAT(std::string(ParseHostFile("a speed=3").status().message()),
              testing::HasSubstr("line 1"));
  EXPECT_FALSE(ParseHostFile("# nothing\n").ok());
}

TEST(HostList, TakesSlotsInOrder) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 2}, {"c", 2}};
  EXPECT_THAT(*TakeSlots(hosts, 3), ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 1}));
  EXPECT_THAT(*TakeSlots(hosts, 6), ElementsAre(hosts[0], hosts[1], hosts[2]));
  EXPECT_EQ(TakeSlots(hosts, 7).status().code(), absl::StatusCode::kInvalidArgument);
}

NodeAssignment Sample() {
  NodeAssignment assignment;
  assignment.job = "job";
  assignment.secret = "0123456789abcdef";
  assignment.coordinator = {"::1", 4711};
  assignment.node = 1;
  assignment.node_name = "node 1";
  assignment.world_size = 6;
  assignment.first_rank = 2;
  assignment.local_world_size = 4;
  assignment.program = {"sh", "-c", "echo 'a b'\n\"$X\" \\ \xff", ""};
  assignment.variables = {{"X", "1=2\nend\n"}, {"EMPTY", ""}};
  assignment.folder = "/tmp/a b";
  assignment.replication_bytes_per_second = uint64_t{5} << 32;
  assignment.label = false;
  assignment.grace = std::chrono::milliseconds(1234);
  return assignment;
}

TEST(AssignmentText, ComesBackAsItWas) {
  const NodeAssignment sample = Sample();
  const absl::StatusOr<NodeAssignment> got = ParseAssignment(ToText(sample));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->job, sample.job);
  EXPECT_EQ(got->secret, sample.secret);
  EXPECT_EQ(ToString(got->coordinator), "[::1]:4711");
  EXPECT_EQ(got->node, 1);
  EXPECT_EQ(got->node_name, sample.node_name);
  EXPECT_EQ(got->world_size, 6);
  EXPECT_EQ(got->first_rank, 2);
  EXPECT_EQ(got->local_world_size, 4);
  EXPECT_EQ(got->program, sample.program);
  EXPECT_EQ(got->variables, sample.variables);
  EXPECT_EQ(got->folder, sample.folder);
  EXPECT_EQ(got->replication_bytes_per_second, sample.replication_bytes_per_second);
  EXPECT_FALSE(got->label);
  EXPECT_EQ(got->grace, sample.grace);
}

TEST(AssignmentText, RefusesWhatIsWrong) {
  const std::string good = ToText(Sample());
  EXPECT_FALSE(ParseAssignment("").ok());
  EXPECT_FALSE(ParseAssignment("end\n").ok());
  EXPECT_FALSE(ParseAssignment(good.substr(0, good.size() - 1)).ok());
  EXPECT_FALSE(ParseAssignment("unknown word\n" + good).ok());
  EXPECT_FALSE(ParseAssignment("node -1\n" + good).ok());
  EXPECT_FALSE(ParseAssignment("variable novalue\n" + good).ok());
  NodeAssignment wrong = Sample();
  wrong.first_rank = 3;
  EXPECT_FALSE(ParseAssignment(ToText(wrong)).ok());
  // A message about a wrong line must not give the secret away.
  const absl::Status status = ParseAssignment("secret \\x\n" + good).status();
  EXPECT_EQ(std::string(status.message()).find("x'"), std::string::npos) << status;
}

TEST(AssignmentText, ReadsNothingBeyondItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const std::string text = ToText(Sample()) + "signal 2\n";
  ASSERT_EQ(write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const absl::StatusOr<std::string> got = ReadAssignment(reader.get());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, ToText(Sample()));
  char rest[16] = {};
  EXPECT_EQ(read(reader.get(), rest, sizeof(rest)), 9);
  EXPECT_STREQ(rest, "signal 2\n");
  writer.Reset();
  EXPECT_EQ(ReadAssignment(reader.get()).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace phalanx::control
