// Rounding by chance: the same on both backends, and right in the mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

std::string InProgram(const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}\n");
}

TEST(StochasticAbsMax, GivesBothBackendsTheSameCodes) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{1}, {600}, {3, 171}, {2, 5, 7, 9}, {1, 1, 23, 29}, {2, 3, 4, 5, 6}}) {
    for (const char* seed : {"0", "7"}) {
      EXPECT_EQ(OpDifferences(InProgram(absl::StrCat(
                                  "fake_quantize_dequantize_stochastic_abs_max(X=x) -> (Out=y, "
                                  "OutScale=s) {seed=",
                                  seed, "}\nscale(X=y) -> (Out=z)")),
                              Drawn("x", dims), 0, {"z", "s"}),
                "");
    }
  }
}

TEST(StochasticAbsMax, OfFewBitsAndOfZeros) {
  EXPECT_EQ(OpDifferences(InProgram(R"(
      fake_quantize_dequantize_stochastic_abs_max(X=x) -> (Out=a, OutScale=r) {bit_length=2}
      fake_quantize_dequantize_stochastic_abs_max(X=z) -> (Out=b, OutScale=s))"),
                          Drawn("x", {40}) + "z f32[3] 0 0 0\n", 0),
            "");
}

constexpr int64_t kSize = 100000;

// Numbers a quarter of a step above a code, after the one that says what the step is, as they are
// rounded in a step of training.
Tensor Rounded(uint32_t step) {
  Tensor x = *Tensor::Allocate(VarType::FP32, {kSize});
  for (float& value : x.mutable_data<float>()) value = 10.25f;
  x.mutable_data<float>()[0] = 127;
  Scope scope;
  scope.Set("x", std::move(x));
  const Program program = ParsedProgram(
      InProgram("fake_quantize_dequantize_stochastic_abs_max(X=x) -> (Out=y, OutScale=s)\n"
                "scale(X=y) -> (Out=z)"));
  const auto executor = Executor::Create(program, &scope, {});
  EXPECT_TRUE(executor.ok()) << executor.status();
  auto values = (*executor)->Run({}, {"z"}, step);
  EXPECT_TRUE(values.ok()) << values.status();
  return std::move(values->front());
}

TEST(StochasticAbsMax, KeepsTheMean) {
  const Tensor first = Rounded(0);
  EXPECT_EQ(first.data<float>()[0], 127);
  int64_t above = 0;
  for (int64_t i = 1; i < kSize; ++i) {
    const float value = first.data<float>()[i];
    ASSERT_TRUE(value == 10 || value == 11) << value;
    above += value == 11;
  }
  EXPECT_NEAR(static_cast<double>(above) / kSize, 0.25, 0.005);
}

TEST(StochasticAbsMax, DrawsOtherNumbersInEachStep) {
  const Tensor first = Rounded(0);
  EXPECT_EQ(Rounded(0).bytes(), first.bytes());
  EXPECT_NE(Rounded(1).bytes(), first.bytes());
}

}  // namespace
}  // namespace fixpoint::executor
