// Ops that dequantize codes, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// As the reference freezes a convolution and a product: of codes, whose ranges come after them.
TEST(DequantizedProduct, IsByBothRanges) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        fake_channel_wise_dequantize_max_abs(X=y, Scales=[ranges, range]) -> (Out=a) {
          quant_bits=[8, 4], x_num_col_dims=1}
        fake_channel_wise_dequantize_max_abs(X=m, Scales=[ranges, range]) -> (Out=b) {
          quant_bits=[8, 8], x_num_col_dims=1}
        dequantize_log(X=codes, Dict=numbers) -> (Out=c)
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) +
                              Drawn("ranges", {6}) + Drawn("m", {5, 6}) + Drawn("numbers", {128}) +
                              "range f32[1] 0.75\ncodes i8[4] -128 -1 0 127\n"),
            "");
}

// As the reference froze a product in its first releases: the weight's range is in max_range.
TEST(DequantizedProduct, IsByARangeAndWhatIsNoCode) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        fake_dequantize_max_abs(X=y, Scale=range) -> (Out=a) {max_range=20226.6}
        fake_dequantize_max_abs(X=m, Scale=range) -> (Out=b) {max_range=0.5}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("m", {5, 6}) +
                              "range f32[1] 0.75\n"),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
