// Images from one order in memory to the other, and back.

#include "runtime/kernels/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kernels/channel_affine.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kBatch = 2;
constexpr int64_t kChannels = 5;
constexpr int64_t kHeight = 3;
constexpr int64_t kWidth = 4;

template <typename T>
void ExpectConverts() {
  std::vector<T> images(kBatch * kChannels * kHeight * kWidth);
  std::iota(images.begin(), images.end(), T{1});
  std::vector<T> channels_last(images.size());
  std::vector<T> back(images.size());
  const Dims dims = {kBatch, kChannels, kHeight, kWidth};
  const auto there = LayoutConversion::Plan(dims, sizeof(T), ImageOrder::kToChannelsLast);
  const auto again = LayoutConversion::Plan(dims, sizeof(T), ImageOrder::kToRowMajor);
  ASSERT_TRUE(there.ok() && again.ok());
  const auto bytes = [](std::vector<T>& values) {
    return reinterpret_cast<uint8_t*>(values.data());
  };
  (*there)->Run(bytes(images), bytes(channels_last));
  size_t i = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t place = 0; place < kHeight * kWidth; ++place, ++i) {
        ASSERT_EQ(channels_last[(n * kHeight * kWidth + place) * kChannels + c], images[i]) << i;
      }
    }
  }
  (*again)->Run(bytes(channels_last), bytes(back));
  EXPECT_EQ(back, images);
}

TEST(LayoutConversion, OfFloats) { ExpectConverts<float>(); }
TEST(LayoutConversion, OfCodes) { ExpectConverts<uint8_t>(); }
TEST(LayoutConversion, OfWideCodes) { ExpectConverts<int16_t>(); }

TEST(LayoutConversion, RefusesOtherElements) {
  EXPECT_EQ(LayoutConversion::Plan({1, 2, 2, 2}, 8, ImageOrder::kToChannelsLast).status(),
            absl::UnimplementedError("images of elements of 8 bytes; want 1, 2 or 4"));
}

// 1 + 2^-12 squared has a bit that a float has not: a fused multiply-add would keep it.
TEST(ChannelAffine, RoundsAfterEachOperation) {
  const float almost_one = 1.0f + 0x1p-12f;
  const std::vector<float> x = {almost_one, 2, 3, 4};
  std::vector<float> y(4);
  ChannelAffine(x, {almost_one, 10.0f}, {-(1.0f + 0x1p-11f), 1.0f}, absl::MakeSpan(y));
  EXPECT_EQ(y, (std::vector<float>{0, 21, 3 * almost_one - (1.0f + 0x1p-11f), 41}));
}

}  // namespace
}  // namespace fixpoint::kernels
