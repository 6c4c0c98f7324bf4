// Conversions between float32 and the narrower floating-point types: round to nearest even, float8
// saturates, infinities too (OCP OFP8 1.0, section 5.2.1), NaN stays NaN and keeps its sign and
// what of its payload fits. Scalar, exact, and the reference for the vectorised reductions.
#ifndef PHALANX_DEVICE_CONVERT_H_
#define PHALANX_DEVICE_CONVERT_H_

#include <cstdint>

#include "phalanx/types.h"

namespace phalanx::device {

float Float16ToFloat(uint16_t bits);
uint16_t FloatToFloat16(float value);
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);
float Float8E4m3ToFloat(uint8_t bits);
uint8_t FloatToFloat8E4m3(float value);
float Float8E5m2ToFloat(uint8_t bits);
uint8_t FloatToFloat8E5m2(float value);

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_CONVERT_H_
