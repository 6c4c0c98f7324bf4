// A worker of the tests: joins the job through the control plane, and then does as its argument
// says.
//   leave  leaves orderly, exit code 0
//   wait   waits until the view is revoked, exit code 9
// Says on standard output what happens, in lines that the tests look for.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>

#include "control_client/client.h"

namespace {

using phalanx::Deadline;
using phalanx::Logger;
using phalanx::control::Client;
using phalanx::control::ClientEvents;
using phalanx::control::JoinRequest;

constexpr auto kPatience = std::chrono::seconds(60);

class Events : public ClientEvents {
 public:
  void OnRevoked(const absl::Status& reason, bool /*goes_on*/) override {
    revoked_.set_value(std::string(reason.message()));
  }
  std::future<std::string> Revoked() { return revoked_.get_future(); }

 private:
  std::promise<std::string> revoked_;
};

int Number(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : -1;
}

int Failed(const absl::Status& status) {
  std::printf("failed: %s\n", std::string(status.message()).c_str());
  return 8;
}

int Run(const std::string& what) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("pid %d\n", getpid());
  const char* agent = std::getenv("PHALANX_AGENT");
  auto client =
      Client::Connect(agent != nullptr ? agent : "", Logger(), Deadline::After(kPatience));
  if (!client.ok()) return Failed(client.status());
  JoinRequest request;
  request.rank = Number("PHALANX_RANK");
  request.world_size = Number("PHALANX_WORLD_SIZE");
  request.incarnation = {static_cast<uint64_t>(getpid())};
  const auto view = (*client)->Join(
      request, [](const std::string&) {}, Deadline::After(kPatience));
  if (!view.ok()) return Failed(view.status());
  for (const auto& member : view->members) std::printf("member of node %d\n", member.node);
  Events events;
  std::future<std::string> revoked = events.Revoked();
  (*client)->Start(&events);
  std::printf("joined\n");
  if (what == "leave") {
    const absl::Status left = (*client)->Leave(Deadline::After(kPatience));
    if (!left.ok()) return Failed(left);
    std::printf("left\n");
    return 0;
  }
  std::printf("revoked: %s\n", revoked.get().c_str());
  (void)(*client)->Leave(Deadline::After(kPatience));
  return 9;
}

}  // namespace

int main(int argc, char** argv) { return Run(argc > 1 ? argv[1] : "leave"); }
