// What nearly all epilogues are that end in codes, with its stages folded into few operations.

#ifndef FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_H_
#define FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_H_

#include <cstddef>
#include <optional>

#include "runtime/kernels/epilogue.h"

namespace fixpoint::kernels {

// Of x, a sum times its scale:
//
//   x * factor of the channel + addend of the channel         each rounded, each where there is one
//   fma(code - residual_zero_point, residual_step, x)         where there is a residual
//   min(max(round(x * multiplier) + zero_point, lowest), highest)
//
// which is then rounded to a code. Clips and activations before the multiplier are in the bounds:
// rounding keeps the order, so the bits are those of the stages one by one, for a NaN too.
struct Requantization {
  enum class Residual { kNone, kUint8, kInt8 };

  std::optional<size_t> factors;  // the stages whose operands these are
  std::optional<size_t> addends;
  Residual residual = Residual::kNone;
  float residual_step = 0;
  float residual_zero_point = 0;
  float multiplier = 1;
  bool has_zero_point = false;  // else nothing is rounded before the end
  float zero_point = 0;
  float lowest = 0;
  float highest = 0;
};

// Nothing where the output is no codes, or the epilogue has other stages or another order.
std::optional<Requantization> RequantizationOf(const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_REQUANTIZATION_H_
