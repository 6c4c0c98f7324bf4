// Keeps a program's signal handlers its own while libraries are loaded.
#ifndef PHALANX_SPI_LOADING_SIGNALS_H_
#define PHALANX_SPI_LOADING_SIGNALS_H_

#include <csignal>
#include <cstdint>
#include <map>
#include <set>

namespace phalanx::spi {

// Some vendors' libraries take over signals as soon as they are loaded: libucs SIGSEGV and its
// like and SIGHUP, libinfinipath (of libfabric's PSM provider) SIGINT and SIGTERM too. Made before
// the load; GiveBack after it restores the signals that are now held by a library which this load
// has brought in. A handler that another thread installed meanwhile stays. For one load, on one
// thread, with no other such load beside it.
class LoadingSignals {
 public:
  LoadingSignals();
  LoadingSignals(const LoadingSignals&) = delete;
  LoadingSignals& operator=(const LoadingSignals&) = delete;

  void GiveBack() const;

 private:
  std::map<int, struct sigaction> before_;
  std::set<uintptr_t> loaded_;  // load addresses of the libraries that were there
};

}  // namespace phalanx::spi

#endif  // PHALANX_SPI_LOADING_SIGNALS_H_
