// Fake-quantize ops: ties, each era's formulas, state over several steps, and values without codes.
// Numbers are those that were observed in the reference, or follow from ops/quant_math.h.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ops/quant_math.h"
#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "tests/runtime/reference/run_ops.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

constexpr int kFluid = 1008005;
constexpr int kPaddle2 = 2006002;

std::string OfRelease(int version, const std::string& op, const std::string& inputs) {
  return RunOps(absl::StrCat("program version=", version, "\nblock 0 {\n", op, "\n}"), inputs);
}

std::string FloatsText(const std::vector<float>& values) {
  return absl::StrCat("f32[", values.size(), "] ",
                      absl::StrJoin(values, " ", [](std::string* out, float value) {
                        absl::StrAppendFormat(out, "%.9g", value);
                      }));
}

// Each tie between two codes of `bits` bits at a range of 1, and its neighbours on both sides.
std::vector<float> Ties(int bits) {
  std::vector<float> values = {1, -1, 2, -2};
  const int n = LargestCode(bits);
  for (int code = -n; code<n; code += bits> 8 ? 1111 : 1) {
    const float tie = (static_cast<float>(code) + 0.5f) / static_cast<float>(n);
    values.insert(values.end(), {std::nextafter(tie, -2.0f), tie, std::nextafter(tie, 2.0f)});
  }
  return values;
}

// Every op that quantizes by a range it is given, tie by tie.
TEST(QuantizeOps, RoundAsQuantMathDefines) {
  for (const int bits : {2, 4, 8, 16}) {
    for (const int round_type : {0, 1}) {
      const auto rounding =
          round_type == 0 ? QuantSpec::HALF_TO_EVEN : QuantSpec::HALF_AWAY_FROM_ZERO;
      const std::vector<float> values = Ties(bits);
      std::vector<float> codes;
      std::vector<float> numbers;
      for (const float value : values) {
        codes.push_back(QuantizeOne(value, 1, SymmetricCodes(bits, rounding)));
        numbers.push_back(DequantizeOne(codes.back(), 1, LargestCode(bits)));
      }
      const std::string attrs =
          absl::StrCat("{bit_length=", bits, ", round_type=", round_type, ", is_test=true");
      const std::string inputs = absl::StrCat("x ", FloatsText(values), "\nscale f32[1] 1\n");
      for (const char* op : {"fake_quantize_moving_average_abs_max(X=x, InScale=scale) -> (Out=y, "
                             "OutScale=unused) ",
                             "fake_quantize_range_abs_max(X=x, InScale=scale) -> (Out=y, "
                             "OutScale=unused) "}) {
        EXPECT_EQ(OfRelease(kPaddle2, "var unused f32[1]\n" + (op + attrs) + "}",
                            inputs + "unused f32[1] 7\n"),
                  absl::StrCat("unused f32[1] 7\ny ", FloatsText(codes), "\n"));
      }
      EXPECT_EQ(OfRelease(kPaddle2,
                          "quantize_linear(X=x, Scale=scale, ZeroPoint=scale) -> (Y=y) " + attrs +
                              ", quant_axis=-1}",
                          inputs),
                absl::StrCat("y ", FloatsText(codes), "\n"));
      EXPECT_EQ(OfRelease(kPaddle2,
                          "fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=scale) -> "
                          "(Out=y, OutScale=[]) " +
                              attrs + "}",
                          inputs),
                absl::StrCat("y ", FloatsText(numbers), "\n"));
    }
  }
}

TEST(QuantizeOps, FluidRoundsAwayFromZeroAndLinearOpsToEven) {
  const std::string x = "x f32[4] 0.5 1.5 -2.5 127\n";
  EXPECT_EQ(OfRelease(kFluid, "fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)", x),
            "s f32[1] 127\ny f32[4] 1 2 -3 127\n");
  EXPECT_EQ(OfRelease(kPaddle2, "fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)", x),
            "s f32[1] 127\ny f32[4] 1 2 -3 127\n");
  EXPECT_EQ(
      OfRelease(kPaddle2, "quantize_linear(X=x, Scale=s, ZeroPoint=z) -> (Y=y) {quant_axis=-1}",
                x + "s f32[1] 127\nz i32[1] 0\n"),
      "y f32[4] 0 2 -2 127\n");
}

