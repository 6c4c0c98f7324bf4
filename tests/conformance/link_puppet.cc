#include "link_puppet.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>

#include "base/check.h"
#include "link_conformance.h"
#include "link_support.h"

extern char** environ;

namespace phalanx::conformance {
namespace {

struct CommandHeader {
  char what = 0;
  uint64_t tag = 0;
  uint64_t value = 0;
  uint64_t text_bytes = 0;
};

bool WriteAll(int socket, const void* data, size_t bytes) {
  return send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool ReadAll(int socket, void* data, size_t bytes) {
  return bytes == 0 || recv(socket, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

}  // namespace

Puppet::Puppet() {
  int sockets[2];
  PHX_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  socket_ = sockets[0];
  posix_spawn_file_actions_t actions;
  PHX_CHECK(posix_spawn_file_actions_init(&actions) == 0);
  constexpr int kChildSocket = 199;
  PHX_CHECK(posix_spawn_file_actions_adddup2(&actions, sockets[1], kChildSocket) == 0);
  std::string flag = kPuppetFlag + std::to_string(kChildSocket);
  std::string program = "/proc/self/exe";
  char* arguments[] = {program.data(), flag.data(), nullptr};
  pid_t pid = -1;
  PHX_CHECK(posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(sockets[1]);
  pid_ = pid;
  uint64_t bytes = 0;
  PHX_CHECK(ReadAll(socket_, &bytes, sizeof(bytes)));
  address_.resize(bytes);
  PHX_CHECK(ReadAll(socket_, address_.data(), bytes));
}

Puppet::~Puppet() {
  Kill();
  close(socket_);
}

void Puppet::Command(char what, uint64_t tag, uint64_t value, const std::string& text) {
  const CommandHeader header{what, tag, value, text.size()};
  PHX_CHECK(WriteAll(socket_, &header, sizeof(header)));
  PHX_CHECK(WriteAll(socket_, text.data(), text.size()));
  char obeyed = 0;
  PHX_CHECK(ReadAll(socket_, &obeyed, 1));
}

void Puppet::Connect(const std::string& address) { Command('c', 0, 0, address); }
void Puppet::Send(uint64_t tag, size_t bytes) { Command('s', tag, bytes); }
void Puppet::Receive(uint64_t tag, size_t bytes) { Command('r', tag, bytes); }
void Puppet::Close() { Command('x', 0, 0); }

void Puppet::Exit() {
  Command('q', 0, 0);
  PHX_CHECK(waitpid(pid_, nullptr, 0) == pid_);
  pid_ = -1;
}

void Puppet::Freeze() {
  PHX_CHECK(kill(pid_, SIGSTOP) == 0);
  int status = 0;
  PHX_CHECK(waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status));
}

void Puppet::Kill() {
  if (pid_ < 0) return;
  PHX_CHECK(kill(pid_, SIGKILL) == 0);
  PHX_CHECK(waitpid(pid_, nullptr, 0) == pid_);
  pid_ = -1;
}

namespace {

// The puppet's side: one wire, one link, messages that are never freed.
class PuppetLife {
 public:
  explicit PuppetLife(int socket) : socket_(socket), fixture_(MakeLinkFixture()) {}

  int Run() {
    auto wire = fixture_->Open();
    if (!wire.ok()) return 1;
    wire_ = std::move(*wire);
    wire_->SetIdentity(IdentityOf(1));
    const uint64_t bytes = wire_->address().size();
    WriteAll(socket_, &bytes, sizeof(bytes));
    WriteAll(socket_, wire_->address().data(), bytes);
    while (Obey()) {
      if (wire_ != nullptr && !wire_->Progress()) wire_->Wait(std::chrono::milliseconds(1));
    }
    return 0;
  }

 private:
  // False when the test is gone.
  bool Obey() {
    pollfd readable{socket_, POLLIN, 0};
    if (poll(&readable, 1, wire_ == nullptr ? -1 : 0) == 0) return true;
    CommandHeader header;
    if (!ReadAll(socket_, &header, sizeof(header))) return false;
    std::string text(header.text_bytes, '\0');
    if (!ReadAll(socket_, text.data(), text.size())) return false;
    Perform(header, text);
    return WriteAll(socket_, "k", 1);
  }

  void Perform(const CommandHeader& header, const std::string& text) {
    switch (header.what) {
      case 'c':
        link_ = std::move(*wire_->Connect(PeerOf(IdentityOf(0)), text));
        break;
      case 's': {
        Message& message = messages_.emplace_back(header.value, header.tag);
        link_->Send(header.tag, message.span(), &message.transfer);
        break;
      }
      case 'r': {
        Message& message = messages_.emplace_back(header.value);
        link_->Receive(header.tag, message.span(), &message.transfer);
        break;
      }
      case 'x':
        PHX_CHECK(wire_->Close(Deadline::After(std::chrono::seconds(10))).ok());
        link_.reset();
        wire_.reset();
        break;
      case 'q':
        WriteAll(socket_, "k", 1);
        _exit(0);
      default:
        PHX_CHECK(false);
    }
  }

  const int socket_;
  std::unique_ptr<LinkFixture> fixture_;
  std::unique_ptr<spi::Wire> wire_;
  std::unique_ptr<spi::Link> link_;
  std::deque<Message> messages_;
};

}  // namespace

int RunPuppet(int socket) {
  PuppetLife life(socket);
  const int result = life.Run();
  _exit(result);  // the test is gone: no orderly end wanted
}

}  // namespace phalanx::conformance
