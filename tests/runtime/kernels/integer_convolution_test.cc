// The sums of products of codes against plain loops in 64 bits.

#include "runtime/kernels/integer_convolution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  const char* name;
  ConvolutionShape shape;
};

WindowAxis Axis(int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after) {
  return {kernel, stride, dilation, before, after};
}

ConvolutionShape Shape(int64_t channels, int64_t filters, int64_t groups, int64_t size,
                       WindowAxis rows, WindowAxis columns) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.channels = channels;
  shape.height = shape.width = size;
  shape.filters = filters;
  shape.groups = groups;
  shape.window = {rows, columns};
  EXPECT_TRUE(CompleteShape(&shape).ok());
  return shape;
}

std::vector<Case> Cases() {
  return {
      {"Pointwise", Shape(16, 24, 1, 7, Axis(1, 1, 1, 0, 0), Axis(1, 1, 1, 0, 0))},
      {"Padded", Shape(3, 16, 1, 9, Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1))},
      {"Strided", Shape(16, 32, 1, 9, Axis(3, 2, 1, 1, 1), Axis(3, 2, 1, 1, 1))},
      {"Dilated", Shape(8, 8, 1, 11, Axis(3, 1, 2, 2, 2), Axis(3, 1, 2, 2, 2))},
      {"PaddedOnOneSide", Shape(4, 8, 1, 8, Axis(2, 1, 1, 0, 1), Axis(3, 2, 1, 0, 1))},
      {"Grouped", Shape(8, 12, 4, 6, Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1))},
      {"Depthwise", Shape(20, 20, 20, 10, Axis(3, 2, 1, 1, 1), Axis(3, 2, 1, 1, 1))},
      {"OddSizes", Shape(5, 7, 1, 5, Axis(5, 1, 1, 2, 2), Axis(1, 1, 1, 0, 0))},
      // More than floats add exactly, if all codes are the largest.
      {"ManyTaps", Shape(80, 6, 1, 4, Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1))},
  };
}

// Sums of products, channels last.
std::vector<int64_t> Sums(const ConvolutionShape& shape, const std::vector<int>& images,
                          absl::Span<const int8_t> filters) {
  const auto [rows, columns] = shape.window;
  const int64_t channels = shape.channels / shape.groups;
  const int64_t filters_of_group = shape.filters / shape.groups;
  std::vector<int64_t> sums(shape.output_size(), 0);
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t y = 0; y < shape.out_height; ++y) {
      for (int64_t x = 0; x < shape.out_width; ++x) {
        for (int64_t f = 0; f < shape.filters; ++f) {
          int64_t& sum =
              sums[((n * shape.out_height + y) * shape.out_width + x) * shape.filters + f];
          for (int64_t c = 0; c < channels; ++c) {
            for (int64_t i = 0; i < rows.kernel; ++i) {
              for (int64_t j = 0; j < columns.kernel; ++j) {
                const int64_t row = y * rows.stride + i * rows.dilation - rows.pad_before;
                const int64_t column =
                    x * columns.stride + j * columns.dilation - columns.pad_before;
                if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
                const int64_t channel = f / filters_of_group * channels + c;
                sum +=
                    int64_t{filters[((f * channels + c) * rows.kernel + i) * columns.kernel + j]} *
                    images[((n * shape.height + row) * shape.width + column) * shape.channels +
                           channel];
              }
            }
          }
        }
      }
    }
  }
  return sums;
}

// Codes that look random, or all as large as they can be.
enum class Codes { kMixed, kLargest };

class ExactConvolution : public testing::TestWithParam<std::tuple<Case, CodeType, Codes>> {};

TEST_P(ExactConvolution, GivesTheSumsOfPlainLoops) {
  const auto& [test, type, codes] = GetParam();
  const ConvolutionShape& shape = test.shape;
  std::vector<int> images(shape.input_size());
  std::vector<uint8_t> image_codes(images.size());
  uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  for (size_t i = 0; i < images.size(); ++i) {
    const int mixed = static_cast<int>(next() >> 24);
    images[i] = codes == Codes::kLargest ? 255 : mixed;
    if (type == CodeType::kInt8) images[i] -= codes == Codes::kLargest ? 128 : 127;
    image_codes[i] = static_cast<uint8_t>(images[i]);
    if (type == CodeType::kInt8) images[i] = static_cast<int8_t>(image_codes[i]);
  }
  std::vector<int8_t> filters(shape.filter_size());
  for (int8_t& filter : filters) {
    filter = codes == Codes::kLargest ? -127 : static_cast<int8_t>(next() >> 24);
    if (filter == -128) filter = -127;
  }

  absl::StatusOr<std::unique_ptr<IntegerConvolution>> planned =
      IntegerConvolution::Plan(shape, type);
  ASSERT_TRUE(planned.ok()) << planned.status();
  IntegerConvolution& convolution = **planned;
  SCOPED_TRACE(convolution.implementation());
  // With AVX2 alone, oneDNN has nothing better for a few small groups.
  const bool has_small_groups = shape.groups > 1 && shape.groups < shape.channels;
  for (const char* slow : {"ref", "simple", has_small_groups ? "simple" : "gemm"}) {
    EXPECT_EQ(convolution.implementation().find(slow), std::string::npos);
  }
  std::vector<float> scales(shape.filters);
  for (size_t f = 0; f < scales.size(); ++f) scales[f] = 0.001f * static_cast<float>(f + 1);
  std::vector<float> y(shape.output_size());
  const std::vector<int64_t> sums = Sums(shape, images, filters);
  for (int step = 0; step < 2; ++step) {
    convolution.SetFilters(filters);
    convolution.Run(image_codes, scales, absl::MakeSpan(y));
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], static_cast<float>(sums[i]) * scales[i % scales.size()]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ExactConvolution,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::Values(CodeType::kUint8, CodeType::kInt8),
                                          testing::Values(Codes::kMixed, Codes::kLargest)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == CodeType::kUint8 ? "Uint8" : "Int8") +
                                  (std::get<2>(info.param) == Codes::kMixed ? "Mixed" : "Largest");
                         });

TEST(IntegerConvolution, RefusesWhatDoesNotFit) {
  ConvolutionShape shape = Shape(3, 16, 1, 9, Axis(3, 1, 1, 1, 1), Axis(3, 1, 1, 1, 1));
  shape.groups = 2;
  EXPECT_EQ(IntegerConvolution::Plan(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError("2 groups of 3 channels and 16 filters; want a divisor of "
                                       "both"));
  shape.groups = 1;
  shape.channels = 10000;
  EXPECT_EQ(IntegerConvolution::Plan(shape, CodeType::kUint8).status(),
            absl::InvalidArgumentError(
                "a convolution with 90000 products in a sum; want fewer, so that a sum of products "
                "of codes fits in 32 bits"));
}

}  // namespace
}  // namespace fixpoint::kernels
