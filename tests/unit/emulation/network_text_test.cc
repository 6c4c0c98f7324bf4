#include "control_emulation/network_text.h"

#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

TEST(NetworkText, Links) {
  EXPECT_EQ(HubLinks({7, 9}),
            "link set dev lo up\n"
            "link add name hub0 address 02:70:68:78:00:fe type bridge stp_state 0 "
            "mcast_snooping 0\n"
            "link set dev hub0 addrgenmode none\n"
            "address add 10.0.0.254/24 dev hub0\n"
            "link set dev hub0 up\n"
            "link add name port0 type veth peer name eth0 address 02:70:68:78:00:01 netns "
            "/proc/self/fd/7\n"
            "link set dev port0 addrgenmode none\n"
            "link set dev port0 master hub0 up\n"
            "link add name port1 type veth peer name eth0 address 02:70:68:78:00:02 netns "
            "/proc/self/fd/9\n"
            "link set dev port1 addrgenmode none\n"
            "link set dev port1 master hub0 up\n");
  EXPECT_EQ(NodeLinks(1),
            "link set dev lo up\n"
            "link set dev eth0 addrgenmode none\n"
            "address add 10.0.0.2/24 dev eth0\n"
            "link set dev eth0 up\n");
}

// 50 ms of a link, at least a burst, beyond the burst.
TEST(NetworkText, Queues) {
  EXPECT_EQ(NodeQueues({{1}, 1'000'000'000}),
            "qdisc add dev eth0 root tbf rate 1000000000bit burst 131072b limit 6381072b\n");
  EXPECT_EQ(NodeQueues({{1}, 64'000}),
            "qdisc add dev eth0 root tbf rate 64000bit burst 131072b limit 262144b\n");
  EXPECT_EQ(HubQueues({{2}, 200'000'000}),
            "qdisc add dev port0 root handle 1: htb default 1\n"
            "class add dev port0 parent 1: classid 1:1 htb rate 200000000bit burst 131072b cburst "
            "131072b quantum 60000\n"
            "qdisc add dev port0 parent 1:1 bfifo limit 1381072\n");
}

}  // namespace
}  // namespace phalanx::control
