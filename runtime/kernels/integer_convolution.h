// Convolution of codes, exact: the forward pass of quantized training on integers.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/exact_sums.h"

namespace fixpoint::kernels {

// y = float(acc) * scale of the filter, where acc is the sum of the products of codes: the same
// integer on every machine, with any number of threads, up to what 32 bits hold. Where the machine
// has no exact products of 8 bits (instruction_set.h) the codes are multiplied as floats, with as
// few products in a sum as floats add without rounding.
class IntegerConvolution {
 public:
  // Errors: kInvalidArgument: those of CompleteShape; a sum may not fit in 32 bits;
  // kUnimplemented: oneDNN has no kernel for it.
  static absl::StatusOr<std::unique_ptr<IntegerConvolution>> Plan(ConvolutionShape shape,
                                                                  CodeType images);
  virtual ~IntegerConvolution() = default;

  // Takes the codes of the filters, row major, and keeps them as the kernel wants them.
  virtual void SetFilters(absl::Span<const int8_t> codes) = 0;

  // Codes of the images and y, channels last; a scale for each filter. REQUIRES: SetFilters was
  // called; the sizes are the shape's; the codes are of the planned type, as bytes.
  virtual void Run(absl::Span<const uint8_t> images, absl::Span<const float> scales,
                   absl::Span<float> y) = 0;

  // As oneDNN calls it: "brgconv:avx512_core_vnni".
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_CONVOLUTION_H_
