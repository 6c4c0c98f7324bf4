#include "checkpoint_digest/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace phalanx::checkpoint {
namespace {

std::string Pattern(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 2654435761u) >> 11);
  return text;
}

// A bit at a time, as the polynomial defines it.
uint32_t PlainCrc32c(const std::string& text) {
  uint32_t crc = ~0u;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Crc32c, IsThePublishedOne) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(nullptr, 0), 0u);
}

TEST(Crc32c, EveryLengthAndAlignment) {
  const std::string text = Pattern(600);
  for (size_t bytes = 0; bytes < 500; bytes += 7) {
    for (size_t at = 0; at < 8; ++at) {
      EXPECT_EQ(Crc32c(text.data() + at, bytes), PlainCrc32c(text.substr(at, bytes)))
          << bytes << " bytes at " << at;
    }
  }
}

TEST(Crc32c, GoesOn) {
  const std::string text = Pattern(100);
  const uint32_t whole = Crc32c(text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t front = Crc32c(text.data(), cut);
    EXPECT_EQ(Crc32c(text.data() + cut, text.size() - cut, front), whole) << cut;
  }
}

TEST(Digest, IsXxh3OfOneHundredAndTwentyEightBits) {
  // The published value of no bytes, as `xxh128sum` prints it.
  EXPECT_EQ(ToHex(DigestOf(nullptr, 0)), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(ToHex(StreamingDigest().Value()), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, PiecesMakeNoDifference) {
  const std::string text = Pattern(5000);
  const Digest whole = DigestOf(text.data(), text.size());
  for (const size_t piece : {1, 13, 64, 240, 241, 1024, 4999}) {
    StreamingDigest digest;
    for (size_t at = 0; at < text.size(); at += piece) {
      digest.Add(text.data() + at, std::min(piece, text.size() - at));
    }
    EXPECT_EQ(digest.Value(), whole) << piece;
  }
}

TEST(Digest, ValueMayBeAskedMeanwhile) {
  const std::string text = Pattern(700);
  StreamingDigest digest;
  digest.Add(text.data(), 300);
  EXPECT_EQ(digest.Value(), DigestOf(text.data(), 300));
  StreamingDigest moved = std::move(digest);
  moved.Add(text.data() + 300, 400);
  EXPECT_EQ(moved.Value(), DigestOf(text.data(), 700));
}

TEST(Digest, EveryFlippedBitChangesIt) {
  std::string text = Pattern(300);
  const Digest whole = DigestOf(text.data(), text.size());
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    EXPECT_NE(DigestOf(text.data(), text.size()), whole) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
  }
}

TEST(Digest, Hex) {
  const Digest digest{.high = 0x0123456789abcdefu, .low = 0xfu};
  EXPECT_EQ(ToHex(digest), "0123456789abcdef000000000000000f");
  EXPECT_EQ(DigestFromHex(ToHex(digest)), digest);
  EXPECT_EQ(DigestFromHex("0123456789ABCDEF000000000000000F"), std::nullopt);
  EXPECT_EQ(DigestFromHex("0123456789abcdef000000000000000"), std::nullopt);
  EXPECT_EQ(DigestFromHex("0123456789abcdef00000000000000000"), std::nullopt);
  EXPECT_EQ(DigestFromHex("0123456789abcdef 00000000000000f"), std::nullopt);
  EXPECT_EQ(DigestFromHex("0x23456789abcdef000000000000000f"), std::nullopt);
}

}  // namespace
}  // namespace phalanx::checkpoint
