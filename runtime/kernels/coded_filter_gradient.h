// The gradient of a convolution's filters, from codes of its images and of the gradient of its
// output, exact.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODED_FILTER_GRADIENT_H_
#define FIXPOINT_RUNTIME_KERNELS_CODED_FILTER_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// dfilters = float(sum of the products of codes over the pixels of all images) * scale. Sums are
// added in 32 bits for as many images as these hold, and those in 64.
class CodedFilterGradient {
 public:
  // `type` is that of the images' codes; those of the gradient are signed. Error (kUnimplemented):
  // the machine has no AVX512_VNNI; there are groups; 32 bits may not hold the sum over one image.
  static absl::StatusOr<std::unique_ptr<CodedFilterGradient>> Plan(const ConvolutionShape& shape,
                                                                   CodeType type);

  // Images and gradient lie channels last. Not for two threads at once. REQUIRES: the sizes are
  // what was planned.
  void Run(absl::Span<const uint8_t> images, absl::Span<const int8_t> gradient, float scale,
           absl::Span<float> dfilters);

  std::string implementation() const { return "loops:avx512_core_vnni"; }

 private:
  CodedFilterGradient(const ConvolutionShape& shape, CodeType type) : shape_(shape), type_(type) {}

  const ConvolutionShape shape_;
  const CodeType type_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODED_FILTER_GRADIENT_H_
