// An etcd of a test's own: one member on loopback, its data in the test's folder.
#ifndef PHALANX_TESTS_END_TO_END_ETCD_SERVER_H_
#define PHALANX_TESTS_END_TO_END_ETCD_SERVER_H_

#include <csignal>
#include <memory>
#include <string>

#include "subprocess.h"

namespace phalanx::testing_support {

// The program's path; empty: it isn't installed.
std::string FindEtcd();

// Failures are reported to GoogleTest.
class EtcdServer {
 public:
  // Starts it on free ports; returns when it answers.
  explicit EtcdServer(std::string folder);

  std::string url() const { return "etcd://127.0.0.1:" + std::to_string(port_); }
  // How many keys there are; -1: it doesn't answer.
  int Keys() const;

  void Freeze() const { process_->Signal(SIGSTOP); }
  void GoOn() const { process_->Signal(SIGCONT); }
  void Kill();
  // On the same ports and data, after Kill().
  void StartAgain();

 private:
  bool Start();

  const std::string folder_;
  int port_ = 0;
  int peer_port_ = 0;
  std::unique_ptr<Subprocess> process_;
};

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_ETCD_SERVER_H_
