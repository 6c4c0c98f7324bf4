#include <gtest/gtest.h>

#include <csignal>
#include <map>

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

using Handler = void (*)(int);

std::map<int, Handler> SignalHandlers() {
  std::map<int, Handler> handlers;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0) handlers[number] = action.sa_handler;
  }
  return handlers;
}

// Before anything is loaded, whichever test is the first.
const std::map<int, Handler> kHandlersAtStart = SignalHandlers();

TEST(Module, LeavesTheProgramItsSignals) {
  ModuleFixture fixture;
  ASSERT_TRUE(fixture.Open().ok());
  EXPECT_EQ(SignalHandlers(), kHandlersAtStart);
}

}  // namespace

std::unique_ptr<LinkFixture> MakeLinkFixture() { return std::make_unique<ModuleFixture>(); }

}  // namespace phalanx::conformance
