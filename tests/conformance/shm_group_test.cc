#include <memory>

#include "group_conformance.h"
#include "gtest/gtest.h"
#include "shm_cluster.h"

namespace phalanx::spi {
namespace {

GroupBackend Backend(const char* name, bool cross_memory_attach, bool oversubscribed) {
  return {name,
          [cross_memory_attach](int size) {
            return std::make_unique<shm::ShmCluster>(size, cross_memory_attach);
          },
          oversubscribed};
}

INSTANTIATE_TEST_SUITE_P(Shm, GroupConformance,
                         testing::Values(Backend("Attach", true, true),
                                         Backend("AttachSpinning", true, false),
                                         Backend("Windows", false, true),
                                         Backend("WindowsSpinning", false, false)),
                         BackendName);

}  // namespace
}  // namespace phalanx::spi
