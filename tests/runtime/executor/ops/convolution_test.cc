// Convolutions, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Convolution, AndItsGradients) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[2, 1], paddings=[1, 0], groups=2}
        conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
          strides=[2, 1], paddings=[1, 0], groups=2}
      })",
                Drawn("x", {2, 4, 7, 6}) + Drawn("w", {6, 2, 3, 2}) + Drawn("dy", {2, 6, 4, 5})),
            "");
}

// Where the output is larger than the least that the shape allows there are rows of fewer taps;
// a stride above the filter's size leaves rows of none.
TEST(TransposedConvolution, OfNumbersAndOfCodesHasEveryOutputSize) {
  const std::string attributes[] = {"strides=[2, 2], output_padding=[1, 1]",
                                    "strides=[2, 3], output_size=[8, 13]",
                                    "strides=[5, 4], paddings=[1, 0]"};
  for (const char* release : {"", "program version=2006002\n"}) {
    for (const std::string& said : attributes) {
      EXPECT_EQ(OpDifferences(absl::StrCat(release, R"(block 0 {
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {)",
                                           said, "}\n}"),
                              Drawn("x", {2, 4, 3, 4}) + Drawn("w", {4, 3, 3, 2})),
                "")
          << said;
    }
  }
  for (const std::string& said : attributes) {
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xq, OutScale=xs) {bit_length=8}
        fake_quantize_dequantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8}
        conv2d_transpose(Input=xq, Filter=wq) -> (Output=y) {)",
                                         said, "}\n}"),
                            Drawn("x", {2, 4, 3, 4}) + Drawn("w", {4, 3, 3, 2})),
              "")
        << said;
  }
}

}  // namespace
}  // namespace fixpoint::executor
