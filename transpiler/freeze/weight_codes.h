// The codes of a trained weight.

#ifndef FIXPOINT_TRANSPILER_FREEZE_WEIGHT_CODES_H_
#define FIXPOINT_TRANSPILER_FREEZE_WEIGHT_CODES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct WeightCodes {
  Tensor
      codes;  // of the type that CodeDtype gives them (ops/code_dtype.h), with the weight's extents
  Tensor scales;  // FP32 [1], or [C]: the floats that the largest code stands for
  // INT32 [C], or FP32 [1], for codes that have zero points: the scales are then the steps between
  // two codes.
  std::optional<Tensor> zero_points;
};

struct WeightCodesOptions {
  // With 2 to 16 signed bits.
  CodeRange codes = SymmetricCodes(8, QuantSpec::HALF_AWAY_FROM_ZERO);
  int axis = -1;  // the channel axis, or -1: one scale for the whole tensor
  // One scale, or one for each channel. If there are none, find_scale is called for the tensor or
  // for each channel; by default it gives the largest absolute value.
  std::vector<float> scales;
  std::function<float(absl::Span<const float>)> find_scale;
  // For codes with one step and one zero point instead.
  std::optional<AffineParams> affine;
};

// Codes of an FP32 tensor, rounded as the fake-quantize ops round (quant_math.h). A tensor or
// channel whose scale is 0 has codes 0 and scale 1. Errors (kInvalidArgument), to be put after the
// name of the weight: it is not FP32, has no elements or no such axis, or holds NaN or infinity;
// there are more or fewer scales than channels; find_scale returns no scale.
absl::StatusOr<WeightCodes> MakeWeightCodes(const Tensor& weight,
                                            const WeightCodesOptions& options);

// Codes with a zero point for each channel, rounded as AffineCode does (ops/affine_codes.h): `find`
// returns the step and the zero point of a channel's values. Errors: those of MakeWeightCodes, but
// `options` has no scales; kUnimplemented: more than 8 bits, or no axis.
absl::StatusOr<WeightCodes> MakeAffineWeightCodes(
    const Tensor& weight, const WeightCodesOptions& options,
    const std::function<AffineParams(absl::Span<const float>)>& find);

// Codes with the step and the zero point of `options`, rounded as StoredAffineCode does: INT8 or
// UINT8. Errors: those of MakeWeightCodes; kUnimplemented: more than 8 bits, or an axis. REQUIRES:
// options.affine, whose zero point is a code.
absl::StatusOr<WeightCodes> MakeStoredAffineWeightCodes(const Tensor& weight,
                                                        const WeightCodesOptions& options);

// The name of the parameter that holds the codes of a weight as that type: "w.int8".
std::string NameOfCodes(absl::string_view weight, VarType::Type dtype);

// The values of a tensor as FP32: exact from FP16, BF16, INT8 and INT16, rounded from FP64. Errors:
// kInvalidArgument, to be put after a name: it is of another type; kFailedPrecondition: there is no
// memory.
absl::StatusOr<Tensor> AsFloat(const Tensor& tensor);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_WEIGHT_CODES_H_
