#include "transpiler/exchange/tensorrt_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "tests/transpiler/exchange/ranges_fixture.h"

namespace fixpoint {
namespace {

using TensorRtCache = LearnedRangesTest;
using TensorRtCacheOfAffine = AffineRangesTest;

std::string ErrorOf(const std::string& text) {
  return std::string(ReadTensorRtCache(text, "cache").status().message());
}

TEST_F(TensorRtCache, HasTheStepsOfActivationsInHexadecimal) {
  const auto text = WriteTensorRtCache(ranges_);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text,
            "TRT-8601-EntropyCalibration2\n"
            "x: 3c010205\n"
            "h: 38cbdd43\n");
}

TEST_F(TensorRtCache, ReadBackGivesTheRangesToTheBit) {
  const auto profile = ReadTensorRtCache(*WriteTensorRtCache(ranges_), "cache");
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->entries_size(), 2);
  EXPECT_EQ(profile->entries(0).variable(), "x");
  EXPECT_EQ(profile->entries(0).max(), 1.00000012f);
  EXPECT_EQ(profile->entries(0).min(), -1.00000012f);
  EXPECT_EQ(profile->entries(1).variable(), "h");
  EXPECT_EQ(profile->entries(1).max(), 0.0123456791f);
}

// Of any range: a step is finer than what 127 of them are rounded to, but for the ranges just below
// a power of two, where the step is what comes back.
TEST_F(TensorRtCache, WrittenAgainIsTheSame) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float range = std::ldexp(1 + static_cast<float>(random() % (1 << 23)) / (1 << 23),
                                   static_cast<int>(random() % 200) - 100);
    ranges_[0].scales = {range};
    const std::string text = *WriteTensorRtCache(ranges_);
    const auto profile = ReadTensorRtCache(text, "cache");
    ASSERT_TRUE(profile.ok()) << profile.status();
    ranges_[0].scales = {profile->entries(0).max()};
    ASSERT_EQ(*WriteTensorRtCache(ranges_), text) << range;
  }
}

TEST_F(TensorRtCacheOfAffine, IsRefused) {
  EXPECT_EQ(WriteTensorRtCache(ranges_).status().message(),
            "\"h\" has a zero point, which TensorRT does not have; want 8 bits with a sign, one "
            "scale and no zero point, as --target=tensorrt_int8 makes");
}

TEST(TensorRtCacheText, OfOthersIsReadByItsLastColon) {
  const auto profile = ReadTensorRtCache(
      "TRT-7103-MinMaxCalibration\r\nscope: a/b: 3c010204\r\n"
      "(Unnamed Layer* 3) [Constant]_output: 3c010a14\ny:0: 3C010A14\n",
      "cache");
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->entries_size(), 2);
  EXPECT_EQ(profile->entries(0).variable(), "scope: a/b");
  EXPECT_EQ(profile->entries(0).max(), 1.0f);
  EXPECT_EQ(profile->entries(1).variable(), "y:0");
  EXPECT_NEAR(profile->entries(1).max(), 1.00024, 1e-5);
}

TEST(TensorRtCacheText, ThatIsWrongIsRefusedByItsLine) {
  const std::string first = "TRT-8601-EntropyCalibration2\n";
  EXPECT_EQ(ErrorOf("TRT-8601-Entropy\n"),
            "cache:1: \"TRT-8601-Entropy\" is no first line of a calibration cache; want "
            "TRT-<version>-<calibrator>, with one of EntropyCalibration, EntropyCalibration2, "
            "LegacyCalibration, MinMaxCalibration");
  EXPECT_EQ(ErrorOf(first + "x 3c010204\n"),
            "cache:2: want <tensor>: <the 8 hexadecimal digits of its step>");
  EXPECT_EQ(ErrorOf(first + "x: 3c0102\n"),
            "cache:2: \"x\": got \"3c0102\"; want the 8 hexadecimal digits of an FP32");
  EXPECT_EQ(ErrorOf(first + "x: 0x3c0102\n"),
            "cache:2: \"x\": got \"0x3c0102\"; want the 8 hexadecimal digits of an FP32");
  EXPECT_EQ(ErrorOf(first + "x: 7fc00000\n"),
            "cache:2: \"x\": 7fc00000 is a step of nan; want a finite number that is not negative, "
            "also 127 times");
  EXPECT_EQ(ErrorOf(first + "x: bc010204\n"),
            "cache:2: \"x\": bc010204 is a step of -0.00787402; want a finite number that is not "
            "negative, also 127 times");
  EXPECT_EQ(ErrorOf(first + "x: 7f7fffff\n"),
            "cache:2: \"x\": 7f7fffff is a step of 3.40282e+38; want a finite number that is not "
            "negative, also 127 times");
}

}  // namespace
}  // namespace fixpoint
