// Transposed convolutions of codes, exact.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/biased_sums.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// The way back of a convolution: codes as large as its output give what is as large as its images,
// with a scale for each of their channels. Weights are its filters, row major. Errors: those of
// CompleteShape; kInvalidArgument: a sum of products of codes may not fit in 32 bits;
// kUnimplemented: oneDNN has no kernel for it.
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerTransposedConvolution(
    ConvolutionShape shape, const InputCoding& inputs, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

// The same with a bias in int32 for each channel of the images. Errors: the same; 32 bits may not
// hold a sum with its bias.
absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedTransposedConvolution(
    ConvolutionShape shape, const InputCoding& inputs, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_TRANSPOSED_CONVOLUTION_H_
