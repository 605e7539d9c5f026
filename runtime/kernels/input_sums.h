// The sums of the inputs that are multiplied for an output element: a zero point of its weights is
// multiplied by them and subtracted.

#ifndef FIXPOINT_RUNTIME_KERNELS_INPUT_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_INPUT_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

class InputSums {
 public:
  InputSums(const ConvolutionShape& shape, CodeType type);
  InputSums(const ProductShape& shape, CodeType type);

  // [pixel of the output, or row, group], of codes less the zero point; padding adds nothing. Stays
  // valid until the next run.
  const int32_t* Run(absl::Span<const uint8_t> inputs, int32_t zero_point);

 private:
  void AddUpPixels(absl::Span<const uint8_t> inputs, int32_t zero_point);
  void AddUpWindows();

  const ConvolutionShape shape_;
  const CodeType type_;
  const bool is_transposed_;      // codes of a pixel, which is a row, lie apart
  std::vector<int32_t> pixels_;   // [pixel, group]
  std::vector<int32_t> windows_;  // empty: windows are pixels
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INPUT_SUMS_H_
