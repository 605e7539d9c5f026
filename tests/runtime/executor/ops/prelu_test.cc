// prelu, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Prelu, HasOneSlopeOrThoseOfChannelsOrElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        prelu(X=y, Alpha=one) -> (Out=a) {mode="all"}
        prelu(X=y, Alpha=channels) -> (Out=b) {mode="channel"}
        prelu(X=x, Alpha=others) -> (Out=c) {mode="channel"}
        prelu(X=y, Alpha=elements) -> (Out=d) {mode="element"}
        prelu(X=x, Alpha=columns) -> (Out=e) {mode="channel", data_format="NHWC"}
        prelu_grad(X=y, Alpha=one, Out@GRAD=y) -> (X@GRAD=da, Alpha@GRAD=d_one) {mode="all"}
        prelu_grad(X=y, Alpha=channels, Out@GRAD=y) -> (X@GRAD=db, Alpha@GRAD=d_channels) {
          mode="channel"}
        prelu_grad(X=x, Alpha=others, Out@GRAD=x) -> (X@GRAD=dc, Alpha@GRAD=d_others) {
          mode="channel"}
        prelu_grad(X=y, Alpha=elements, Out@GRAD=y) -> (X@GRAD=dd, Alpha@GRAD=d_elements) {
          mode="element"}
        prelu_grad(X=x, Alpha=columns, Out@GRAD=x) -> (X@GRAD=de, Alpha@GRAD=d_columns) {
          mode="channel", data_format="NHWC"}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("one", {1}) +
                              Drawn("channels", {1, 6, 1, 1}) + Drawn("others", {3}) +
                              Drawn("elements", {6, 4, 4}) + Drawn("columns", {4})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
