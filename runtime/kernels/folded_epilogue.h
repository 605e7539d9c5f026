// Nearly all epilogues that end in codes, with their stages folded into few operations.

#ifndef FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_H_
#define FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_H_

#include <cstddef>
#include <optional>

#include "runtime/kernels/epilogue.h"

namespace fixpoint::kernels {

// What is computed from x, a sum times its scale:
//
//   (x + bias of the channel) * its factor     where that comes first: a bias in front of a batch
//                                              norm
//   x * factor of the channel + its addend     each rounded, each where there is one
//   fma(code - residual_zero_point, residual_step, x)     where there is a residual
//   min(max(round(x * multiplier) + zero_point, lowest), highest)
//
// which is then rounded to a code. Clips and activations before the multiplier are in the
// bounds: rounding keeps the order, so the bits are those of the stages one by one, for a NaN too.
struct FoldedEpilogue {
  enum class Residual { kNone, kUint8, kInt8 };

  // The stages that have these operands.
  std::optional<size_t> bias;
  std::optional<size_t> bias_factors;
  std::optional<size_t> factors;
  std::optional<size_t> addends;
  Residual residual = Residual::kNone;
  float residual_step = 0;
  float residual_zero_point = 0;
  float multiplier = 1;
  bool has_zero_point = false;  // if not, nothing is rounded before the end
  float zero_point = 0;
  float lowest = 0;
  float highest = 0;
};

// Returns nothing where the output is not codes, or the epilogue has other stages or another order.
std::optional<FoldedEpilogue> Fold(const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FOLDED_EPILOGUE_H_
