#include "phalanx/options.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Options> From(const std::map<std::string, std::string>& environment) {
  return Options::FromEnvironment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(OptionsTest, EmptyEnvironmentGivesDefaults) {
  const auto options = From({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, -1);
  EXPECT_EQ(options->world_size, 0);
  EXPECT_EQ(options->transport, "auto");
  EXPECT_TRUE(options->cross_memory_attach);
}

TEST(OptionsTest, ReadsEveryVariableOfItsOwn) {
  const auto options = From({{"PHALANX_RANK", "3"},
                             {"PHALANX_WORLD_SIZE", "8"},
                             {"PHALANX_LOCAL_WORLD_SIZE", "4"},
                             {"PHALANX_AGENT", "a"},
                             {"PHALANX_SUPERVISED", "1"},
                             {"PHALANX_UNIQUE_ID", "u"},
                             {"PHALANX_ADDRESS", "h:1"},
                             {"PHALANX_KEY_FILE", "k"},
                             {"PHALANX_TRANSPORT", "ucx"},
                             {"PHALANX_BIND", "eth0"},
                             {"PHALANX_SHARED_MEMORY", "3G"},
                             {"PHALANX_CROSS_MEMORY_ATTACH", "0"},
                             {"PHALANX_JOIN_TIMEOUT", "2.5"},
                             {"PHALANX_OPERATION_TIMEOUT", "7"},
                             {"PHALANX_STALL_TIMEOUT", "0.25"},
                             {"PHALANX_STALL_ACTION", "warn"},
                             {"PHALANX_SUSPECT_AFTER_MS", "1500"},
                             {"PHALANX_ON_LOSS", "restart,fail"},
                             {"PHALANX_CHECKPOINT_EVERY", "10"},
                             {"PHALANX_LOG", "info"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->world_size, 8);
  EXPECT_EQ(options->on_loss, "restart,fail");
  EXPECT_EQ(options->checkpoint_every, 10);
  EXPECT_EQ(options->local_world_size, 4);
  EXPECT_EQ(options->agent, "a");
  EXPECT_TRUE(options->supervised);
  EXPECT_EQ(options->unique_id, "u");
  EXPECT_EQ(options->address, "h:1");
  EXPECT_EQ(options->key_file, "k");
  EXPECT_EQ(options->transport, "ucx");
  EXPECT_EQ(options->bind_address, "eth0");
  EXPECT_EQ(options->shared_memory_limit, size_t{3} << 30);
  EXPECT_FALSE(options->cross_memory_attach);
  EXPECT_EQ(options->join_timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(options->stall_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(options->stall_action, "warn");
  EXPECT_EQ(options->operation_timeout, std::chrono::seconds(7));
  EXPECT_EQ(options->suspect_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(options->log, "info");
}

TEST(OptionsTest, ReadsTheVariablesOfOtherLaunchers) {
  const std::vector<std::map<std::string, std::string>> launchers = {
      {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}},
      {{"OMPI_COMM_WORLD_RANK", "1"},
       {"OMPI_COMM_WORLD_SIZE", "2"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}},
      {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}};
  for (const auto& launcher : launchers) {
    const auto options = From(launcher);
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->rank, 1) << launcher.begin()->first;
    EXPECT_EQ(options->world_size, 2) << launcher.begin()->first;
    EXPECT_EQ(options->local_world_size, launcher.size() == 3 ? 2 : 0);
  }
}

TEST(OptionsTest, ItsOwnVariablesWin) {
  const auto options = From({{"PHALANX_RANK", "5"}, {"RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "2"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 5);
}

TEST(OptionsTest, NamesTheVariableThatDoesNotParse) {
  const std::map<std::string, std::string> wrong = {{"RANK", "one"},
                                                    {"PHALANX_TRANSPORT", "tcp"},
                                                    {"PHALANX_SHARED_MEMORY", "lots"},
                                                    {"PHALANX_SHARED_MEMORY", "99999999999T"},
                                                    {"PHALANX_JOIN_TIMEOUT", "-1"},
                                                    {"PHALANX_LOG", "loud"},
                                                    {"PHALANX_ON_LOSS", "spare,spare"},
                                                    {"PHALANX_SUSPECT_AFTER_MS", "0.7"},
                                                    {"PHALANX_CROSS_MEMORY_ATTACH", "perhaps"}};
  for (const auto& [name, value] : wrong) {
    const auto options = From({{name, value}});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(name + "=" + value));
  }
}

TEST(OptionsTest, FlagsWinOverTheEnvironmentAndLeaveTheProgramsOwn) {
  std::vector<std::string> arguments = {
      "program", "--phalanx-rank=2", "--epochs", "3", "--phalanx-join-timeout=9",
      "--",      "--phalanx-rank=7"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  const auto options = Options::FromFlags(&argc, argv.data());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->rank, 2);
  EXPECT_EQ(options->join_timeout, std::chrono::seconds(9));
  std::vector<std::string> left(argv.begin(), argv.begin() + argc);
  EXPECT_THAT(left, ::testing::ElementsAre("program", "--epochs", "3", "--", "--phalanx-rank=7"));
  EXPECT_EQ(argv[static_cast<size_t>(argc)], nullptr);
}

TEST(OptionsTest, RefusesFlagsThatItDoesNotKnow) {
  std::string program = "program";
  std::string flag = "--phalanx-speed=9";
  char* argv[] = {program.data(), flag.data(), nullptr};
  int argc = 2;
  EXPECT_EQ(Options::FromFlags(&argc, argv).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(OptionsTest, ValidateNamesWhatIsMissing) {
  Options options;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("phalanx run"));
  options.world_size = 4;
  options.rank = 4;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("rank 4 isn't a rank"));
  options.rank = 3;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("PHALANX_UNIQUE_ID"));
  options.address = "host:1234";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("PHALANX_KEY_FILE"));
  options.key_file = "key";
  EXPECT_TRUE(options.Validate().ok());
  options.rank = -1;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("PHALANX_RANK"));
}

TEST(OptionsTest, SuspicionTakesAFewHeartbeats) {
  Options options;
  options.world_size = 1;
  options.agent = "a";
  options.suspect_after = std::chrono::milliseconds(300);
  EXPECT_EQ(options.Validate(), absl::OkStatus());
  options.suspect_after = std::chrono::milliseconds(299);
  EXPECT_EQ(options.Validate().message(),
            "PHALANX_SUSPECT_AFTER_MS is 299; 300 to 1000000000 are possible");
}

TEST(OptionsTest, AStallTimeoutIsAtLeastAMillisecond) {
  Options options;
  options.world_size = 1;
  options.agent = "a";
  EXPECT_EQ(options.Validate(), absl::OkStatus());
  options.stall_timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(options.Validate().message(),
            "PHALANX_STALL_TIMEOUT is 0 ms; 1 to 1000000000 are possible");
  EXPECT_THAT(From({{"PHALANX_STALL_ACTION", "ignore"}}).status().message(),
              HasSubstr("isn't one of abort, warn"));
}

}  // namespace
}  // namespace phalanx
