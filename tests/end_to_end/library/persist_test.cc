// `phalanx run --persist`: a job that is lost as a whole goes on from its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kStepsPerEpoch = 24;

class Persist : public testing::Test {
 protected:
  Persist() {
    std::string name = testing::TempDir() + "/persist.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = std::filesystem::canonical(name);
    folder_ = root_ + "/checkpoints";
  }
  ~Persist() override { std::filesystem::remove_all(root_); }

  std::vector<std::string> Train(int epochs, const std::vector<std::string>& options) const {
    std::vector<std::string> command = {PHALANX_COMMAND, "run"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", "train", "--epochs", std::to_string(epochs)});
    return command;
  }
  std::vector<std::string> Persisting(int epochs, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"-n", "4", "--persist", folder_});
    return Train(epochs, options);
  }
  void ExpectUndisturbedWeights(const Subprocess& run, int epochs,
                                const std::vector<std::string>& options = {"-n", "4"}) {
    std::string& expected = undisturbed_[epochs];
    if (expected.empty()) {
      Subprocess undisturbed(Train(epochs, options));
      EXPECT_EQ(undisturbed.AwaitExitCode(), 0) << undisturbed.error();
      expected = Digests(undisturbed.output()).at(0);
    }
    EXPECT_EQ(Digests(run.output()), std::vector<std::string>(4, expected)) << run.error();
  }

  std::string Checkpoint(const std::vector<std::string>& words, int exit_code) const {
    std::vector<std::string> command = {PHALANX_COMMAND, "checkpoint"};
    command.insert(command.end(), words.begin(), words.end());
    Subprocess run(command);
    EXPECT_EQ(run.AwaitExitCode(), exit_code) << run.error();
    return run.output();
  }
  // How many versions there are, every one of them whole.
  int CountWhole() const {
    const std::string list = Checkpoint({"ls", folder_}, 0);
    const int complete = Count(list, "  complete");
    EXPECT_EQ(Count(list, "damaged"), 0) << list;
    const std::string verified = Checkpoint({"verify", folder_}, complete > 0 ? 0 : 1);
    EXPECT_EQ(Count(verified, ": whole"), complete) << verified;
    return complete;
  }
  // Of a cold start; -1: it wasn't one.
  int64_t ColdStep(const Subprocess& run) const {
    const std::string words = "cold start from " + folder_ + ": step ";
    const size_t at = run.error().find(words);
    return at == std::string::npos ? -1 : std::atoll(run.error().c_str() + at + words.size());
  }
  // The newest version's folder.
  std::string Newest() const {
    const std::string list = Checkpoint({"ls", folder_, "--json"}, 0);
    const std::string key = "\"folder\": \"";
    const size_t at = list.find(key) + key.size();
    return list.substr(at, list.find('"', at) - at);
  }
  static void FlipABit(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(bytes.empty()) << path;
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string root_;
  std::string folder_;
  std::map<int, std::string> undisturbed_;
};

