#include "control_supervisor/output_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "control_supervisor/spawn.h"

namespace phalanx::control {
namespace {

struct Channel {
  Fd reader;
  Fd writer;
};

Channel MakePipe() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Channel MakeSockets() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

class OutputSinkTest : public testing::Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  // Writes far more than the kernel buffers, and reads it back in between.
  void CheckBackPressure(const Channel& channel) {
    const auto sink = OutputSink::Create(loop_, channel.writer.get());
    std::string text;
    while (text.size() < 3 * OutputSink::kFullBytes) text += std::to_string(text.size()) + "\n";
    sink->Write(text);
    EXPECT_TRUE(sink->full());
    EXPECT_EQ(fcntl(channel.writer.get(), F_GETFL) & O_NONBLOCK, 0) << "it isn't ours alone";
    bool writable = false;
    bool empty = false;
    sink->WhenWritable([&] { writable = true; });
    sink->WhenEmpty([&] { empty = true; });
    std::string got;
    char bytes[65536];
    while (got.size() < text.size()) {
      const ssize_t count = read(channel.reader.get(), bytes, sizeof(bytes));
      ASSERT_GT(count, 0);
      got.append(bytes, static_cast<size_t>(count));
      loop_.restart();
      loop_.poll();
    }
    EXPECT_EQ(got, text);
    EXPECT_TRUE(sink->empty());
    EXPECT_TRUE(writable);
    EXPECT_TRUE(empty);
  }

  asio::io_context loop_;
};

TEST_F(OutputSinkTest, PipeNeverBlocksUs) { CheckBackPressure(MakePipe()); }

TEST_F(OutputSinkTest, SocketNeverBlocksUs) { CheckBackPressure(MakeSockets()); }

TEST_F(OutputSinkTest, BreaksWhenNobodyReads) {
  Channel channel = MakePipe();
  const auto sink = OutputSink::Create(loop_, channel.writer.get());
  channel.reader.Reset();
  sink->Write("text");
  EXPECT_TRUE(sink->broken());
  EXPECT_TRUE(sink->empty());
}

TEST_F(OutputSinkTest, WritesFilesDirectly) {
  std::string path = testing::TempDir() + "/output_sink_test_XXXXXX";
  const Fd file(mkstemp(path.data()));
  ASSERT_GE(file.get(), 0);
  unlink(path.c_str());
  const OutputSink::Pair pair = OutputSink::CreatePair(loop_, file.get(), file.get());
  EXPECT_EQ(pair.output, pair.error) << "one file, one sink";
  pair.output->Write("one\n");
  pair.error->Write("two\n");
  EXPECT_TRUE(pair.output->empty());
  char bytes[16] = {};
  EXPECT_EQ(pread(file.get(), bytes, sizeof(bytes), 0), 8);
  EXPECT_STREQ(bytes, "one\ntwo\n");
}

TEST_F(OutputSinkTest, DifferentFilesHaveDifferentSinks) {
  const Channel one = MakePipe();
  const Channel two = MakePipe();
  const OutputSink::Pair pair = OutputSink::CreatePair(loop_, one.writer.get(), two.writer.get());
  EXPECT_NE(pair.output, pair.error);
}

TEST_F(OutputSinkTest, AbandonLetsTheLoopEnd) {
  const Channel channel = MakePipe();
  const auto sink = OutputSink::Create(loop_, channel.writer.get());
  sink->Write(std::string(2 * OutputSink::kFullBytes, 'x'));
  sink->Abandon();
  loop_.run();
  EXPECT_TRUE(sink->empty());
}

}  // namespace
}  // namespace phalanx::control
