#include "kernel_choice.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace phalanx::device {
namespace {

#ifdef __x86_64__
// __builtin_cpu_supports also asks whether the operating system saves the registers, but clang 14
// doesn't know "f16c".
bool HasF16c() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool HasAvx2() { return __builtin_cpu_supports("avx2") && HasF16c(); }

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

std::vector<const KernelTable*> UsableKernels() {
  std::vector<const KernelTable*> usable = {&BaselineKernels()};
#ifdef __x86_64__
  if (HasAvx2()) usable.push_back(&Avx2Kernels());
  if (HasAvx512()) usable.push_back(&Avx512Kernels());
#endif
  return usable;
}

const KernelTable& ChosenKernels() {
  static const KernelTable& chosen = *UsableKernels().back();
  return chosen;
}

}  // namespace phalanx::device
