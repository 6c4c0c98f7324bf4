// The compiled reductions of one instruction set.
#ifndef PHALANX_DEVICE_KERNEL_TABLE_H_
#define PHALANX_DEVICE_KERNEL_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "phalanx/types.h"

namespace phalanx::device {

// kSum, kProduct, kMax and kMin; the others are made of these.
inline constexpr int kArithmeticOpCount = 4;

// destination[i] = (sources[0][i]·factors[0] op sources[1][i]·factors[1]) op …; the multiplications
// are left out in the kernels that take no factors. No alignment is asked of any pointer;
// destination may be any of the sources; source_count is at least 1.
using Kernel = void (*)(const void* const* sources, const uint64_t* factors, size_t source_count,
                        void* destination, size_t count);

struct KernelTable {
  const char* name;
  Kernel kernels[kDataTypeCount][kArithmeticOpCount][2];  // type, operation, takes factors

  Kernel Of(DataType type, ReduceOp op, bool takes_factors) const {
    return kernels[static_cast<int>(type)][static_cast<int>(op)][takes_factors ? 1 : 0];
  }
};

// Each compiled by itself with its own flags; call one only where the processor has what it needs.
const KernelTable& BaselineKernels();
#ifdef __x86_64__
const KernelTable& Avx2Kernels();    // AVX2 and F16C
const KernelTable& Avx512Kernels();  // AVX-512 F, BW, DQ and VL
#endif

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_KERNEL_TABLE_H_
