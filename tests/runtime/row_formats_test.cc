// Bytes of rows, beside what FBGEMM and Glow write by their formulas.

#include "runtime/row_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

std::string Hex(absl::Span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    absl::StrAppend(&text, text.empty() ? "" : " ", absl::Hex(byte, absl::kZeroPad2));
  }
  return text;
}

std::string Encoded(RowFormat format, const std::vector<float>& row) {
  const absl::StatusOr<size_t> size = RowBytes(format, row.size());
  if (!size.ok()) return std::string(size.status().message());
  std::vector<uint8_t> bytes(*size, 0xff);
  const absl::Status status = EncodeRow(format, row, absl::MakeSpan(bytes));
  return status.ok() ? Hex(bytes) : std::string(status.message());
}

// Scale 1 and minimum -1 as FP32 are 00 00 80 3f and 00 00 80 bf, as FP16 00 3c and 00 bc.
TEST(RowFormats, HaveTheirBytesInOrder) {
  EXPECT_EQ(Encoded(RowFormat::kFused8, {-1, 254, 0}), "00 ff 01 00 00 80 3f 00 00 80 bf");
  EXPECT_EQ(Encoded(RowFormat::kGlowFused8, {-1, 254, 0}), "00 ff 01 00 00 80 3f 00 00 80 bf");
  EXPECT_EQ(Encoded(RowFormat::kFused8Half, {-1, 254, 0}), "00 ff 01 00 3c 00 bc");
  EXPECT_EQ(Encoded(RowFormat::kFused4Half, {-1, 14, 0}), "f0 01 00 3c 00 bc");
  EXPECT_EQ(Encoded(RowFormat::kFused2Half, {-1, 2, 0, 1, 2}), "9c 03 00 3c 00 bc");
  EXPECT_EQ(Encoded(RowFormat::kPaddleDequant, {-1, 255, 0, 1}),
            "00 00 80 bf 00 00 7f 43 00 ff 01 02");
}

// A row of one value: FBGEMM has the scale 0, Glow and the formats with FP16 have 1.
TEST(RowFormats, OfARowOfOneValue) {
  EXPECT_EQ(Encoded(RowFormat::kFused8, {-1, -1}), "00 00 00 00 00 00 00 00 80 bf");
  EXPECT_EQ(Encoded(RowFormat::kGlowFused8, {-1, -1}), "00 00 00 00 80 3f 00 00 80 bf");
  EXPECT_EQ(Encoded(RowFormat::kFused4Half, {-1, -1}), "00 00 3c 00 bc");
  EXPECT_EQ(Encoded(RowFormat::kPaddleDequant, {-1, -1, -1, -1}),
            "00 00 80 bf 00 00 80 bf 00 00 00 00");
}

// FBGEMM rounds ties to even, Glow away from zero: 0.5 and 2.5 steps.
TEST(RowFormats, RoundTiesAsTheirToolDoes) {
  EXPECT_EQ(Encoded(RowFormat::kFused8, {0, 255, 0.5f, 2.5f}),
            "00 ff 00 02 00 00 80 3f 00 00 00 00");
  EXPECT_EQ(Encoded(RowFormat::kGlowFused8, {0, 255, 0.5f, 2.5f}),
            "00 ff 01 03 00 00 80 3f 00 00 00 00");
}

TEST(RowFormats, GiveBackEachElementWithinHalfAStep) {
  std::vector<float> row;
  for (int i = 0; i < 64; ++i) row.push_back(std::sin(static_cast<float>(i)) * 3 + 0.25f);
  for (const NamedRowFormat& named : RowFormats()) {
    std::vector<uint8_t> bytes(*RowBytes(named.format, row.size()));
    ASSERT_TRUE(EncodeRow(named.format, row, absl::MakeSpan(bytes)).ok()) << named.name;
    std::vector<float> decoded(row.size());
    DecodeRow(named.format, bytes, absl::MakeSpan(decoded));
    const bool has_256_steps = named.format == RowFormat::kPaddleDequant;
    const int largest = named.format == RowFormat::kFused2Half   ? 3
                        : named.format == RowFormat::kFused4Half ? 15
                                                                 : 255;
    // The last code of 256 steps is a step below the maximum; FP16 has 11 bits.
    const float step = 6.0f / static_cast<float>(largest) * (has_256_steps ? 2.0f : 1.02f);
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(decoded[i], row[i], step / 2 + 0.004f) << named.name << ", element " << i;
    }
    // Encoding what was decoded moves no element by more than a step.
    std::vector<uint8_t> again(bytes.size());
    ASSERT_TRUE(EncodeRow(named.format, decoded, absl::MakeSpan(again)).ok());
    std::vector<float> decoded_again(row.size());
    DecodeRow(named.format, again, absl::MakeSpan(decoded_again));
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(decoded_again[i], decoded[i], step) << named.name;
    }
  }
}

TEST(RowFormats, RefuseWhatTheyCannotHold) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Encoded(RowFormat::kFused8, {}), "rows have no elements");
  EXPECT_EQ(Encoded(RowFormat::kPaddleDequant, {1, 2, 3}),
            "rows have 3 elements; paddle_dequant wants a multiple of 4");
  EXPECT_EQ(Encoded(RowFormat::kFused8, {1, infinity}), "holds inf; want finite numbers");
  EXPECT_EQ(Encoded(RowFormat::kFused8, {-3e38f, 3e38f}),
            "holds -3e+38 to 3e+38, a range that the format does not have");
  EXPECT_EQ(Encoded(RowFormat::kFused4Half, {-1e5f, 0}),
            "holds -100000 to 0, a range that the format does not have");
  EXPECT_EQ(RowFormatOf("fused16").status().message(),
            "there is no format of rows \"fused16\"; did you mean fused8?");
}

}  // namespace
}  // namespace fixpoint
