// Transposed convolutions of codes, exact.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// The way back of a convolution: codes as large as its output give what is as large as its images,
// with a scale for each of their channels. Weights are its filters, row major. Errors: those of
// CompleteShape; kInvalidArgument: a sum of products of codes may not fit in 32 bits;
// kUnimplemented: oneDNN has no kernel for it.
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerTransposedConvolution(
    ConvolutionShape shape, const SumCoding& coding, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_
