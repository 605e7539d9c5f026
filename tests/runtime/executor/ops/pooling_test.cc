// pool2d of images whose channels lie last in the program, on the executor and on the reference
// interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(PoolingOfNhwc, AndItsGradient) {
  for (const std::string type : {"max", "avg"}) {
    for (const std::string window :
         {"ksize=[3, 2], strides=[2, 1], paddings=[1, 0]",
          "ksize=[3, 3], strides=[2, 2], ceil_mode=true, exclusive=false",
          "ksize=[2, 3], adaptive=true", "ksize=[1, 1], global_pooling=true"}) {
      const std::string attributes =
          absl::StrCat("{pooling_type=\"", type, "\", data_format=\"NHWC\", ", window, "}");
      SCOPED_TRACE(attributes);
      const std::string program = absl::StrCat(
          "program version=2006002\nblock 0 {\npool2d(X=x) -> (Out=y) ", attributes,
          "\nrelu(X=y) -> (Out=dy)\npool2d_grad(X=x, Out=y, Out@GRAD=dy) -> (X@GRAD=dx) ",
          attributes, "\n}");
      EXPECT_EQ(OpDifferences(program, Drawn("x", {2, 7, 6, 3})), "");
    }
  }
}

TEST(PoolingOfNhwc, OfCodesToo) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=8}
        pool2d(X=q) -> (Out=y) {ksize=[2, 2], pooling_type="avg", data_format="NHWC"}
      })",
                          Drawn("x", {2, 5, 4, 3}), 1e-6, {"y"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
