// Sums of products of codes where each channel has its own filter: there is little arithmetic, so
// the speed of memory is the limit.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. oneDNN's is faster in the caches with a stride, or with rows of few
// pixels, and with large windows on such rows.
bool IsForDepthwise(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanDepthwiseConvolution(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
