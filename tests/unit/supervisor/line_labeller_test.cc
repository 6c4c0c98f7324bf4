#include "control_supervisor/line_labeller.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace phalanx::control {
namespace {

std::string Feed(LineLabeller& labeller, std::string_view bytes) {
  std::string out;
  labeller.Feed(bytes, &out);
  return out;
}

std::string Finish(LineLabeller& labeller) {
  std::string out;
  labeller.Finish(&out);
  return out;
}

TEST(LineLabeller, LabelsEveryLineOnce) {
  LineLabeller labeller("[2] ");
  EXPECT_EQ(Feed(labeller, "one\ntwo\n\nthr"), "[2] one\n[2] two\n[2] \n");
  EXPECT_EQ(Feed(labeller, "ee"), "");
  EXPECT_EQ(Feed(labeller, "\n"), "[2] three\n");
  EXPECT_EQ(Finish(labeller), "");
}

TEST(LineLabeller, EndsTheLastLine) {
  LineLabeller labeller("[2] ");
  EXPECT_EQ(Feed(labeller, "end"), "");
  EXPECT_EQ(Finish(labeller), "[2] end\n");
  EXPECT_EQ(Finish(labeller), "");
}

TEST(LineLabeller, AddsNothingWithoutLabel) {
  LineLabeller labeller("");
  EXPECT_EQ(Feed(labeller, "one\ntw"), "one\n");
  EXPECT_EQ(Feed(labeller, "o\nend"), "two\n");
  EXPECT_EQ(Finish(labeller), "end");
}

TEST(LineLabeller, CutsLinesThatNeverEnd) {
  LineLabeller labeller("[2] ", 4);
  EXPECT_EQ(Feed(labeller, "abcdefghij\n"), "[2] abcd\n[2] efgh\n[2] ij\n");
  EXPECT_EQ(Feed(labeller, "abcd\n"), "[2] abcd\n") << "a line of the longest length is whole";
  EXPECT_EQ(Feed(labeller, "abcde"), "[2] abcd\n");
  EXPECT_EQ(Finish(labeller), "[2] e\n");
  LineLabeller plain("", 4);
  EXPECT_EQ(Feed(plain, "abcdefghij\n"), "abcdefghij\n");
}

TEST(LineLabeller, PassesBinaryBytes) {
  LineLabeller labeller("[2] ");
  const std::string bytes("\0\xff\r\x1b", 4);
  EXPECT_EQ(Feed(labeller, bytes + "\n"), "[2] " + bytes + "\n");
}

TEST(LineLabeller, CutsDontMatter) {
  const char* given = std::getenv("PHALANX_TEST_SEED");
  const unsigned seed =
      given != nullptr ? static_cast<unsigned>(std::atol(given)) : std::random_device()();
  std::cout << "PHALANX_TEST_SEED=" << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (unsigned i = random() % 200; i > 0; --i) text.push_back("ab\n"[random() % 3]);
    LineLabeller whole("> ", 7);
    std::string expected = Feed(whole, text);
    expected += Finish(whole);
    LineLabeller pieces("> ", 7);
    std::string got;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 5;
      got += Feed(pieces, std::string_view(text).substr(at, length));
      at += length;
    }
    got += Finish(pieces);
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace phalanx::control
