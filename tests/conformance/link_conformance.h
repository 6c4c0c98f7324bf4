// What every Wire and Link must do. A transport's test program links phalanx_link_conformance,
// whose tests call MakeLinkFixture(), and defines that function.
#ifndef PHALANX_TESTS_CONFORMANCE_LINK_CONFORMANCE_H_
#define PHALANX_TESTS_CONFORMANCE_LINK_CONFORMANCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "spi/link.h"

namespace phalanx::conformance {

// Opens wires that can reach each other. One lives per test.
class LinkFixture {
 public:
  virtual ~LinkFixture() = default;

  // A test is skipped with the reason when this is UNIMPLEMENTED.
  virtual absl::StatusOr<std::unique_ptr<spi::Wire>> Open() = 0;

  // Whether wires of different processes reach each other. If not, the tests that kill and freeze
  // processes are left out.
  virtual bool across_processes() const { return true; }
};

// Defined by each transport's test program; also called in its child processes.
std::unique_ptr<LinkFixture> MakeLinkFixture();

}  // namespace phalanx::conformance

#endif  // PHALANX_TESTS_CONFORMANCE_LINK_CONFORMANCE_H_
