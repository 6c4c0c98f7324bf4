// Elementwise reductions on host memory.
//
// The results are part of the library's promise (equal bits on every rank and run), so each
// function states its order of operations, and none depends on how a range is cut into calls or on
// which instruction set runs: no fused multiply-add, no reassociation.
//   int8 … uint64     wrap; min and max as usual
//   float32, float64  IEEE, one rounding per addition or multiplication
//   min, max          of floats: NaN if either operand is NaN; -0 < +0. So they don't depend on
//                     the order of their operands
//   float16, bfloat16, float8
//                     converted to float32 on reading and rounded to nearest-even once on writing;
//                     float8 saturates at its largest finite value, infinities too
//   NaN               a result that is NaN is always the same quiet NaN, whatever NaNs went in
//
// Any thread may call these. No pointer needs alignment. Buffers that aren't the same may not
// overlap.
#ifndef PHALANX_DEVICE_REDUCE_H_
#define PHALANX_DEVICE_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "phalanx/types.h"

namespace phalanx::device {

// One rank's factor of a pre-multiplied sum or of a float average (1/n), in the form in which it is
// applied: a float32 for types up to 32-bit floats, a float64 for float64, an integer of the type's
// width for integers.
class Factor {
 public:
  Factor() = default;  // one: nothing is multiplied

  // The factor that `reduction` puts on this rank's input in a group of `size`: 1/size for an
  // average of floats, the caller's for a pre-multiplied sum, else one. For an integer type, a
  // caller's integer wraps to the type's width, any other number is truncated towards zero and
  // limited to the type's range, and NaN is 0.
  static Factor Of(const Reduction& reduction, DataType type, int size);

  bool is_one() const { return !applies_; }
  // As it travels to peers (GroupOperation::factor_bits). `applies` is known to all from the
  // operation.
  uint64_t bits() const { return bits_; }
  static Factor FromBits(uint64_t bits);

 private:
  uint64_t bits_ = 0;
  bool applies_ = false;
};

// destination[i] = first[i] op second[i]; destination may be either operand. `op` kAverage and
// kPreMultipliedSum add: scaling is Scale's, dividing is Divide's.
void Reduce(DataType type, ReduceOp op, const void* first, const void* second, void* destination,
            size_t count);

// destination[i] = ((sources[0][i]·f0 op sources[1][i]·f1) op …), from left to right, in float32
// for the types narrower than that, rounded once at the end; for an integer average divided by
// sources.size() at the end. `factors` is empty, or one per source. destination may be any of the
// sources. At least one source; a single one with no factor is copied bit for bit. Reads each
// source once; meant for ranges that fit the cache.
void ReduceMany(DataType type, ReduceOp op, absl::Span<const void* const> sources,
                absl::Span<const Factor> factors, void* destination, size_t count);

// destination[i] = source[i] · factor; destination may be source.
void Scale(DataType type, const void* source, const Factor& factor, void* destination,
           size_t count);

// destination[i] /= divisor, truncating towards zero. Integers only; divisor > 0.
void Divide(DataType type, void* destination, int divisor, size_t count);

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_REDUCE_H_