TEST(QuantizeOps, OfFluidMultiplyByTheStepToGoBack) {
  const std::string op = "fake_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s)";
  const std::string x = "x f32[2] 3 0.0708661\n";
  EXPECT_EQ(OfRelease(kFluid, op, x), "s f32[1] 3\ny f32[2] 3 0.0708661377\n");
  EXPECT_EQ(OfRelease(kPaddle2, op, x), "s f32[1] 3\ny f32[2] 3 0.0708661452\n");
}

TEST(QuantizeOps, DefineWhatHasNoCode) {
  const std::string op = "fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)";
  EXPECT_EQ(RunOps(op, "x f32[2] 0 0\n"), "s f32[1] 0\ny f32[2] 0 0\n");
  EXPECT_EQ(RunOps(op, "x f32[2] 1e-31 -1e-31\n"), "s f32[1] 9.9999998e-32\ny f32[2] 0 -0\n");
  EXPECT_EQ(RunOps(op, "x f32[2] nan 1\n"), "s f32[1] nan\ny f32[2] nan nan\n");
  EXPECT_EQ(RunOps(op, "x f32[4] 1 nan 2 3\n"), "s f32[1] 3\ny f32[4] 42 nan 85 127\n");
  EXPECT_EQ(RunOps(op, "x f32[0]\n"), "s f32[1] 0\ny f32[0] \n");
}

// The values of `fetches` after each of the steps, in which x is one of `xs`.
std::vector<std::string> Steps(const std::string& program_text, const std::string& state,
                               const std::vector<float>& xs, const std::string& fetch) {
  const Program program = ParsedProgram(program_text);
  Scope scope = *ParseParameters(state, "state");
  Interpreter interpreter = *Interpreter::Create(program, &scope);
  std::vector<std::string> values;
  for (const float x : xs) {
    scope.Set("x", Tensor::FromValues<float>({1}, {x}));
    const auto fetched = interpreter.Run({}, {fetch}, 0);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    if (!fetched.ok()) break;
    values.push_back(absl::StrFormat("%.8g", fetched->front().data<float>()[0]));
  }
  return values;
}

TEST(QuantizeOps, AMovingAverageFollowsItsTensor) {
  EXPECT_EQ(Steps(R"(
    var scale f32[1] persistable
    var state f32[1] persistable
    var accum f32[1] persistable
    fake_quantize_moving_average_abs_max(X=x, InScale=scale, InState=state, InAccum=accum) -> (Out=y,
      OutScale=scale, OutState=state, OutAccum=accum)
  )",
                  "scale f32[1] 0.001\nstate f32[1] 1\naccum f32[1] 1\n", {2, -4, 1}, "scale"),
            std::vector<std::string>({"1.5263158", "2.4391143", "2.0206456"}));
}

TEST(QuantizeOps, AWindowForgetsItsLargestValueWhenItLeaves) {
  EXPECT_EQ(Steps(R"(
    var step i64[1] persistable
    var scale f32[1] persistable
    var scales f32[3] persistable
    increment(X=step) -> (Out=step)
    fake_quantize_range_abs_max(X=x, InScale=scale, Iter=step) -> (Out=y, OutScale=scale,
      OutScales=scales) {window_size=3}
  )",
                  "step i64[1] 0\nscale f32[1] 0.001\nscales f32[3] 0 0 0\n",
                  {5, 3, 4, 2, 1, 1, 0.5, 6, 1, 1, 1, 1}, "scale"),
            std::vector<std::string>({"5", "5", "5", "4", "4", "2", "1", "6", "6", "6", "1", "1"}));
}

