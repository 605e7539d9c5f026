// Which parts the gradient of filters is cut into.

#include "runtime/kernels/convolution_parts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/window.h"
#include "runtime/kernels/convolution_shape.h"

namespace fixpoint::kernels {
namespace {

// "2 of images: 1x8x16 from 0, 0; 1x8x16 from 1120, 1024": batch, rows of the output and filters,
// and where the images and the output begin.
std::string Cut(int64_t batch, int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                int64_t stride = 1, int64_t groups = 1) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.channels = channels;
  shape.height = shape.width = size;
  shape.filters = filters;
  shape.groups = groups;
  const WindowAxis axis = {kernel, stride, 1, kernel / 2, kernel / 2};
  shape.window = {axis, axis};
  EXPECT_EQ(CompleteShape(&shape), absl::OkStatus());
  const ConvolutionParts cut = PartsOfFilterGradient(shape);
  std::vector<std::string> parts;
  for (const auto& [part, x, dy] : cut.parts) {
    ConvolutionShape complete = part;
    EXPECT_EQ(CompleteShape(&complete), absl::OkStatus());
    EXPECT_EQ(complete.out_height, part.out_height);
    parts.push_back(
        absl::StrCat(part.batch, "x", part.out_height, "x", part.filters, " from ", x, ", ", dy));
  }
  return absl::StrCat(cut.parts.size(),
                      cut.cut == ConvolutionParts::Cut::kImages ? " of images: " : " of filters: ",
                      absl::StrJoin(parts, "; "));
}

TEST(PartsOfFilterGradient, AreImagesWhereTheseAreMany) {
  EXPECT_EQ(Cut(5, 16, 32, 16, 3),
            "4 of images: 1x32x16 from 0, 0; 1x32x16 from 16384, 16384; 1x32x16 from 32768, 32768; "
            "2x32x16 from 49152, 49152");
  EXPECT_EQ(Cut(32, 64, 8, 64, 3),
            "4 of images: 8x8x64 from 0, 0; 8x8x64 from 32768, 32768; 8x8x64 from 65536, 65536; "
            "8x8x64 from 98304, 98304");
}

TEST(PartsOfFilterGradient, AreRowsOfLargeImages) {
  EXPECT_EQ(Cut(1, 16, 32, 16, 3), "2 of images: 1x16x16 from 0, 0; 1x16x16 from 7680, 8192");
}

TEST(PartsOfFilterGradient, AreFiltersOfSmallImages) {
  EXPECT_EQ(Cut(1, 64, 8, 64, 3), "2 of filters: 1x8x32 from 0, 0; 1x8x32 from 0, 32");
}

TEST(PartsOfFilterGradient, EachHasRowsOfTheImage) {
  ConvolutionShape shape;
  shape.channels = shape.filters = 16;
  shape.height = shape.width = 40;
  for (const int64_t kernel : {1, 3}) {
    for (int64_t padding = 0; padding <= 40; ++padding) {
      const WindowAxis axis = {kernel, 1, 1, padding, padding};
      shape.window = {axis, axis};
      ASSERT_EQ(CompleteShape(&shape), absl::OkStatus());
      for (const auto& part : PartsOfFilterGradient(shape).parts) {
        EXPECT_GE(part.shape.height, 1) << kernel << ", padding " << padding;
      }
    }
  }
}

TEST(PartsOfFilterGradient, AreOneWhereThereIsLittleToCompute) {
  EXPECT_EQ(Cut(1, 3, 32, 16, 3), "1 of images: 1x32x16 from 0, 0");
}

}  // namespace
}  // namespace fixpoint::kernels
