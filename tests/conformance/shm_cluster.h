// Sessions of one process that share memory as if each were a process of its own.
#ifndef PHALANX_TESTS_CONFORMANCE_SHM_CLUSTER_H_
#define PHALANX_TESTS_CONFORMANCE_SHM_CLUSTER_H_

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "group_conformance.h"
#include "gtest/gtest.h"
#include "shm/shm.h"

namespace phalanx::shm {

class ShmCluster : public spi::GroupCluster {
 public:
  ShmCluster(int size, bool cross_memory_attach) {
    std::vector<spi::NodePeer> peers;
    for (int rank = 0; rank < size; ++rank) {
      ShmOptions options;
      options.incarnation = Incarnation{1000u + static_cast<uint64_t>(rank)};
      options.heap_limit_bytes = 64 << 20;
      options.cross_memory_attach = cross_memory_attach;
      auto transport = OpenShm(options);
      EXPECT_TRUE(transport.ok()) << transport.status();
      transports_.push_back(*std::move(transport));
      peers.push_back({rank, options.incarnation, static_cast<int>(getpid()),
                       transports_.back()->domain().segment_fd()});
    }
    for (int rank = 0; rank < size; ++rank) {
      const absl::Status status = domain(rank).Attach(rank, peers);
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  spi::GroupDomain& domain(int rank) override {
    return transports_[static_cast<size_t>(rank)]->domain();
  }

 private:
  std::vector<std::unique_ptr<ShmTransport>> transports_;
};

}  // namespace phalanx::shm

#endif  // PHALANX_TESTS_CONFORMANCE_SHM_CLUSTER_H_
