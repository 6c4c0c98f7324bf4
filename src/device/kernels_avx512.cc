#include "kernel_table.h"
#include "vector_kernels.h"

namespace phalanx::device {

const KernelTable& Avx512Kernels() {
  static constexpr KernelTable kTable = MakeKernelTable("avx512");
  return kTable;
}

}  // namespace phalanx::device
