// Convolutions of codes.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Inputs are images, channels last; weights are filters, row major, and each has a scale.
// Errors: kInvalidArgument: those of CompleteShape; a sum may not fit in 32 bits; those of Planned
// (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerConvolution(
    ConvolutionShape shape, const SumCoding& coding, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_