TEST_F(Persist, AJobThatIsKilledAsAWholeGoesOnFromItsFiles) {
  constexpr int kEpochs = 40;
  Subprocess killed(Persisting(kEpochs));
  ASSERT_TRUE(killed.AwaitText("epoch  5 "));
  killed.Signal(SIGKILL);
  killed.AwaitEnd();
  ASSERT_GT(CountWhole(), 0);
  Subprocess run(Persisting(kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr(", written by job "));
  EXPECT_GT(ColdStep(run), kStepsPerEpoch) << run.error();
  EXPECT_THAT(run.output(), Not(HasSubstr("epoch  1 ")));
  ExpectUndisturbedWeights(run, kEpochs);
}

TEST_F(Persist, KilledAtAnyMomentNothingPartialIsSeen) {
  constexpr int kEpochs = 40;
  int64_t last = -1;
  for (int attempt = 0; attempt < 5; ++attempt) {
    Subprocess killed(Persisting(kEpochs, {"--persist-keep", attempt % 2 == 0 ? "1" : "all"}));
    // Each comes further than the one before, and none to the end.
    const std::string epoch = std::to_string(3 + attempt * 5);
    ASSERT_TRUE(killed.AwaitText("epoch " + std::string(epoch.size() == 1 ? " " : "") + epoch));
    killed.Signal(SIGKILL);
    killed.AwaitEnd();
    const int64_t step = ColdStep(killed);
    EXPECT_EQ(step == -1, attempt == 0) << killed.error();
    EXPECT_GE(step, last);
    last = step;
    EXPECT_GT(CountWhole(), 0);
  }
  Subprocess run(Persisting(kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_GT(ColdStep(run), last);
  ExpectUndisturbedWeights(run, kEpochs);
  EXPECT_LE(CountWhole(), 2);
}

TEST_F(Persist, WhenAFileIsDamagedAllRanksGoOnFromTheOlderVersion) {
  Subprocess first(Persisting(2, {"--persist-keep", "3"}));
  ASSERT_EQ(first.AwaitExitCode(), 0) << first.error();
  ASSERT_GE(CountWhole(), 2);
  const std::string newest = Newest();
  const std::string path = newest + "/rank-00002-of-00004.safetensors";
  FlipABit(path);
  Subprocess run(Persisting(3));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr(path + ": isn't what was saved"));
  EXPECT_THAT(run.error(), HasSubstr("no good copy is left of the shard of rank 2"));
  EXPECT_GE(ColdStep(run), 0);
  EXPECT_EQ(newest.find("/version-" + std::to_string(ColdStep(run)) + "-"), std::string::npos);
  ExpectUndisturbedWeights(run, 3);
}

TEST_F(Persist, WhenNothingIsWholeTheJobDoesNotBeginAnew) {
  Subprocess first(Persisting(2, {"--persist-keep", "1"}));
  ASSERT_EQ(first.AwaitExitCode(), 0) << first.error();
  FlipABit(Newest() + "/rank-00000-of-00004.safetensors");
  Subprocess run(Persisting(3));
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr("no saved version is whole any more"));
}

TEST_F(Persist, TheLastVersionIsWrittenAlsoWhenItIsNotDue) {
  Subprocess run(Persisting(2, {"--persist-every", "1000000"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(run.error(), "");
  EXPECT_EQ(CountWhole(), 1);
  Subprocess again(Persisting(2));
  ASSERT_EQ(again.AwaitExitCode(), 0) << again.error();
  // The last steps may have been skipped while one was on its way.
  EXPECT_GT(ColdStep(again), kStepsPerEpoch) << again.error();
  ExpectUndisturbedWeights(again, 2);
}

TEST_F(Persist, AnotherNumberOfRanksIsAnErrorThatNamesBoth) {
  Subprocess first(Persisting(1));
  ASSERT_EQ(first.AwaitExitCode(), 0) << first.error();
  Subprocess run(Train(2, {"-n", "3", "--persist", folder_}));
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr(folder_ + " holds checkpoints of 4 ranks"));
  EXPECT_THAT(run.error(), HasSubstr("this job has 3"));
}

TEST_F(Persist, ALostRankIsReplacedMeanwhile) {
  Subprocess run(Persisting(20, {"--spares", "2", "--fault", "kill rank=2 at=step:120", "--fault",
                                 "kill rank=0 at=step:300"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.error(), "recovered in "), 2) << run.error();
  ExpectUndisturbedWeights(run, 20);
  EXPECT_EQ(CountWhole(), 2);
  Subprocess more(Persisting(21));
  ASSERT_EQ(more.AwaitExitCode(), 0) << more.error();
  EXPECT_GT(ColdStep(more), 300);
  ExpectUndisturbedWeights(more, 21);
}

// Before the new job has committed anything, what it began with is in files alone.
TEST_F(Persist, ARankThatIsLostRightAfterAColdStart) {
  Subprocess first(Persisting(2));
  ASSERT_EQ(first.AwaitExitCode(), 0) << first.error();
  const std::string newest = Newest();
  const std::string word = "/version-";
  const int64_t step = std::atoll(newest.c_str() + newest.find(word) + word.size());
  const std::string next = std::to_string(step + 1);
  Subprocess run(Persisting(3, {"--spares", "1", "--fault", "kill rank=1 at=step:" + next}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("all ranks go on from step " + next)) << run.error();
  ExpectUndisturbedWeights(run, 3);
}

TEST_F(Persist, OnSeveralNodes) {
  const std::vector<std::string> nodes = {"--nodes", "localhost:2,localhost:2"};
  std::vector<std::string> options = nodes;
  options.insert(options.end(), {"--persist", folder_});
  Subprocess killed(Train(20, options));
  ASSERT_TRUE(killed.AwaitText("epoch  5 "));
  killed.Signal(SIGKILL);
  killed.AwaitEnd();
  ASSERT_GT(CountWhole(), 0);
  Subprocess run(Train(20, options));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_GT(ColdStep(run), kStepsPerEpoch) << run.error();
  ExpectUndisturbedWeights(run, 20, nodes);
}

TEST_F(Persist, TheJobGoesOnWhenTheFolderIsGone) {
  Subprocess run(Persisting(20));
  ASSERT_TRUE(run.AwaitText("epoch  2 "));
  std::filesystem::rename(folder_, folder_ + ".away");
  std::ofstream(folder_) << "a file";
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr(" isn't written: " + folder_));
  EXPECT_THAT(run.error(), HasSubstr("; the job goes on"));
  ExpectUndisturbedWeights(run, 20);
}

TEST_F(Persist, TheJobGoesOnWhenTheDiskIsFull) {
  std::filesystem::create_directories(folder_);
  const std::string mount = "mount -t tmpfs -o size=64k tmpfs '" + folder_ + "'";
  Subprocess probe({"unshare", "-m", "sh", "-c", mount});
  if (probe.AwaitExitCode() != 0) {
    GTEST_SKIP() << "this machine lets us mount nothing: " << probe.error();
  }
  std::string command = mount + " && exec";
  for (const std::string& word : Persisting(3)) command += " '" + word + "'";
  Subprocess run({"unshare", "-m", "sh", "-c", command});
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr(" isn't written: " + folder_));
  EXPECT_THAT(run.error(), HasSubstr("No space left on device"));
  ExpectUndisturbedWeights(run, 3);
}

TEST_F(Persist, WrongOptionsAreUsageErrors) {
  std::ofstream(root_ + "/file") << "a file";
  const std::vector<std::vector<std::string>> wrong = {
      {"--persist", root_ + "/file"},
      {"--persist", root_ + "/file/below"},
      {"--persist-every", "2"},
      {"--persist", folder_, "--persist-every", "0"},
      {"--persist", folder_, "--persist-keep", "0"},
      {"--persist", folder_, "--persist-keep", "none"},
  };
  for (const std::vector<std::string>& options : wrong) {
    Subprocess run(Train(1, options));
    EXPECT_EQ(run.AwaitExitCode(), 2) << options.back();
    EXPECT_THAT(run.error(), HasSubstr("--persist"));
  }
  Subprocess relative(Train(1, {"-n", "1", "--persist", "/proc/none"}));
  EXPECT_EQ(relative.AwaitExitCode(), 2);
  EXPECT_THAT(relative.error(), HasSubstr("--persist: '/proc/none': can't be made"));
}

TEST_F(Persist, TheVariablesMeanTheSame) {
  Subprocess run(Train(1, {"-n", "2"}), {.environment = {{"PHALANX_PERSIST", folder_},
                                                         {"PHALANX_PERSIST_EVERY", "1000"},
                                                         {"PHALANX_PERSIST_KEEP", "all"}},
                                         .input = ""});
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(CountWhole(), 1);
}

}  // namespace
}  // namespace phalanx::testing_support
