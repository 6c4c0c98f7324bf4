// The group suite on the simulated network: members that can be read in place, and members that
// copy.
#include <memory>
#include <vector>

#include "group_conformance.h"
#include "sim/network.h"

namespace phalanx::spi {
namespace {

class SimCluster : public GroupCluster {
 public:
  SimCluster(const sim::Options& options, int size) : network_(options) {
    for (int rank = 0; rank < size; ++rank) {
      domains_.push_back(network_.OpenDomain());
      EXPECT_TRUE(domains_.back()->Attach(rank, {}).ok());
    }
  }
  ~SimCluster() override { EXPECT_EQ(network_.violations(), std::vector<std::string>()); }

  GroupDomain& domain(int rank) override { return *domains_[rank]; }

 private:
  sim::Network network_;
  std::vector<std::unique_ptr<GroupDomain>> domains_;
};

GroupBackend Backend(const char* name, uint32_t copy_windows) {
  sim::Options options;
  // The suite expects a signal to be seen once it has been raised.
  options.least_delay = options.most_delay = std::chrono::nanoseconds(0);
  options.copy_windows = copy_windows;
  GroupBackend backend;
  backend.name = name;
  backend.make = [options](int size) { return std::make_unique<SimCluster>(options, size); };
  return backend;
}

INSTANTIATE_TEST_SUITE_P(Sim, GroupConformance,
                         testing::Values(Backend("InPlace", 0), Backend("Copied", 2)), BackendName);

}  // namespace
}  // namespace phalanx::spi
