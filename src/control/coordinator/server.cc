// The coordinator's shell: performs what the core decides, over TLS connections.
#include <unistd.h>

#include <asio/dispatch.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_channel/channel.h"
#include "control_coordinator/core.h"
#include "control_coordinator/process.h"
#include "control_etcd/etcd_record.h"
#include "control_process/spawn.h"
#include "control_protocol/frame.h"
#include "control_record/logged_register.h"
#include "control_status_page/status_page.h"
#include "lines_file.h"
#include "ordering_json/json.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kTickInterval = std::chrono::milliseconds(100);
constexpr Clock::duration kFinishTimeout = std::chrono::seconds(5);
// Connections that haven't proved themselves yet; more are turned away at once.
constexpr size_t kMostUnproven = 1024;
// How long the ranks have to say what they do before the status page is shown without it.
constexpr uint32_t kPageTimeoutMs = 1000;

// Who starts coordinators goes on with another one only if that may help.
int ExitCodeOf(const absl::Status& record) {
  const bool hopeless = absl::IsDeadlineExceeded(record) || absl::IsInvalidArgument(record) ||
                        absl::IsNotFound(record) || absl::IsUnimplemented(record);
  return hopeless ? 1 : kExitRecordLost;
}

// Null: the record ends with this process.
absl::StatusOr<std::unique_ptr<JobRegister>> OpenRecord(const CoordinatorOptions& options) {
  if (!options.record_url.empty()) {
    return OpenEtcdRecord(
        {options.record_url, options.job, options.record_patience, options.logger});
  }
  if (options.record_fd < 0) return nullptr;
  return LoggedRegister::Open(Fd(options.record_fd));
}

class Server {
 public:
  // `record`: null without one.
  Server(CoordinatorOptions options, std::unique_ptr<TlsContext> tls,
         std::unique_ptr<JobRegister> record)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        record_(std::move(record)),
        core_(CoreSettings(), Clock::now()),
        acceptor_(context_),
        lifeline_(context_),
        timer_(context_) {}

  absl::Status Open();
  int Run();

 private:
  CoordinatorSettings CoreSettings() const;
  struct Connection {
    std::shared_ptr<Channel> channel;
    bool proven = false;
    asio::steady_timer hello_timer;
  };

  void Accept();
  void OnAccepted(asio::ip::tcp::socket socket);
  void OnMessage(AgentId id, Message message);
  void OnClosed(AgentId id, const absl::Status& status);
  // On the status page's behalf, as somebody who comes for that alone.
  void AskForPage();
  void WatchLifeline();
  void Tick();
  void Step(const CoordinatorInput& input);
  void OnWritten(const absl::Status& written);
  void Perform(SendToAgent& output);
  void Perform(const CloseAgent& output);
  void Perform(const LogLine& output);
  void Perform(const Concluded& output);
  void Perform(const JobEvent& output);
  void Perform(const WriteRecord& output);
  void Perform(const NodeEvicted& output) { TellLauncher(output); }
  void Perform(const LinkFaultDue& output) { TellLauncher(output); }
  void Perform(const KillCoordinator& output);
  void Perform(const JobOver& output);
  void TellLauncher(const LauncherNotice& notice) const;

  const CoordinatorOptions options_;
  const std::unique_ptr<TlsContext> tls_;
  asio::io_context context_;
  const std::unique_ptr<JobRegister> record_;  // may call into the loop until it goes
  CoordinatorCore core_;
  asio::ip::tcp::acceptor acceptor_;
  asio::posix::stream_descriptor lifeline_;
  char lifeline_byte_ = 0;
  asio::steady_timer timer_;
  std::map<AgentId, Connection> connections_;
  std::unique_ptr<StatusPage> page_;  // null: none is wanted
  AgentId page_asker_;
  uint64_t last_id_ = 0;
  size_t unproven_ = 0;
  LinesFile reports_{"reports"};
  LinesFile events_{"events"};
  bool accepting_ = false;
  bool over_ = false;
  int exit_code_ = 1;
};

