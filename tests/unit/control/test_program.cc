// Stands in for the `phalanx` command, and is a worker whose behaviour the test chooses:
//   worker --agent NAME | --id TEXT | --address HOST:PORT --key-file FILE
//          --rank R --world N --out-fd N --then leave|wait|pause
// Writes a line to the out descriptor when it has joined ("joined") and when it has been told how
// the job ended ("left", or the message of the revocation).
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "control_agent/command.h"
#include "control_bootstrap/bootstrap.h"
#include "control_client/client.h"
#include "control_coordinator/process.h"
#include "control_process/arguments.h"
#include "control_process/spawn.h"

namespace phalanx::control {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

class UntilRevoked : public ClientEvents {
 public:
  void OnRevoked(const absl::Status& reason, bool /*goes_on*/) override {
    reason_.set_value(reason);
  }
  absl::Status Wait() {
    std::future<absl::Status> reason = reason_.get_future();
    if (reason.wait_for(kPatience) != std::future_status::ready) {
      return absl::DeadlineExceededError("nobody was lost");
    }
    return reason.get();
  }

 private:
  std::promise<absl::Status> reason_;
};

absl::StatusOr<std::string> FindAgent(const Arguments& arguments, int rank, Fd* lifeline) {
  if (arguments.Has("--agent")) return arguments.Text("--agent");
  if (arguments.Has("--id")) {
    PHX_ASSIGN_OR_RETURN(const std::string text, arguments.Text("--id"));
    PHX_ASSIGN_OR_RETURN(const UniqueId id, UniqueId::FromString(text));
    return Bootstrap(id, Deadline::After(kPatience));
  }
  PHX_ASSIGN_OR_RETURN(const std::string address, arguments.Text("--address"));
  PHX_ASSIGN_OR_RETURN(const std::string key_file, arguments.Text("--key-file"));
  PHX_ASSIGN_OR_RETURN(const AddressAndKey where,
                       ReadAddressAndKey(address.c_str(), key_file.c_str()));
  if (rank == 0) {
    PHX_ASSIGN_OR_RETURN(*lifeline, StartCoordinatorAt(where, kPatience));
  }
  return Bootstrap(IdOf(where), Deadline::After(kPatience));
}

void Say(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (::write(fd, text.data(), text.size()) < 0) ::_exit(3);
}

absl::Status Work(const std::vector<std::string>& words) {
  PHX_ASSIGN_OR_RETURN(const Arguments arguments,
                       Arguments::Parse(words,
                                        {"--agent", "--id", "--address", "--key-file", "--rank",
                                         "--world", "--out-fd", "--then"},
                                        {}));
  PHX_ASSIGN_OR_RETURN(const int rank, arguments.Number("--rank", -1));
  PHX_ASSIGN_OR_RETURN(const int world, arguments.Number("--world", 0));
  PHX_ASSIGN_OR_RETURN(const int out, arguments.Number("--out-fd", STDOUT_FILENO));
  PHX_ASSIGN_OR_RETURN(const std::string then, arguments.Text("--then"));
  Fd lifeline;
  PHX_ASSIGN_OR_RETURN(const std::string agent, FindAgent(arguments, rank, &lifeline));
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                       Client::Connect(agent, Logger(), Deadline::After(kPatience)));
  JoinRequest request;
  request.rank = rank;
  request.world_size = world;
  request.incarnation = Incarnation{RandomNumber()};
  PHX_RETURN_IF_ERROR(client->Join(request, {}, Deadline::After(kPatience)).status());
  UntilRevoked events;
  client->Start(&events);
  Say(out, "joined");
  if (then == "wait") {
    const absl::Status reason = events.Wait();
    Say(out, std::string(reason.message()));
    return absl::OkStatus();
  }
  if (then == "pause") ::pause();
  const absl::Status left = client->Leave(Deadline::After(kPatience));
  Say(out, left.ok() ? "left" : std::string(left.message()));
  return left;
}

int Main(const std::vector<std::string>& words) {
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "coordinator") return CoordinatorCommand(rest);
  if (words[0] == "agent") return AgentCommand(rest);
  const absl::Status status = Work(rest);
  if (status.ok()) return 0;
  Logger::ToStderr("worker", LogSeverity::kError).Error(status.ToString());
  return 1;
}

}  // namespace
}  // namespace phalanx::control

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return phalanx::control::Main(std::vector<std::string>(argv + 1, argv + argc));
}
