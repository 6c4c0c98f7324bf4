// `phalanx bench`: every collective checks out, over every transport, and the figures are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Bench(const std::string& collective, std::vector<std::string> flags) {
  std::vector<std::string> command = {PHALANX_COMMAND, "bench", collective, "--loop-ms", "1",
                                      "--warmup",      "1",     "--check"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

class BenchTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BenchTest, EveryCollectiveChecksOut) {
  const std::string transport = GetParam();
  const std::string module = std::string(MODULES) + "/libphalanx_" + transport + ".so";
  if (transport != "shm" && access(module.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "built without the " << transport << " transport";
  }
  for (const char* collective : {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                 "reduce", "gather", "scatter", "all_to_all", "send_receive"}) {
    Subprocess run(Bench(collective, {"--ranks", "3", "--min", "24", "--max", "1M", "--factor",
                                      "64", "--buffers", "both", "--transport", transport}));
    EXPECT_EQ(run.AwaitExitCode(), 0) << collective << ": " << run.error();
    EXPECT_EQ(Count(run.output(), "# Out of bounds values : 0 OK"), 1) << run.output();
  }
}

INSTANTIATE_TEST_SUITE_P(Each, BenchTest, ::testing::Values("shm", "ucx", "ofi"),
                         [](const auto& at) { return std::string(at.param); });

TEST(Bench, EveryTypeAndReductionChecksOut) {
  for (const char* type : {"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16",
                           "float32", "float64", "bfloat16", "f8e4m3", "f8e5m2"}) {
    for (const char* op : {"sum", "prod", "max", "min", "avg", "mulsum"}) {
      Subprocess run(Bench("all_reduce", {"--ranks", "2", "--min", "1K", "--max", "64K", "--factor",
                                          "64", "--type", type, "--op", op}));
      EXPECT_EQ(run.AwaitExitCode(), 0) << type << " " << op << ": " << run.output() << run.error();
    }
  }
}

TEST(Bench, WritesJson) {
  char folder[] = "/tmp/phalanx_bench.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/figures.json";
  Subprocess run(Bench("all_reduce", {"--ranks", "2", "--max", "64", "--json", path}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(Count(text.str(), "\"time_us\""), 8) << text.str();
  EXPECT_THAT(text.str(), HasSubstr("\"type\": \"float32\""));
}

TEST(Bench, WrongFlagsAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--type", "float99"}, "float99"},
      {{"--min", "many"}, "many"},
      {{"--min", "64", "--max", "8"}, "--min"},
      {{"--ranks", "0"}, "--ranks"}};
  for (const auto& [flags, text] : cases) {
    Subprocess run(Bench("all_reduce", flags));
    EXPECT_EQ(run.AwaitExitCode(), 2);
    EXPECT_THAT(run.error(), HasSubstr(text));
  }
}

}  // namespace
}  // namespace phalanx::testing_support
