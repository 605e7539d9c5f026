#include "ops/window.h"

#include <gtest/gtest.h>

namespace fixpoint {
namespace {

WindowAttrs Attrs() { return {{1, 1}, {0, 0}, {1, 1}, "EXPLICIT"}; }

TEST(Window, TwoPaddingsAreForBothSides) {
  WindowAttrs attrs = Attrs();
  attrs.paddings = {1, 2};
  const Window window = *MakeWindow(attrs, {3, 5}, {8, 8});
  EXPECT_EQ(window[0].pad_before, 1);
  EXPECT_EQ(window[0].pad_after, 1);
  EXPECT_EQ(window[1].pad_before, 2);
  EXPECT_EQ(*WindowCount(8, window[0]), 8);
  EXPECT_EQ(*WindowCount(8, window[1]), 8);
}

TEST(Window, FourPaddingsAreTopBottomLeftRight) {
  WindowAttrs attrs = Attrs();
  attrs.paddings = {1, 2, 3, 4};
  const Window window = *MakeWindow(attrs, {1, 1}, {8, 8});
  EXPECT_EQ(window[0].pad_after, 2);
  EXPECT_EQ(window[1].pad_before, 3);
}

// 4x4, 3x3 window, stride 2: 2x2 windows, one row of padding, which goes after.
TEST(Window, SamePadsAfterRatherThanBefore) {
  WindowAttrs attrs = Attrs();
  attrs.strides = {2, 2};
  attrs.dilations = {3, 3};  // does not count
  attrs.padding_algorithm = "SAME";
  const Window window = *MakeWindow(attrs, {3, 3}, {4, 4});
  EXPECT_EQ(window[0].pad_before, 0);
  EXPECT_EQ(window[0].pad_after, 1);
  EXPECT_EQ(window[0].dilation, 1);
  EXPECT_EQ(*WindowCount(4, window[0]), 2);
}

TEST(Window, ValidIgnoresPaddings) {
  WindowAttrs attrs = Attrs();
  attrs.paddings = {5, 5};
  attrs.padding_algorithm = "VALID";
  EXPECT_EQ(*WindowCount(8, (*MakeWindow(attrs, {3, 3}, {8, 8}))[0]), 6);
}

TEST(Window, CountRoundsDownOrUp) {
  const WindowAxis axis{3, 2, 1, 1, 1};
  EXPECT_EQ(*WindowCount(4, axis), 2);
  EXPECT_EQ(*WindowCount(4, axis, /*ceil_mode=*/true), 3);
  EXPECT_EQ(*WindowCount(kUnknownDim, axis), kUnknownDim);
}

TEST(Window, MayStickOutWhereItIsTheOnlyOne) {
  EXPECT_EQ(*WindowCount(1, {2, 2, 1, 0, 0}), 1);
  EXPECT_EQ(WindowCount(1, {3, 2, 1, 0, 0}).status().message(),
            "no window of 3 (dilation 1) fits in 1 with paddings 0 and 0");
}

// The reference's 3x3 image, 3x3 window of ones, stride 2, padding 1: 5x5.
TEST(Window, TransposedGrows) {
  EXPECT_EQ(*TransposedSize(3, {3, 2, 1, 1, 1}), 5);
  EXPECT_EQ(TransposedSize(1, {1, 1, 1, 1, 1}).status().message(),
            "a window of 1 (stride 1, paddings 1 and 1) makes nothing of 1");
}

TEST(Window, AbsurdNumbersAreErrors) {
  const int64_t huge = 9223372036854775807;
  EXPECT_EQ(TransposedSize(huge, {3, 2147483647, 1, 0, 0}).status().message(),
            "a spatial size is more than an int64 holds");
  EXPECT_EQ(WindowCount(8, {huge, 1, 2147483647, 0, 0}).status().message(),
            "no window of 9223372036854775807 (dilation 2147483647) fits in 8 with paddings 0 "
            "and 0");
}

struct BadAttrs {
  WindowAttrs attrs;
  const char* message;
};

TEST(Window, AttributesOutOfRangeAreErrors) {
  const BadAttrs kCases[] = {
      {{{0, 1}, {0, 0}, {1, 1}, "EXPLICIT"}, "strides is [0, 1]; want two positive numbers"},
      {{{1}, {0, 0}, {1, 1}, "EXPLICIT"}, "strides is [1]; want two positive numbers"},
      {{{1, 1}, {0, 0}, {1, -1}, "EXPLICIT"}, "dilations is [1, -1]; want two positive numbers"},
      {{{1, 1}, {0, -1}, {1, 1}, "EXPLICIT"},
       "paddings is [0, -1]; want 2 or 4 numbers, none negative"},
      {{{1, 1}, {0, 0, 0}, {1, 1}, "EXPLICIT"},
       "paddings is [0, 0, 0]; want 2 or 4 numbers, none negative"},
      {{{1, 1}, {0, 0}, {1, 1}, "FULL"},
       "padding_algorithm is \"FULL\"; want EXPLICIT, SAME or VALID"},
  };
  for (const BadAttrs& bad : kCases) {
    EXPECT_EQ(MakeWindow(bad.attrs, {3, 3}, {8, 8}).status().message(), bad.message);
  }
}

}  // namespace
}  // namespace fixpoint
