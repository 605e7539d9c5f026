// Every gradient kernel against central differences, all in double.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/runtime/reference/differentiated_program.h"

namespace fixpoint::reference {
namespace {

constexpr int64_t kFluid = 1008005;
constexpr int64_t kPaddle2 = 2006002;

struct Case {
  std::string name;
  std::string program;
  std::string inputs = "";  // what is not drawn
  InputRange range = {};
  std::vector<int64_t> versions = {kFluid, kPaddle2};
};

// One op of one input.
Case Unary(const std::string& op, const std::string& attrs = "", InputRange range = {}) {
  return {op + (attrs.empty() ? "" : "_with_attributes"),
          "var x f32[2,3] persistable\n" + op + "(X=x) -> (Out=out) {" + attrs + "}", "", range};
}

// One op of two inputs of those dims.
Case Binary(const std::string& name, const std::string& x, const std::string& y,
            const std::string& op, const std::string& attrs = "", InputRange range = {}) {
  return {name,
          "var x f32[" + x + "] persistable\nvar y f32[" + y + "] persistable\n" + op +
              "(X=x, Y=y) -> (Out=out) {" + attrs + "}",
          "", range};
}

std::vector<Case> Cases() {
  return {
      Unary("relu"),
      Unary("relu6", "threshold=1.0"),
      Unary("leaky_relu", "alpha=0.1"),
      Unary("sigmoid"),
      Unary("tanh"),
      Unary("hard_sigmoid", "slope=0.4"),
      Unary("hard_swish", "offset=1.0, threshold=2.0, scale=2.0"),
      Unary("swish", "beta=1.5"),
      Unary("silu"),
      Unary("gelu"),
      Unary("gelu", "approximate=true"),
      Unary("abs"),
      Unary("exp"),
      Unary("log", "", {0.5, 2}),
      Unary("sqrt", "", {0.5, 2}),
      Unary("square"),
      Unary("scale", "scale=3.0, bias=1.0, bias_after_scale=false"),
      Unary("clip", "min=-1.0, max=1.0"),
      Unary("squared_l2_norm"),
      Unary("mean"),
      Unary("assign"),
      Unary("cast", "in_dtype=5, out_dtype=5"),
      Unary("softmax"),
      Unary("softmax", "axis=0"),
      Binary("elementwise_add_of_a_row", "2,3", "3", "elementwise_add"),
      Binary("elementwise_add_along_an_axis", "2,3,2", "3", "elementwise_add", "axis=1"),
      Binary("elementwise_sub_both_ways", "2,1", "1,3", "elementwise_sub"),
      Binary("elementwise_mul_along_an_axis", "2,3", "2,1", "elementwise_mul", "axis=0"),
      Binary("elementwise_div", "2,3", "3", "elementwise_div", "", {0.5, 2}),
      Binary("elementwise_max", "2,3", "2,3", "elementwise_max"),
      Binary("elementwise_min", "2,3", "3", "elementwise_min"),
      Binary("elementwise_pow", "2,3", "3", "elementwise_pow", "", {0.5, 2}),
      Binary("mul", "2,3", "3,4", "mul"),
      Binary("mul_of_flattened", "2,3,2,2", "2,2,5", "mul", "x_num_col_dims=2, y_num_col_dims=2"),
      Binary("matmul", "2,3", "3,4", "matmul", "alpha=0.5"),
      Binary("matmul_transposed", "3,2", "4,3", "matmul", "transpose_X=true, transpose_Y=true"),
      Binary("matmul_of_batches", "2,3,4", "4,2", "matmul"),
      Binary("matmul_v2_broadcast", "2,1,2,3", "4,3,2", "matmul_v2"),
      Binary("matmul_v2_transposed", "2,3,2", "2,4,3", "matmul_v2", "trans_x=true, trans_y=true"),
      Binary("matmul_v2_of_a_vector", "3", "3,4", "matmul_v2"),
      {"dropout", R"(
         var x f32[2,3] persistable
         dropout(X=x) -> (Out=out, Mask=m) {dropout_prob=0.4, fix_seed=true, seed=3})"},
      {"dropout_upscaled", R"(
         var x f32[2,3] persistable
         dropout(X=x) -> (Out=out, Mask=m) {dropout_prob=0.4, fix_seed=true, seed=3,
           dropout_implementation="upscale_in_train"})"},
      {"a_value_read_twice", R"(
         var x f32[3] persistable
         square(X=x) -> (Out=a)
         tanh(X=a) -> (Out=b)
         elementwise_mul(X=a, Y=b) -> (Out=c)
         sum(X=[a, c, a]) -> (Out=out))"},
      {"cross_entropy",
       R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         cross_entropy(X=x, Label=label) -> (Y=out))",
       "label i64[3,1] 2 0 -100",
       {0.1, 0.9}},
      {"cross_entropy_soft",
       R"(
         var x f32[2,3] persistable
         var label f32[2,3]
         cross_entropy(X=x, Label=label) -> (Y=out) {soft_label=true})",
       "label f32[2,3] 0.5 0.25 0.25 0 1 0",
       {0.1, 0.9}},
      {"cross_entropy2",
       R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         cross_entropy2(X=x, Label=label) -> (Y=out, MatchX=m, XShape=s))",
       "label i64[3,1] 2 0 -100",
       {0.1, 0.9}},
      {"softmax_with_cross_entropy", R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s))",
       "label i64[3,1] 2 0 -100"},
      {"softmax_with_cross_entropy_along_an_axis", R"(
         var x f32[2,3,2] persistable
         var label i64[2,1,2]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s) {axis=1})",
       "label i64[2,1,2] 2 0 1 2"},
      {"softmax_with_cross_entropy_soft", R"(
         var x f32[2,3] persistable
         var label f32[2,3]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s) {
           soft_label=true})",
       "label f32[2,3] 0.5 0.25 0.25 0 1 0"},
  };
}

class Gradients : public testing::TestWithParam<Case> {};

// The difference quotient is off by step^2 times a third derivative and by rounding over step:
// here some 1e-9 of values around 1.
TEST_P(Gradients, EqualCentralDifferences) {
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 1e-7;
  for (const int64_t version : GetParam().versions) {
    SCOPED_TRACE(version);
    const DifferentiatedProgram program(GetParam().program, GetParam().inputs, version,
                                        GetParam().range);
    for (const std::string& parameter : program.parameters()) {
      const std::vector<double> gradient = program.GradientOf(parameter);
      ASSERT_EQ(gradient.size(), program.SizeOf(parameter));
      for (size_t i = 0; i < gradient.size(); ++i) {
        const double difference =
            (program.LossAt(parameter, i, kStep) - program.LossAt(parameter, i, -kStep)) /
            (2 * kStep);
        EXPECT_NEAR(gradient[i], difference, kTolerance * (1 + std::fabs(difference)))
            << parameter << "[" << i << "]";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, Gradients, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::to_string(info.index) + "_" + info.param.name;
                         });

}  // namespace
}  // namespace fixpoint::reference
