// Peers that mean harm or make mistakes: each is dropped with a log line, and the job goes on.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "control_channel/tls.h"
#include "control_process/fd.h"
#include "control_protocol/frame.h"
#include "control_protocol/message.h"
#include "job_fixture.h"

namespace phalanx::control {
namespace {

class HostileTest : public JobFixture {
 protected:
  Fd ConnectToCoordinator() const {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(endpoint_.port);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return socket;
  }

  Fd ConnectToAgent() const {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::string& name = agents_[0]->socket_name();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    return socket;
  }

  static void Write(const Fd& socket, const std::string& bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // Whether the other side ends the connection in time.
  static bool IsDropped(const Fd& socket) {
    const Deadline deadline = Soon();
    char bytes[4096];
    while (!deadline.Passed(Clock::now())) {
      pollfd waited{socket.get(), POLLIN, 0};
      ::poll(&waited, 1, deadline.LeftMs(Clock::now(), 1000));
      if (waited.revents == 0) continue;
      if (::recv(socket.get(), bytes, sizeof(bytes), 0) <= 0) return true;
    }
    return false;
  }

  void ExpectJobGoesOn() {
    std::unique_ptr<Client> client = Connect();
    const absl::StatusOr<ViewDescription> view = client->Join(Request(0, 1), {}, Soon());
    EXPECT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(client->Leave(Soon()), absl::OkStatus());
  }
};

TEST_F(HostileTest, GarbageOnTheCoordinatorsPort) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToCoordinator();
  Write(socket, "GET / HTTP/1.1\r\nHost: phalanx\r\n\r\n");
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(coordinator_log_.Has("dropped a connection from 127.0.0.1:"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, SilenceAndSlownessMeetTheHandshakeDeadline) {
  StartCoordinator(kPatience, std::chrono::seconds(2));
  StartAgent();
  const Fd silent = ConnectToCoordinator();
  const Fd slow = ConnectToCoordinator();
  // The beginning of a ClientHello that never goes on.
  Write(slow, std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(IsDropped(silent));
  EXPECT_TRUE(IsDropped(slow));
  EXPECT_TRUE(coordinator_log_.Has("in time"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, TheKeyAloneIsNotEnoughInAnOlderProtocol) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToCoordinator();
  // A ClientHello that offers TLS 1.2 at most: version, random, no session, one suite, no
  // compression, no extensions.
  std::string hello("\x03\x03", 2);
  hello += std::string(32, 'r') + std::string("\0\0\x02\xc0\x2f\x01\0", 7);
  const auto length = static_cast<char>(hello.size());
  Write(socket, std::string("\x16\x03\x01\0", 4) + static_cast<char>(length + 4) +
                    std::string("\x01\0\0", 3) + length + hello);
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(coordinator_log_.Has("the handshake failed"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, AWorkersFrameBeyondTheLimit) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToAgent();
  Write(socket, std::string("\x01\0\x10\0", 4));  // 1 MiB and a byte
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(agent_log_.Has("a frame of 1048577 bytes is over the limit of 1048576"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, AWorkersFrameThatIsNoMessage) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToAgent();
  Write(socket, Frame("this is no flatbuffer at all"));
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(agent_log_.Has("malformed message"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, AMessageThatWorkersDoNotSend) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToAgent();
  Write(socket, Frame(Encode(message::AllLeft{Epoch{1}})));
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(agent_log_.Has("it sent AllLeft"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, ASegmentThatIsAnnouncedAndNotSent) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToAgent();
  message::Join join;
  join.member.incarnation = Incarnation{1};
  join.world_size = 1;
  join.has_segment = true;
  Write(socket, Frame(Encode(join)));
  EXPECT_TRUE(IsDropped(socket));
  EXPECT_TRUE(agent_log_.Has("it announced a segment and sent none"));
  ExpectJobGoesOn();
}

TEST_F(HostileTest, AMemberThatTurnsToGarbageIsLost) {
  StartCoordinator();
  StartAgent();
  const Fd socket = ConnectToAgent();
  message::Join join;
  join.member.rank = 1;
  join.member.incarnation = Incarnation{1};
  join.world_size = 2;
  Write(socket, Frame(Encode(join)));
  std::unique_ptr<Client> client = Connect();
  ASSERT_TRUE(client->Join(Request(0, 2), {}, Soon()).ok());
  ClientBox events;
  client->Start(&events);
  Write(socket, "garbage, and long enough to be the length of a frame");
  ASSERT_TRUE(events.revoked.Wait().has_value());
  EXPECT_EQ(events.revoked.Wait()->code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(events.revoked.Wait()->message().find("was dropped by its agent: a frame of"),
            absl::string_view::npos)
      << *events.revoked.Wait();
}

}  // namespace
}  // namespace phalanx::control