absl::Status Server::Open() {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(options_.listen_fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return absl::InvalidArgumentError("the listening descriptor is no socket");
  }
  asio::error_code error;
  acceptor_.assign(address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                   options_.listen_fd, error);
  if (!error && options_.lifeline_fd >= 0) lifeline_.assign(options_.lifeline_fd, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the descriptors can't be used: ", error.message()));
  }
  if (options_.status_fd >= 0) {
    page_ = std::make_unique<StatusPage>(context_, [this] { AskForPage(); });
    PHX_RETURN_IF_ERROR(page_->Open(options_.status_fd));
  }
  // A job is worth more than its reports.
  const absl::Status kept = reports_.Open(options_.report_file);
  if (!kept.ok()) options_.logger.Warning(std::string(kept.message()));
  const absl::Status noted = events_.Open(options_.events_file);
  if (!noted.ok()) options_.logger.Warning(std::string(noted.message()));
  return absl::OkStatus();
}

int Server::Run() {
  Accept();
  if (lifeline_.is_open()) WatchLifeline();
  Tick();
  // Ends when nothing is left to wait for: the job is over and every connection is closed.
  context_.run();
  return exit_code_;
}

CoordinatorSettings Server::CoreSettings() const {
  CoordinatorSettings settings{
      options_.job,         RandomNumber(),  options_.join_timeout,         std::nullopt,
      options_.persist,     options_.faults, !options_.events_file.empty(), record_ != nullptr,
      options_.witness_wait};
  if (record_ != nullptr) settings.claim = record_->claim();
  if (record_ != nullptr && record_->found().has_value()) {
    settings.record = record_->found();
    settings.job_token = settings.record->view.job_token;
  }
  return settings;
}

void Server::Accept() {
  accepting_ = true;
  acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
    if (over_ || !acceptor_.is_open()) return;
    if (error) {
      // Out of descriptors or memory: the next tick tries again, so there is no busy loop.
      options_.logger.Warning(absl::StrCat("cannot accept a connection: ", error.message()));
      accepting_ = false;
      return;
    }
    OnAccepted(std::move(socket));
    Accept();
  });
}

void Server::OnAccepted(asio::ip::tcp::socket socket) {
  if (unproven_ >= kMostUnproven) return;
  const AgentId id{++last_id_};
  auto channel = std::make_shared<Channel>(std::move(socket), tls_.get());
  auto [entry, inserted] =
      connections_.emplace(id, Connection{channel, false, asio::steady_timer(context_)});
  ++unproven_;
  // One deadline over handshake and hello.
  entry->second.hello_timer.expires_after(options_.handshake_timeout);
  entry->second.hello_timer.async_wait([this, id](const asio::error_code& error) {
    const auto found = connections_.find(id);
    if (error || found == connections_.end() || found->second.proven) return;
    found->second.channel->Close(absl::DeadlineExceededError("it did not say who it is in time"));
  });
  channel->Start({.opened = {},
                  .message = [this, id](Message message) { OnMessage(id, std::move(message)); },
                  .closed = [this, id](const absl::Status& status) { OnClosed(id, status); }},
                 options_.handshake_timeout, kMaxHandshakeMessageBytes);
}

void Server::OnMessage(AgentId id, Message message) {
  Connection& connection = connections_.at(id);
  if (!connection.proven) {
    connection.proven = true;
    --unproven_;
    connection.hello_timer.cancel();
    connection.channel->set_limit(kMaxWorkerMessageBytes);
  }
  Step(AgentSaid{id, std::move(message)});
}

void Server::OnClosed(AgentId id, const absl::Status& status) {
  const auto found = connections_.find(id);
  const std::string peer = found->second.channel->peer();
  if (!found->second.proven) --unproven_;
  const bool proven = found->second.proven;
  connections_.erase(found);
  if (proven) {
    Step(AgentLost{id, status.ok() ? "it closed its connection" : std::string(status.message())});
  } else if (!over_) {
    const std::string line = absl::StrCat("dropped a connection from ", peer, ": ",
                                          status.ok() ? "it said nothing" : status.message());
    // A peer that goes away before it has proved anything is no news: a node of a job that is
    // ending, or somebody looking at the port. One that is there and hasn't got the key is.
    if (status.ok() || absl::IsUnavailable(status)) {
      options_.logger.Info(line);
    } else {
      options_.logger.Warning(line);
    }
  }
}

void Server::WatchLifeline() {
  lifeline_.async_read_some(asio::buffer(&lifeline_byte_, 1),
                            [this](const asio::error_code& error, size_t /*bytes*/) {
                              if (over_) return;
                              if (error) {
                                Step(CreatorGone{});
                              } else {
                                WatchLifeline();
                              }
                            });
}

