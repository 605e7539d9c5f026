// Convolution of floats, and its gradients. Images lie channels last, filters row major.

#ifndef FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::kernels {

// A planned convolution. The spans that it runs on have the shape's sizes. Not for two threads at
// once.
class ConvolutionPrimitive {
 public:
  virtual ~ConvolutionPrimitive() = default;

  // oneDNN's name for it: "brgconv:avx512_core".
  virtual std::string implementation() const = 0;
};

// y is x convolved with the packed filters, with the epilogue. Stages that oneDNN cannot apply to
// its sums, or applies element by element, are loops of our own.
class ConvolutionForward : public ConvolutionPrimitive, public PacksWeights<float> {
 public:
  // `adds_to_output`: the only kAddElement stage adds the elements that are already in y, and its
  // operand is not read; the result is the same up to rounding, because sums may begin with those
  // elements. Errors, here and below: those of CompleteShape and Planned (onednn.h);
  // kUnimplemented: there is no kernel that adds to the output.
  static absl::StatusOr<std::unique_ptr<ConvolutionForward>> Plan(ConvolutionShape shape,
                                                                  const Epilogue& epilogue = {},
                                                                  bool adds_to_output = false);
  virtual void Run(absl::Span<const float> x, absl::Span<const uint8_t> filters,
                   EpilogueOperands operands, absl::Span<float> y) = 0;
};

// dx, of dy and packed filters. T, here and below: float, or Bfloat16, whose products are added in
// floats; filters are rounded to it where they are packed. Error, if it is Bfloat16: that of
// CheckBfloat16Products.
template <typename T>
class ConvolutionBackwardImages : public ConvolutionPrimitive, public PacksWeights<float> {
 public:
  static absl::StatusOr<std::unique_ptr<ConvolutionBackwardImages>> Plan(ConvolutionShape shape);
  virtual void Run(absl::Span<const T> dy, absl::Span<const uint8_t> filters,
                   absl::Span<float> dx) = 0;
};

// Which gradients bfloat16 is for: not those that oneDNN computes wrongly, nor a kind that takes
// longer in it. Single shapes of the others may: that of 3x3 filters over 20 channels in 4 groups
// takes 1.08 of the time in float.
struct GradientsInBfloat16 {
  bool images = false;
  bool filters = false;
};
// Of a complete shape.
GradientsInBfloat16 GradientsForBfloat16(const ConvolutionShape& shape);

// dfilters, of x and dy. The shape decides in which parts it is computed (convolution_parts.h), so
// that any number of threads gives the same bits. Error, if T is Bfloat16 (kUnimplemented): it is
// not for them.
template <typename T>
class ConvolutionBackwardFilters : public ConvolutionPrimitive {
 public:
  static absl::StatusOr<std::unique_ptr<ConvolutionBackwardFilters>> Plan(ConvolutionShape shape);
  // The bytes of `work`, where parts are.
  virtual int64_t work_bytes() const = 0;
  virtual void Run(absl::Span<const T> x, absl::Span<const T> dy, absl::Span<uint8_t> work,
                   absl::Span<float> dfilters) = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_H_
