#include "kernel_table.h"
#include "vector_kernels.h"

namespace phalanx::device {

const KernelTable& Avx2Kernels() {
  static constexpr KernelTable kTable = MakeKernelTable("avx2");
  return kTable;
}

}  // namespace phalanx::device
