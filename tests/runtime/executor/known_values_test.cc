// Values that depend on shapes and attributes alone are known while a plan is made, whatever ops
// compute them: sizes and axes from tensors are planned as if attributes gave them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

constexpr char kInputs[] = "x f32[2,3,4] 1 2 3 4 5 6 7 8 9 10 11 12 1 2 3 4 5 6 7 8 9 10 11 12\n";

std::string Program(const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", ops, "}\n");
}

// Whether the executor runs it, and does what the interpreter does.
std::string Differences(const std::string& ops) { return OpDifferences(Program(ops), kInputs, 0); }

TEST(KnownValues, OfAShapeSayTheShapeOfAView) {
  EXPECT_EQ(Differences(R"(
                shape(Input=x) -> (Out=all)
                slice(Input=all) -> (Out=batch) {axes=[0], starts=[0], ends=[1], infer_flags=[1],
                                                 decrease_axis=[0]}
                fill_constant() -> (Out=rest) {shape=[1], dtype=2, value=12.0}
                reshape2(X=x, ShapeTensor=[batch, rest]) -> (Out=rows, XShape=before)
                slice(Input=all) -> (Out=two) {axes=[0], starts=[0], ends=[1]}
                concat(X=[rest, two]) -> (Out=turned)
                reshape2(X=x, Shape=turned) -> (Out=columns, XShape=before2)
              )"),
            "");
}

TEST(KnownValues, AreWhatArithmeticMakesOfShapes) {
  EXPECT_EQ(Differences(R"(
                shape(Input=x) -> (Out=all)
                slice(Input=all) -> (Out=two) {axes=[0], starts=[0], ends=[1]}
                scale(X=two) -> (Out=four) {scale=2.0}
                scale(X=two) -> (Out=six) {scale=3.0}
                cast(X=four) -> (Out=four64) {in_dtype=2, out_dtype=3}
                cast(X=six) -> (Out=six64) {in_dtype=2, out_dtype=3}
                stack(X=[four64, six64]) -> (Y=columns) {axis=0}
                reshape2(X=columns) -> (Out=sizes, XShape=before) {shape=[-1]}
                reshape2(X=x, Shape=sizes) -> (Out=y, XShape=before2)
              )"),
            "");
}

TEST(KnownValues, SayWhatAnAttributeSaysOtherwise) {
  for (const char* op : {
           "reshape2(X=x, Shape=six_four) -> (Out=y, XShape=before)\n",
           "fill_constant(ShapeTensor=six_four) -> (Out=y) {dtype=5, value=3.0}\n",
           "fill_constant(ShapeTensorList=[four, six]) -> (Out=y) {dtype=5, value=3.0}\n",
           "slice(Input=x, StartsTensor=one, EndsTensor=six) -> (Out=y) {axes=[1], starts=[0], "
           "ends=[0], infer_flags=[-1]}\n",
           "slice(Input=x, EndsTensorList=[four]) -> (Out=y) {axes=[2], starts=[1], ends=[-1], "
           "infer_flags=[-1]}\n",
           "expand_v2(X=one, Shape=six_four) -> (Out=y)\n",
           "expand_v2(X=one, expand_shapes_tensor=[four, six]) -> (Out=y)\n",
           "tile(X=one, RepeatTimes=six_four) -> (Out=y)\n",
           "unsqueeze2(X=x, AxesTensor=one) -> (Out=y, XShape=before)\n",
           "concat(X=[x, x], AxisTensor=one) -> (Out=y)\n",
           "split(X=x, AxisTensor=one) -> (Out=[y, z, u]) {num=3}\n",
           "top_k(X=x, K=one) -> (Out=y, Indices=places)\n",
           "one_hot_v2(X=one, depth_tensor=six) -> (Out=y) {dtype=5}\n",
       }) {
    EXPECT_EQ(Differences(absl::StrCat(R"(
                  assign_value() -> (Out=one) {shape=[1], dtype=2, int32_values=[1]}
                  assign_value() -> (Out=four) {shape=[1], dtype=2, int32_values=[4]}
                  assign_value() -> (Out=six) {shape=[1], dtype=2, int32_values=[6]}
                  assign_value() -> (Out=six_four) {shape=[2], dtype=2, int32_values=[6, 4]}
                )",
                                       op)),
              "")
        << op;
  }
}

TEST(KnownValues, AreTheEndsOfARange) {
  EXPECT_EQ(Differences(R"(
                shape(Input=x) -> (Out=all)
                slice(Input=all) -> (Out=end) {axes=[0], starts=[2], ends=[3]}
                fill_constant() -> (Out=start) {shape=[1], dtype=2, value=0.0}
                fill_constant() -> (Out=step) {shape=[1], dtype=2, value=1.0}
                range(Start=start, End=end, Step=step) -> (Out=places)
              )"),
            "");
}

TEST(KnownValues, AreNotRandomNumbers) {
  EXPECT_THAT(Differences(R"(
                  uniform_random() -> (Out=drawn) {shape=[2], dtype=5, min=2.0, max=9.0}
                  cast(X=drawn) -> (Out=sizes) {in_dtype=5, out_dtype=2}
                  fill_constant(ShapeTensor=sizes) -> (Out=y) {dtype=5}
                )"),
              HasSubstr("op 2 (fill_constant): input ShapeTensor is there; want it absent"));
}

TEST(KnownValues, AreNotThoseOfATensorThatARunIsGiven) {
  EXPECT_THAT(OpDifferences(Program("reshape2(X=x, Shape=sizes) -> (Out=y, XShape=before)\n"),
                            absl::StrCat(kInputs, "sizes i32[2] 6 4\n"), 0),
              HasSubstr("op 0 (reshape2): the shape of output Out depends on values; want one that "
                        "follows from attributes and the inputs' shapes"));
}

}  // namespace
}  // namespace fixpoint::executor