TEST(QuantizeOps, AWindowsMeanIsOfTheStepsThatWereSeen) {
  EXPECT_EQ(Steps(R"(
    var step i64[1] persistable
    var scale f32[1] persistable
    var scales f32[2] persistable
    increment(X=step) -> (Out=step)
    fake_quantize_window_mean_abs_max(X=x, InScale=scale, Iter=step) -> (Out=y, OutScale=scale,
      OutScales=scales) {window_size=2}
  )",
                  "step i64[1] 0\nscale f32[1] 0.001\nscales f32[2] 0 0\n", {4, 2, 8}, "scale"),
            std::vector<std::string>({"4", "3", "5"}));
}

TEST(QuantizeOps, AnObserverOnlyFollows) {
  EXPECT_EQ(RunOps("moving_average_abs_max_scale(X=x, InState=state, InAccum=accum) -> (Out=y, "
                   "OutScale=s, OutState=state, OutAccum=accum)",
                   "x f32[2] 0.3 -2\nstate f32[1] 1\naccum f32[1] 1\n"),
            "accum f32[1] 2.9000001\ns f32[1] 1.52631581\nstate f32[1] 1.89999998\n"
            "y f32[2] 0.300000012 -2\n");
}

TEST(QuantizeOps, AChannelHasItsOwnRange) {
  const std::string x = "x f32[2,2] 1 -2 0 0\n";
  EXPECT_EQ(
      OfRelease(kPaddle2, "fake_channel_wise_quantize_abs_max(X=x) -> (Out=y, OutScale=s)", x),
      "s f32[2] 2 0\ny f32[2,2] 64 -127 0 0\n");
  EXPECT_EQ(OfRelease(kPaddle2,
                      "fake_channel_wise_quantize_abs_max(X=x) -> (Out=y, OutScale=s) "
                      "{quant_axis=1}",
                      x),
            "s f32[2] 1 2\ny f32[2,2] 127 -127 0 0\n");
  EXPECT_EQ(
      OfRelease(kPaddle2,
                "fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s)", x),
      "s f32[2] 2 0\ny f32[2,2] 1.00787401 -2 0 0\n");
}

TEST(QuantizeOps, AChannelsRangeIsReadInInference) {
  EXPECT_EQ(OfRelease(kPaddle2,
                      "fake_channel_wise_quantize_abs_max(X=x) -> (Out=y, OutScale=s) "
                      "{is_test=true}",
                      "x f32[2,1] 1 1\ns f32[2] 2 4\n"),
            "s f32[2] 2 4\ny f32[2,1] 64 32\n");
}

TEST(QuantizeOps, QuantizeLinearTrainsByTheMovingAverage) {
  EXPECT_EQ(
      OfRelease(kPaddle2,
                "quantize_linear(X=x, Scale=s, ZeroPoint=z, InState=state, InAccum=accum) -> "
                "(Y=y, OutScale=s, OutState=state, OutAccum=accum) {is_test=false, "
                "quant_axis=-1}",
                "x f32[3] 1 -4 3\ns f32[1] 0.5\nz i32[1] 0\nstate f32[1] 1\naccum f32[1] 1\n"),
      "accum f32[1] 4.9000001\ns f32[1] 2.57894754\nstate f32[1] 1.89999998\n"
      "y f32[3] 49 -128 127\n");
}

TEST(QuantizeOps, RefuseStateThatIsMissing) {
  EXPECT_EQ(RunOps("fake_quantize_moving_average_abs_max(X=x, InScale=s) -> (Out=y, OutScale=s)",
                   "x f32[1] 1\ns f32[1] 1\n"),
            "block 0, op 0 (fake_quantize_moving_average_abs_max): input InState is absent, and "
            "is_test is false; want one number");
  EXPECT_EQ(
      RunOps("fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s) {bit_length=17}", "x f32[1] 1\n"),
      "block 0, op 0 (fake_quantize_abs_max): bit_length is 17; want 1 to 16");
}

