// Rank 1 in a process of its own, doing what the test tells it over a socket; made to be frozen and
// killed. It is the test program itself, started anew, since network libraries don't stand a fork
// once they run.
#ifndef PHALANX_TESTS_CONFORMANCE_LINK_PUPPET_H_
#define PHALANX_TESTS_CONFORMANCE_LINK_PUPPET_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "spi/link.h"

namespace phalanx::conformance {

class Puppet {
 public:
  // Starts the process. Its wire is open when this returns, with rank 1's identity.
  Puppet();
  // Kills it if it lives.
  ~Puppet();
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;

  const std::string& address() const { return address_; }

  // Each returns when the process has obeyed. It calls Progress() all the while.
  void Connect(const std::string& address);  // to rank 0
  void Send(uint64_t tag, size_t bytes);     // with the pattern of its tag
  void Receive(uint64_t tag, size_t bytes);
  void Close();  // its wire, in order
  void Exit();   // without closing anything

  void Freeze();  // SIGSTOP, and waits until it has stopped
  void Kill();    // SIGKILL

 private:
  void Command(char what, uint64_t tag, uint64_t value, const std::string& text = "");

  int pid_ = -1;
  int socket_ = -1;
  std::string address_;
};

// The puppet's life, in its process.
int RunPuppet(int socket);

inline constexpr char kPuppetFlag[] = "--link-puppet=";

}  // namespace phalanx::conformance

#endif  // PHALANX_TESTS_CONFORMANCE_LINK_PUPPET_H_
