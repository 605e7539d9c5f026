// The codes of a trained weight.

#ifndef FIXPOINT_TRANSPILER_WEIGHT_CODES_H_
#define FIXPOINT_TRANSPILER_WEIGHT_CODES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "proto/quant_config.pb.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct WeightCodes {
  Tensor codes;   // INT8, or INT16 for more than 8 bits, with the weight's extents
  Tensor scales;  // FP32 [1], or [C]: the numbers that the largest code stands for
};

struct WeightCodesOptions {
  int bits = 8;  // 1 to 16; codes up to 2^(bits - 1) - 1
  QuantSpec::Rounding rounding = QuantSpec::HALF_AWAY_FROM_ZERO;
  int axis = -1;  // the channels', or -1: one scale for the whole tensor
  // The scale; where there is none, the largest absolute value of the tensor or of each channel.
  std::optional<float> scale;
};

// Codes of an FP32 tensor, rounded as the fake-quantize ops round (quant_math.h). A tensor or
// channel whose scale is 0 has codes 0 and scale 1.
// Errors (kInvalidArgument), to be put behind the name of the weight: it is not FP32, has no
// elements or no such axis, or holds NaN or infinity.
absl::StatusOr<WeightCodes> MakeWeightCodes(const Tensor& weight,
                                            const WeightCodesOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHT_CODES_H_