void Server::Tick() {
  timer_.expires_after(kTickInterval);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error || over_) return;
    Step(phalanx::control::Tick{});
    if (over_) return;
    if (!accepting_) Accept();
    Tick();
  });
}

void Server::Step(const CoordinatorInput& input) {
  for (CoordinatorOutput& output : core_.Step(input, Clock::now())) {
    std::visit([this](auto& value) { Perform(value); }, output);
  }
}

void Server::AskForPage() {
  page_asker_ = AgentId{++last_id_};
  Step(AgentSaid{page_asker_, message::AskStatus{kProtocolVersion, 0, kPageTimeoutMs}});
}

void Server::Perform(SendToAgent& output) {
  if (page_ != nullptr && output.agent == page_asker_) {
    auto* const status = std::get_if<message::JobStatus>(&output.message);
    if (status != nullptr) page_->Answer(std::move(status->json));
    return;
  }
  const auto found = connections_.find(output.agent);
  if (found != connections_.end()) found->second.channel->Send(output.message);
}

void Server::Perform(const CloseAgent& output) {
  const auto found = connections_.find(output.agent);
  if (found != connections_.end()) found->second.channel->Finish(kFinishTimeout);
}

void Server::Perform(const LogLine& output) {
  switch (output.severity) {
    case LogSeverity::kInfo:
      options_.logger.Info(output.line);
      return;
    case LogSeverity::kWarning:
      options_.logger.Warning(output.line);
      return;
    case LogSeverity::kError:
      options_.logger.Error(output.line);
      return;
  }
}

void Server::Perform(const Concluded& output) {
  const absl::Status kept =
      reports_.Append(ordering::LineOf(ordering::ToJson(*output.explanation)));
  if (!kept.ok()) options_.logger.Warning(std::string(kept.message()));
}

void Server::Perform(const JobEvent& output) {
  const absl::Status kept = events_.Append(ToJsonLine(output, Clock::now()));
  if (!kept.ok()) options_.logger.Warning(std::string(kept.message()));
}

// What comes in until it is written waits in the core.
void Server::Perform(const WriteRecord& output) {
  if (record_ == nullptr) return Step(RecordWritten{});
  record_->Write(output.record, [this](const absl::Status& written) {
    asio::dispatch(context_, [this, written] { OnWritten(written); });
  });
}

void Server::OnWritten(const absl::Status& written) {
  if (written.ok()) return Step(RecordWritten{});
  options_.logger.Error(std::string(written.message()));
  over_ = true;
  exit_code_ = ExitCodeOf(written);
  context_.stop();
}

// A pipe that nobody reads any more, or that is full, is no reason to stop.
void Server::TellLauncher(const LauncherNotice& notice) const {
  if (options_.launcher_fd < 0) return;
  const std::string line = ToLine(notice) + "\n";
  if (::write(options_.launcher_fd, line.data(), line.size()) < 0) {
    options_.logger.Warning(absl::StrCat("the launcher isn't told: ", ToLine(notice)));
  }
}

void Server::Perform(const KillCoordinator& /*output*/) { ::raise(SIGKILL); }

void Server::Perform(const JobOver& output) {
  over_ = true;
  exit_code_ = output.status.ok() ? 0 : 1;
  asio::error_code ignored;
  acceptor_.close(ignored);
  lifeline_.close(ignored);
  timer_.cancel();
  if (page_ != nullptr) page_->Close();
  std::vector<std::shared_ptr<Channel>> unproven;
  for (const auto& [id, connection] : connections_) {
    if (!connection.proven) unproven.push_back(connection.channel);
  }
  for (const auto& channel : unproven) channel->Close(absl::UnavailableError("the job is over"));
}

}  // namespace

int RunCoordinator(CoordinatorOptions options) {
  const Logger logger = options.logger;
  absl::StatusOr<std::unique_ptr<TlsContext>> tls =
      TlsContext::Make(TlsContext::Side::kServer, options.job, options.key);
  if (!tls.ok()) {
    logger.Error(std::string(tls.status().message()));
    return 1;
  }
  absl::StatusOr<std::unique_ptr<JobRegister>> record = OpenRecord(options);
  if (!record.ok()) {
    logger.Error(std::string(record.status().message()));
    return ExitCodeOf(record.status());
  }
  Server server(std::move(options), *std::move(tls), *std::move(record));
  if (const absl::Status status = server.Open(); !status.ok()) {
    logger.Error(std::string(status.message()));
    return 1;
  }
  return server.Run();
}

}  // namespace phalanx::control
