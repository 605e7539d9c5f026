// Convolutions of every kind, and their sums in plain loops.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_CONVOLUTION_CASES_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_CONVOLUTION_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernels/convolution_shape.h"

namespace fixpoint::kernels {

struct ConvolutionCase {
  std::string name;
  ConvolutionShape shape;
};

std::vector<ConvolutionCase> ConvolutionCases();

// More of them, of the shapes that there are tiles for (tiled_sums.h).
std::vector<ConvolutionCase> TiledConvolutionCases();

// Convolutions whose only window sticks out of the padded image (ops/window.h), for which oneDNN
// has slow kernels.
std::vector<ConvolutionCase> StickingOutConvolutionCases();

// Those whose gradient of filters is computed in parts (convolution_parts.h): images, rows of them
// or filters.
std::vector<ConvolutionCase> ConvolutionsInParts();

// Those where a column of the filters meets nothing but padding, in windows that step.
std::vector<ConvolutionCase> ColumnInPaddingConvolutionCases();

// The first two lists. Large ones are more than the caches are expected to have, or long sums, and
// take longer than all small ones: a test with a table of its own has few of its rows with them.
std::vector<ConvolutionCase> SmallIntegerConvolutionCases();
std::vector<ConvolutionCase> LargeIntegerConvolutionCases();

// Whether oneDNN planned a kernel that is slow. With AVX2 alone it has no other than gemm for some
// of the cases.
bool IsSlow(const std::string& implementation);

// Calls f(y, x, filter) with the places of each output element and of what is multiplied for it;
// images and outputs channels last, filters row major.
template <typename F>
void ForEachTap(const ConvolutionShape& shape, F f) {
  const auto& rows = shape.window[0];
  const auto& columns = shape.window[1];
  const int64_t channels = shape.channels / shape.groups;
  const int64_t filters = shape.filters / shape.groups;
  int64_t out = 0;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t y = 0; y < shape.out_height; ++y) {
      for (int64_t x = 0; x < shape.out_width; ++x) {
        for (int64_t filter = 0; filter < shape.filters; ++filter, ++out) {
          int64_t tap = filter * shape.taps();
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t channel = filter / filters * channels + c;
            for (int64_t i = 0; i < rows.kernel; ++i) {
              for (int64_t j = 0; j < columns.kernel; ++j, ++tap) {
                const int64_t row = y * rows.stride + i * rows.dilation - rows.pad_before;
                const int64_t column =
                    x * columns.stride + j * columns.dilation - columns.pad_before;
                if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
                f(out, ((n * shape.height + row) * shape.width + column) * shape.channels + channel,
                  tap);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_CONVOLUTION_CASES_H_
