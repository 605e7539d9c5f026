// conv2d of codes, as oneDNN computes it in the reference: Input is INT8 or UINT8, and attributes
// have the scales, which are 1 / step: code = round(x * scale).
//
//   sum    = sum(input * filter) + bias, an exact integer
//   output = function(float(sum) * s[o] + r * residual) * a, stored as a code or as a float
//
// Filter is floats, which are codes at Scale_weights, or INT8 codes of these scales; Bias is
// floats, which are codes at Scale_in * Scale_weights. With Scale_out = 1 in place of the attribute
// where the output is floats:
//
//   without a function   s[o] = Scale_out / (Scale_in * Scale_weights[o])     a = 1
//                        r    = Scale_out / Scale_in_eltwise
//   with one             the same of Scale_out = 1                            a = Scale_out

#ifndef FIXPOINT_OPS_INT8_CONVOLUTION_H_
#define FIXPOINT_OPS_INT8_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/code_dtype.h"
#include "ops/epilogue.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct Int8Convolution {
  // Of each filter: the codes of 1 in the filter and in its sums, and what a sum is multiplied by.
  std::vector<float> filter_scales;
  std::vector<float> bias_scales;
  std::vector<float> sum_scales;
  VarType::Type dtype = VarType::FP32;  // of the output
  bool adds_bias = false;
  // After that, a residual first.
  bool adds_residual = false;
  Epilogue epilogue;

  // The codes of a filter [O, ...] and of a bias [O]; of a NaN the smallest. REQUIRES: O scales,
  // codes as large as numbers.
  void FillFilterCodes(absl::Span<const float> filter, absl::Span<int8_t> codes) const;
  int32_t BiasCode(float bias, int64_t o) const;
};

// What conv2d or depthwise_conv2d computes, with so many filters and a residual of that type.
// Errors: those of FusedWorkOf; kInvalidArgument: a scale or a quotient of scales is not a finite
// number, or one is 0 (in Scale_weights that is a filter of zeros), or there is not one for each
// filter; kUnimplemented: a function is no stage of an epilogue, or a residual of floats has a
// scale.
absl::StatusOr<Int8Convolution> ReadInt8Convolution(const Op& op, const OpAttributes& attributes,
                                                    int64_t filters,
                                                    std::optional<VarType::Type> residual);

// The type of its output: that of the residual; floats with force_fp32_output; or codes, unsigned
// after a relu or relu6. `attributes` are OpAttributes, or an InferContext.
template <typename Attributes>
VarType::Type Int8ConvolutionDtype(Attributes& attributes, std::optional<VarType::Type> residual) {
  if (residual && attributes.Bool("fuse_residual_connection")) return *residual;
  if (attributes.Bool("force_fp32_output")) return VarType::FP32;
  const std::string function = attributes.String("fuse_activation");
  const bool is_unsigned = attributes.Bool("fuse_relu") || attributes.Bool("fuse_brelu") ||
                           function == "relu" || function == "relu6";
  return CodeDtype(is_unsigned);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_INT8_CONVOLUTION_H_
