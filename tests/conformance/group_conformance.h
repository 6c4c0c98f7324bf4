// The contract of spi/group.h as tests. A backend's test program includes this header once and
// instantiates GroupConformance with the clusters that it can make.
#ifndef PHALANX_TESTS_CONFORMANCE_GROUP_CONFORMANCE_H_
#define PHALANX_TESTS_CONFORMANCE_GROUP_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "gtest/gtest.h"
#include "spi/group.h"

namespace phalanx::spi {

// N attached domains, as if each were a process of one node.
class GroupCluster {
 public:
  virtual ~GroupCluster() = default;
  virtual GroupDomain& domain(int rank) = 0;
};

struct GroupBackend {
  std::string name;
  std::function<std::unique_ptr<GroupCluster>(int size)> make;
  bool oversubscribed = false;
};
inline void PrintTo(const GroupBackend& backend, std::ostream* out) { *out << backend.name; }

inline std::string BackendName(const testing::TestParamInfo<GroupBackend>& info) {
  return info.param.name;
}

// The groups of all members of one communicator, by rank in it; `ranks` in the view.
std::vector<std::unique_ptr<GroupTransport>> OpenGroups(GroupCluster& cluster,
                                                        const std::vector<int>& ranks,
                                                        bool oversubscribed);

// Runs `body` on one thread for each member.
void RunMembers(const std::vector<std::unique_ptr<GroupTransport>>& groups,
                const std::function<void(GroupTransport&)>& body);

// Waits at most 30 s; fails the test and returns false after that.
bool AwaitSignal(GroupTransport& group, int peer, uint8_t signal, uint32_t round);
bool AwaitEveryPeer(GroupTransport& group, uint8_t signal, uint32_t round);
bool PublishWhenPossible(GroupTransport& group, const Publish& publish);

class GroupConformance : public testing::TestWithParam<GroupBackend> {
 protected:
  void Connect(int size);

  std::unique_ptr<GroupCluster> cluster_;
  std::vector<std::unique_ptr<GroupTransport>> groups_;
};

}  // namespace phalanx::spi

#endif  // PHALANX_TESTS_CONFORMANCE_GROUP_CONFORMANCE_H_
