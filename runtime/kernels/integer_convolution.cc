#include "runtime/kernels/integer_convolution.h"

#include "proto/base/status_macros.h"
#include "runtime/kernels/sums_kernels.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerConvolution(ConvolutionShape shape,
                                                                    const SumCoding& coding,
                                                                    const Epilogue& epilogue,
                                                                    OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  return PlanSums("a convolution", {shape, coding, epilogue, output});
}

}  // namespace fixpoint::kernels
