// Images, and windows that go over them: what convolutions and pooling have in common.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_WINDOWS_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_WINDOWS_H_

#include <cstdint>
#include <string>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

enum class Direction { kForward, kTransposed };

struct SomeConvolution {
  Dims input;   // [N,C,H,W], or [N,H,W,C] where is_channels_last
  Dims filter;  // [O,C/groups,h,w]; of a transposed one [C,O/groups,h,w]
  std::string attributes;
  int64_t filters = 0;  // O
  int64_t groups = 1;
  int64_t taps = 0;  // summands of an output element, at most
  int64_t images = 1;
  bool is_channels_last = false;
};

struct ConvolutionOptions {
  Direction direction = Direction::kForward;
  bool is_depthwise = false;
  bool may_be_channels_last = true;
  // The images, [N,C,H,W], of at most 8,192 elements; empty: drawn.
  Dims input = {};
};

// The windows fit into the image. Widths and channels for which there are kernels of their own come
// often.
SomeConvolution DrawConvolution(CaseMaker& c, const ConvolutionOptions& options);

struct SomePooling {
  Dims input;
  std::string attributes;
  int64_t taps = 0;
};

// `input`: as of ConvolutionOptions.
SomePooling DrawPooling(CaseMaker& c, bool may_be_channels_last, const Dims& input = {});

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_WINDOWS_H_
