// Sums of products of codes that are rounded to wide codes before a bias in their step is added:
// stages of the epilogue, whose numbers are integers, round them, add the bias and multiply by the
// step:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   integer_quantize(X=y) -> (Out=c) {multiplier=512.0, out_dtype=2, ...}
//   integer_dequantize(X=c) -> (Out=d) {largest_code=2047, range=3.99804688}
//   fake_dequantize_bias(InputScale=t, X=b.int32) -> (Out=b) {input_largest_code=2047, ...}
//   elementwise_add(X=d, Y=b) -> (Out=z) {axis=1}
//
//   integer_conv2d(Filter=w.int8, Input=q, Operands=b.int32, Scales=s) -> (Output=z)
//     {epilogue=["multiply", "round", "clip", "add_channel", "multiply"],
//      epilogue_a=[512.0, 0.0, -2048.0, 0.0, 0.001953125], ...}

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_ROUNDED_SUMS_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_ROUNDED_SUMS_H_

#include <optional>

#include "ops/epilogue.h"
#include "proto/program/program_fwd.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// A product whose sums only an edge to wide codes reads, and the ops up to what reads these.
struct RoundedSums {
  const Op* product = nullptr;
  const Op* quantize = nullptr;
  const Op* dequantize = nullptr;
};

// What an input alone reads, if it is such sums; nothing otherwise.
std::optional<RoundedSums> FindRoundedSums(const Argument& input, const Lowering& lowering);

// The stages that add the codes of a bias, an operand of channels, to rounded sums; nothing if
// these have another step than the bias, one that is no power of two, or more codes than portable
// programs dequantize exactly.
std::optional<Epilogue> StagesOfBias(const RoundedSums& sums, const ParameterBiasCodes& bias,
                                     const Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_ROUNDED_SUMS_H_
