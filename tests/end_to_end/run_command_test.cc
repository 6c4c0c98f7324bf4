// `phalanx run` with shells as workers: what a user sees, and what is left when something dies.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

// `phalanx run OPTIONS… -- sh -c SCRIPT`
std::vector<std::string> RunShell(std::vector<std::string> options, const std::string& script) {
  options.insert(options.begin(), {PHALANX_COMMAND, "run"});
  options.insert(options.end(), {"--", "sh", "-c", script});
  return options;
}

std::set<std::string> Lines(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

void ExpectGone(const Subprocess& run) {
  for (const pid_t pid : NumbersAfter(run.output(), "pid ")) {
    EXPECT_TRUE(AwaitGone(pid)) << "process " << pid << " is left";
  }
}

TEST(Run, LabelsLinesAndGivesPlaces) {
  Subprocess run(RunShell({"-n", "3"},
                          "echo $PHALANX_RANK/$PHALANX_WORLD_SIZE $PHALANX_LOCAL_RANK/"
                          "$PHALANX_LOCAL_WORLD_SIZE $RANK/$WORLD_SIZE $LOCAL_RANK/"
                          "$LOCAL_WORLD_SIZE; echo problem >&2; printf unended"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(
      Lines(run.output()),
      (std::set<std::string>{"[0] 0/3 0/3 0/3 0/3", "[1] 1/3 1/3 1/3 1/3", "[2] 2/3 2/3 2/3 2/3",
                             "[0] unended", "[1] unended", "[2] unended"}));
  EXPECT_EQ(Lines(run.error()),
            (std::set<std::string>{"[0] problem", "[1] problem", "[2] problem"}));
}

TEST(Run, PlainOutputIsTheWorkersOwn) {
  Subprocess run(RunShell({"-n", "1", "--no-label"}, "printf 'a\\0b\\n\\377unended'"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(run.output(), std::string("a\0b\n\377unended", 12));
}

TEST(Run, DefaultIsOneForEachCore) {
  Subprocess run(RunShell({}, "echo of $WORLD_SIZE cores $(nproc)"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  const std::vector<int> ranks = NumbersAfter(run.output(), "of ");
  ASSERT_FALSE(ranks.empty());
  EXPECT_EQ(ranks.size(), static_cast<size_t>(ranks[0]));
  EXPECT_EQ(ranks[0], NumbersAfter(run.output(), "cores ")[0]);
}

TEST(Run, OptionsOfTheProgramAreItsOwn) {
  Subprocess run({PHALANX_COMMAND, "run", "-np", "1", "echo", "-n", "--help", "--", "-x"});
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(run.output(), "[0] --help -- -x\n") << "echo -n ends no line, the label does";
}

TEST(Run, PassesVariables) {
  Subprocess::Options options;
  options.environment = {{"OURS", "mine"}};
  Subprocess run(
      RunShell({"-n1", "-x", "A=b c", "--env=OURS", "-x", "RANK=7"}, "echo $A $OURS $RANK"),
      options);
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(run.output(), "[0] b c mine 0\n");
}

TEST(Run, FirstWorkerReadsOurInput) {
  Subprocess::Options options;
  options.input = "text\n";
  Subprocess run(RunShell({"-n", "2"}, "cat; echo end"), options);
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(Lines(run.output()), (std::set<std::string>{"[0] text", "[0] end", "[1] end"}));
}

TEST(Run, ExitCodeIsOfTheFirstThatFails) {
  Subprocess run(RunShell({"-n", "3"}, "[ $RANK = 1 ] && exit 42; exec sleep 1000"));
  EXPECT_EQ(run.AwaitExitCode(), 42);
  EXPECT_EQ(Count(run.error(), "rank 1 (pid "), 1) << run.error();
  EXPECT_EQ(Count(run.error(), ") exited with code 42; ending the job\n"), 1) << run.error();
}

TEST(Run, ExitCodeOfADeathBySignal) {
  Subprocess run(RunShell({"-n", "2"}, "[ $RANK = 1 ] && kill -9 $$; exec sleep 1000"));
  EXPECT_EQ(run.AwaitExitCode(), 137);
  EXPECT_EQ(Count(run.error(), "was killed by signal 9 (SIGKILL); ending the job\n"), 1)
      << run.error();
}

TEST(Run, WrongWords) {
  struct Case {
    std::vector<std::string> words;
    int exit_code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"run", "-n", "0", "true"}, 2, "--ranks"},
      {{"run", "-n", "two", "true"}, 2, "--ranks"},
      {{"run", "-n"}, 2, "--ranks"},
      {{"run", "--no-such-option", "true"}, 2, "--no-such-option"},
      {{"run"}, 2, "no program to run"},
      {{"run", "-n", "2", "--"}, 2, "no program to run"},
      {{"run", "no-such-program"}, 127, "no such program: 'no-such-program'"},
      {{"run", "./no-such-program"}, 127, "no such program: './no-such-program'"},
      {{"run", "/etc/passwd"}, 126, "'/etc/passwd' is not executable"},
      {{"run", "/"}, 126, "'/' is a directory"},
      {{"no-such-command"}, 2, "no-such-command"},
      {{}, 2, "subcommand"},
  };
  for (const Case& wrong : cases) {
    std::vector<std::string> words = wrong.words;
    words.insert(words.begin(), PHALANX_COMMAND);
    Subprocess run(words);
    EXPECT_EQ(run.AwaitExitCode(), wrong.exit_code) << run.error();
    EXPECT_EQ(run.output(), "");
    EXPECT_NE(run.error().find(wrong.says), std::string::npos) << run.error();
  }
}

TEST(Run, HelpAndVersion) {
  Subprocess version({PHALANX_COMMAND, "--version"});
  EXPECT_EQ(version.AwaitExitCode(), 0);
  EXPECT_EQ(version.output().rfind("phalanx ", 0), 0u) << version.output();
  Subprocess help({PHALANX_COMMAND, "run", "--help"});
  EXPECT_EQ(help.AwaitExitCode(), 0);
  EXPECT_NE(help.output().find("phalanx run -n 4 -- train"), std::string::npos) << help.output();
}

TEST(Run, MuchOutputOfAllRanks) {
  // 2 x 10 MB, standard output and standard error at once.
  Subprocess run(RunShell({"-n", "2"}, "seq 100000 1000000 >&2 & seq 100000 1000000; wait"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  for (const std::string* text : {&run.output(), &run.error()}) {
    EXPECT_EQ(Count(*text, "[0] "), 900001);
    EXPECT_EQ(Count(*text, "[1] "), 900001);
    EXPECT_EQ(text->size(), 2 * (900000 * (4 + 7) + (4 + 8)));
  }
}

TEST(Run, AnEndlessLine) {
  Subprocess run(RunShell({"-n", "1"}, "head -c 10000000 /dev/zero"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(std::count(run.output().begin(), run.output().end(), '\0'), 10000000);
}

TEST(Run, OutputThatNobodyTakesStopsTheWorkers) {
  Subprocess run(RunShell({"-n", "2"}, "exec yes"));
  ASSERT_TRUE(run.AwaitText("[0] y\n"));
  run.CloseOutput();  // as `phalanx run … | head` does
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGPIPE);
}

TEST(Run, InterruptedWhileItsOutputIsStuck) {
  Subprocess run(RunShell({"-n", "1"}, "exec yes"));
  ASSERT_TRUE(run.AwaitText("[0] y\n"));
  // Nobody reads now; the launcher still hears the signal.
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 130);
}

TEST(Run, PassesSignalsOn) {
  Subprocess run(
      RunShell({"-n", "2"},
               "trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo hup; exit 0' HUP;"
               "echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(run.AwaitText("ready\n", 2));
  run.Signal(SIGUSR1);
  ASSERT_TRUE(run.AwaitText("usr1\n", 2));
  run.Signal(SIGUSR2);
  ASSERT_TRUE(run.AwaitText("usr2\n", 2));
  run.Signal(SIGHUP);
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(Count(run.output(), "hup\n"), 2);
}

TEST(Run, InterruptEndsTheJob) {
  Subprocess run(RunShell({"-n", "2"}, "echo pid $$; exec sleep 1000"));
  ASSERT_TRUE(run.AwaitText("pid ", 2));
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 130);
  ExpectGone(run);
}

TEST(Run, GracePeriodThenSigkill) {
  Subprocess run(RunShell({"-n", "2", "--grace-ms", "100"},
                          "trap '' INT TERM; echo pid $$; while :; do sleep 0.05; done"));
  ASSERT_TRUE(run.AwaitText("pid ", 2));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.AwaitExitCode(), 143);
  ExpectGone(run);
}

TEST(Run, SecondInterruptKillsAtOnce) {
  Subprocess run(RunShell({"-n", "2", "--grace-ms", "3600000"},
                          "trap 'echo got' INT; echo pid $$; while :; do sleep 0.05; done"));
  ASSERT_TRUE(run.AwaitText("pid ", 2));
  run.Signal(SIGINT);
  ASSERT_TRUE(run.AwaitText("got\n", 2));
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 130);
  ExpectGone(run);
}

TEST(Run, StopsAndContinues) {
  Subprocess run(RunShell({"-n", "1"},
                          "trap 'echo continued' CONT; echo ready; while :; do sleep "
                          "0.05; done"));
  ASSERT_TRUE(run.AwaitText("ready\n"));
  run.Signal(SIGTSTP);
  int status = 0;
  ASSERT_EQ(waitpid(run.pid(), &status, WUNTRACED), run.pid());
  EXPECT_TRUE(WIFSTOPPED(status));
  run.Signal(SIGCONT);
  ASSERT_TRUE(run.AwaitText("continued\n"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.AwaitExitCode(), 143);
}

TEST(Run, SigkillOfTheLauncherTakesAllWithIt) {
  // A worker itself, one behind a shell, and one that the shell has put in the background.
  Subprocess run(RunShell({"-n", "2"},
                          "sleep 1000 & echo pid $!; echo pid $$;"
                          "sh -c 'echo pid $$; sleep 1000; true'; true"));
  ASSERT_TRUE(run.AwaitText("pid ", 6));
  run.Signal(SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137);
  ExpectGone(run);
}

TEST(Run, WhatWorkersLeaveBehindIsKilled) {
  Subprocess run(RunShell({"-n", "2"},
                          "sleep 1000 & echo pid $!; setsid sh -c 'echo pid $$; exec sleep 1000' &"
                          "sh -c 'setsid sleep 1000 & echo pid $!'; wait $!; exit 0"));
  ASSERT_TRUE(run.AwaitText("pid ", 6));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.AwaitExitCode(), 143);
  ExpectGone(run);
}

TEST(Run, DaemonsOfAFinishedWorkerAreKilled) {
  Subprocess run(RunShell({"-n", "2"}, "setsid sleep 1000 & echo pid $!; exit 0"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(NumbersAfter(run.output(), "pid ").size(), 2u);
  ExpectGone(run);
}

}  // namespace
}  // namespace phalanx::testing_support
