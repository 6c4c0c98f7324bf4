#include "kernel_table.h"
#include "vector_kernels.h"

namespace phalanx::device {

const KernelTable& BaselineKernels() {
  static constexpr KernelTable kTable = MakeKernelTable("baseline");
  return kTable;
}

}  // namespace phalanx::device