TEST(DequantizeOps, GoFromTheLeft) {
  EXPECT_EQ(RunOps("fake_dequantize_max_abs(X=x, Scale=s) -> (Out=y) {max_range=127.0}",
                   "x f32[3] 127 -64 1\ns f32[1] 3\n"),
            "y f32[3] 3 -1.51181102 0.0236220472\n");
  EXPECT_EQ(RunOps("dequantize_abs_max(X=x, Scale=s) -> (Out=y) {max_range=127.0}",
                   "x i8[2] 127 -64\ns f32[1] 3\n"),
            "y f32[2] 3 -1.51181102\n");
}

TEST(DequantizeOps, OfChannelsGoByTheirScales) {
  EXPECT_EQ(RunOps("fake_channel_wise_dequantize_max_abs(X=x, Scales=s) -> (Out=y)",
                   "x f32[2,2] 127 -127 127 0\ns f32[2] 1 3\n"),
            "y f32[2,2] 1 -1 3 0\n");
  EXPECT_EQ(RunOps("fake_channel_wise_dequantize_max_abs(X=x, Scales=[w, a]) -> (Out=y) "
                   "{quant_bits=[8, 8]}",
                   "x f32[2,2] 127 -64 1 2\nw f32[2] 3 5\na f32[1] 2\n"),
            "y f32[2,2] 0.0472440943 -0.0396800786 0.000372000737 0.00124000246\n");
  EXPECT_EQ(RunOps("dequantize_linear(X=x, Scale=s, ZeroPoint=z) -> (Y=y) {quant_axis=1}",
                   "x i8[1,2] 127 -127\ns f32[2] 1 3\nz i32[2] 5 5\n"),
            "y f32[1,2] 1 -3\n");
}

TEST(DequantizeOps, LookUpLogarithmicCodes) {
  std::vector<float> dict(128, 0.0f);
  dict[0] = 5;
  dict[1] = 7;
  dict[127] = 9;
  EXPECT_EQ(RunOps("dequantize_log(X=x, Dict=d) -> (Out=y)",
                   absl::StrCat("x i8[4] 1 127 -128 -1\nd ", FloatsText(dict), "\n")),
            "y f32[4] 7 9 -5 -9\n");
}

TEST(AffineOps, ZeroIsACode) {
  EXPECT_EQ(RunOps(R"(
    fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=low,
      InAccumMax=high) -> (Out=y, OutScale=s, OutZeroPoint=z, OutState=n, OutAccumMin=low,
      OutAccumMax=high) {unsigned_codes=true}
    fake_dequantize_affine(X=y, Scale=s, ZeroPoint=z) -> (Out=back)
  )",
                   "x f32[4] -1 0 3 nan\ns f32[1] 1\nz f32[1] 0\nn f32[1] 0\nlow f32[1] 0\n"
                   "high f32[1] 0\n"),
            "back f32[4] -1.00392163 0 2.99607849 0\nhigh f32[1] 3\nlow f32[1] -1\nn f32[1] 1\n"
            "s f32[1] 0.0156862754\ny f32[4] 0 64 255 64\nz f32[1] 64\n");
}

// [-1, 3] gives the step 4 / 255 and the code -64 for 0; [0, 5] (rows along axis 0) gives 5 / 255
// and -128.
TEST(RowWiseMinMax, HasAZeroPointForEachRow) {
  EXPECT_EQ(RunOps(R"(
    fake_row_wise_quantize_min_max(X=x) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=0}
    fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=back) {quant_axis=0}
  )",
                   "x f32[2,3] -1 0 3 5 nan 2\n"),
            "back f32[2,3] -1.00392163 0 2.99607849 5 0 2\nq f32[2,3] -128 -64 127 127 -128 -26\n"
            "s f32[2] 0.0156862754 0.0196078438\nz i32[2] -64 -128\n");
}

TEST(StraightThrough, TheGradientPasses) {
  EXPECT_EQ(
      RunOps("stright_throuth_estimator_grad(Out@GRAD=dy) -> (X@GRAD=dx)", "dy f32[2] 3 -5\n"),
      "dx f32[2] 3 -5\n");
}

}  // namespace
}  // namespace fixpoint::reference
