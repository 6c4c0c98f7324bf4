#include "link_conformance.h"
#include "spi/module.h"

namespace phalanx::conformance {
namespace {

class ModuleFixture final : public LinkFixture {
 public:
  absl::StatusOr<std::unique_ptr<spi::Wire>> Open() override {
    return spi::OpenWireModule(PHALANX_TEST_MODULE,
                               {"", Logger::ToStderr("", LogSeverity::kError)});
  }
};

}  // namespace

std::unique_ptr<LinkFixture> MakeLinkFixture() { return std::make_unique<ModuleFixture>(); }

}  // namespace phalanx::conformance
