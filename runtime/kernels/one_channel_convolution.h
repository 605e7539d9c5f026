// Sums of products of codes for images with one channel, as in the first layer of some networks.
// oneDNN adds four channels with one instruction, three of which would be padding here.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. With a vector of filters or more, tiles are faster that end in codes,
// and oneDNN is as fast for windows less than four wide.
bool IsForOneChannel(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanOneChannelConvolution(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
