#include "keyed_record/etcd_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EtcdUrlTest, OneOrMoreEndpoints) {
  EXPECT_THAT(*ParseEtcdUrl("etcd://127.0.0.1:2379"), ElementsAre("127.0.0.1:2379"));
  EXPECT_THAT(*ParseEtcdUrl("etcd://a.example:1,b:65535,[::1]:2379/"),
              ElementsAre("a.example:1", "b:65535", "[::1]:2379"));
}

TEST(EtcdUrlTest, WhatIsWrongIsSaid) {
  for (const char* const url :
       {"", "localhost:2379", "http://localhost:2379", "etcd:localhost:2379"}) {
    const absl::Status status = ParseEtcdUrl(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), HasSubstr("wanted etcd://HOST:PORT")) << url;
  }
  for (const char* const endpoint :
       {"", "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:x", ":2379",
        "localhost:+1", "a b:1", "me@localhost:1", "::1:2379", "[]:1", "localhost:1/path"}) {
    const std::string url = std::string("etcd://good:1,") + endpoint;
    const absl::Status status = ParseEtcdUrl(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), HasSubstr(" isn't HOST:PORT")) << url;
  }
}

}  // namespace
}  // namespace phalanx::control
