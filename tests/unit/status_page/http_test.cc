#include "control_status_page/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kBrowser[] =
    "GET /status.json?now HTTP/1.1\r\nhost: \tlocalhost:8080 \r\nAccept: */*\r\nX-Empty:\r\n\r\n";

int StatusOf(const std::string& bytes) { return ParseHttpHead(bytes).status; }

TEST(HttpTest, ABrowsersRequestIsRead) {
  const HttpHead head = ParseHttpHead(kBrowser);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.request, (HttpRequest{"GET", "/status.json", 1, "localhost:8080"}));
}

TEST(HttpTest, ItIsCompleteWithItsLastByteAndWhateverFollows) {
  const std::string whole = kBrowser;
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_EQ(StatusOf(whole.substr(0, cut)), 0) << cut;
  }
  EXPECT_EQ(ParseHttpHead(whole + "more\r\n\r\n").request, ParseHttpHead(whole).request);
}

TEST(HttpTest, WhatIsNoRequestIsRefused) {
  const std::string host = "Host: localhost\r\n\r\n";
  for (const std::string line :
       {"", "GET", "GET /", "GET / HTTP/1.1 ", "GET  HTTP/1.1", "G:T / HTTP/1.1",
        "GET http://localhost/ HTTP/1.1", "GET * HTTP/1.1", "GET /\x01 HTTP/1.1",
        "GET /\xc3\xa4 HTTP/1.1", "GET / HTTP/1", "GET / HTTP/1.x", "GET / HTTP/11.1",
        "GET / http/1.1", " GET / HTTP/1.1"}) {
    EXPECT_EQ(StatusOf(line + "\r\n" + host), 400) << line;
  }
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\n" + host), 505);
}

TEST(HttpTest, HeadersAreReadStrictly) {
  const std::string line = "GET / HTTP/1.1\r\n";
  const std::string host = "Host: localhost\r\n";
  for (const std::string field :
       {"no colon", ": no name", "a name: with a blank", "Name : value", " folded: value",
        "\tfolded", "Name: a\nb", "Name: a\rb", "Host: another", "H\xc3\xb6st: x"}) {
    EXPECT_EQ(StatusOf(line + host + field + "\r\n\r\n"), 400) << field;
  }
  EXPECT_EQ(StatusOf(line + host + std::string("Name: \0\r\n\r\n", 11)), 400);
  EXPECT_EQ(StatusOf(line + host + "Name: a\tb\xc3\xa4\r\n\r\n"), 200);
}

TEST(HttpTest, OnlyAnOldRequestNeedsNoHost) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 200);
}

TEST(HttpTest, AHeadHasALimit) {
  const std::string begin = "GET / HTTP/1.0\r\nName: ";
  const std::string fits = begin + std::string(kMaxHttpHeadBytes - begin.size() - 4, 'x');
  EXPECT_EQ(StatusOf(fits + "\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf(fits + "x\r\n\r\n"), 431);
  EXPECT_EQ(StatusOf(std::string(kMaxHttpHeadBytes, 'x')), 0);
  EXPECT_EQ(StatusOf(std::string(kMaxHttpHeadBytes + 1, 'x')), 431);
}

int DecisionFor(const std::string& method, const std::string& path, const std::string& host) {
  return Decide({method, path, 1, host}).status;
}

TEST(HttpTest, WhatThereIsIsShown) {
  EXPECT_EQ(Decide({"GET", "/", 0, std::nullopt}).resource, StatusResource::kPage);
  EXPECT_EQ(Decide({"GET", "/status.json", 1, "localhost"}).resource, StatusResource::kJson);
  EXPECT_EQ(Decide({"GET", "/metrics", 1, "127.0.0.1:9"}).resource, StatusResource::kMetrics);
  EXPECT_EQ(Decide({"GET", "/healthz", 1, "[::1]:9"}).resource, StatusResource::kHealth);
  EXPECT_TRUE(Decide({"GET", "/", 1, "localhost"}).body);
  EXPECT_FALSE(Decide({"HEAD", "/", 1, "localhost"}).body);
  EXPECT_EQ(DecisionFor("GET", "/favicon.ico", "localhost"), 404);
  EXPECT_EQ(DecisionFor("GET", "/status.json/", "localhost"), 404);
  EXPECT_EQ(DecisionFor("POST", "/", "localhost"), 405);
  EXPECT_EQ(DecisionFor("POST", "/nothing", "localhost"), 404);
}

TEST(HttpTest, OnlyThisMachinesNamesAreAnswered) {
  for (const std::string host :
       {"localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:", "[::1]", "[::1]:8080"}) {
    EXPECT_EQ(DecisionFor("GET", "/", host), 200) << host;
  }
  for (const std::string host :
       {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "",
        ":80", "localhost:80:80", "localhost:http", "::1", "[::1", "127.0.0.2", "localhost@evil"}) {
    EXPECT_EQ(DecisionFor("GET", "/status.json", host), 403) << host;
  }
}

TEST(HttpTest, AnAnswerSaysHowLongItIsAndThatItIsTheLast) {
  const std::string answer = ToHttp({404, "text/plain", "gone\n", true});
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\nConnection: close\r\n\r\ngone\n"));
  const std::string head = ToHttp({200, "text/plain", "gone\n", false});
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_THAT(ToHttp({405, "text/plain", "", true}), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace phalanx::control
