// Convolutions and products of wide codes (ops/code_dtype.h), exact: sums in 64 bits, by plain
// loops, which are the same on every machine.

#ifndef FIXPOINT_RUNTIME_KERNELS_WIDE_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_WIDE_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// The operands of a run.
struct WideOperands {
  absl::Span<const int16_t> inputs;   // codes
  absl::Span<const uint8_t> weights;  // packed codes
  absl::Span<const float> scales;     // of the output channels
  EpilogueOperands epilogue = {};
};

// out = float(sum(input * weight)) * scale of the channel, and the epilogue; channels lie last.
// Padding adds nothing. Not for two threads at once.
class WideSums : public PacksWeights<int16_t> {
 public:
  // Errors (kInvalidArgument): those of CompleteShape or CheckShape; more than kMostWideProducts
  // products in a sum.
  static absl::StatusOr<std::unique_ptr<WideSums>> Plan(ConvolutionShape shape,
                                                        const Epilogue& epilogue,
                                                        OutputType output = OutputType::kFloat);
  static absl::StatusOr<std::unique_ptr<WideSums>> Plan(const ProductShape& shape,
                                                        const Epilogue& epilogue,
                                                        OutputType output = OutputType::kFloat);

  // REQUIRES: the sizes are what was planned.
  virtual void Run(const WideOperands& operands, Output out) = 0;

  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_WIDE_SUMS_H_
