#include "loading_signals.h"

#include <dlfcn.h>
#include <link.h>

namespace phalanx::spi {
namespace {

int NoteLibrary(dl_phdr_info* info, size_t /*size*/, void* addresses) {
  static_cast<std::set<uintptr_t>*>(addresses)->insert(info->dlpi_addr);
  return 0;
}

}  // namespace

LoadingSignals::LoadingSignals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0) before_[number] = action;
  }
  dl_iterate_phdr(&NoteLibrary, &loaded_);
}

void LoadingSignals::GiveBack() const {
  for (const auto& [number, action] : before_) {
    struct sigaction now;
    Dl_info unused;
    void* owner = nullptr;
    if (sigaction(number, nullptr, &now) == 0 &&
        dladdr1(reinterpret_cast<void*>(now.sa_sigaction), &unused, &owner, RTLD_DL_LINKMAP) != 0 &&
        loaded_.count(static_cast<link_map*>(owner)->l_addr) == 0) {
      sigaction(number, &action, nullptr);
    }
  }
}

}  // namespace phalanx::spi
