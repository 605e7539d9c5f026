// fc, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// Whatever oneDNN has after a product of these instructions.
TEST(Fc, OfNumbersAddsItsBiasAndAppliesItsRelu) {
  const std::string inputs =
      Drawn("x", {5, 2, 15}) + Drawn("w", {30, 6}) + Drawn("b", {6}) + Drawn("r", {5, 6});
  for (const std::string attributes : {"", " {activation_type=\"relu\"}"}) {
    const std::string fc =
        "program version=2006002\nblock 0 {\nfc(Input=x, W=w, Bias=b) -> (Out=y)" + attributes +
        "\n";
    EXPECT_EQ(OpDifferences(fc + "}", inputs), "");
    EXPECT_EQ(OpDifferences(fc + "elementwise_add(X=y, Y=r) -> (Out=z)\nrelu(X=z) -> (Out=s)\n}",
                            inputs, 1e-5, {"s"}),
              "");
  }
}

}  // namespace
}  // namespace fixpoint::executor
