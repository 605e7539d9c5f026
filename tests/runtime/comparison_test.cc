#include "runtime/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/backends.h"
#include "runtime/fetching_runs.h"
#include "runtime/scope.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

ComparedVariable Compared(const Tensor& tensor, const Tensor& other) {
  ComparedVariable compared;
  EXPECT_EQ(CompareTensors(tensor, other, /*run=*/3, &compared), absl::OkStatus());
  return compared;
}

TEST(CompareTensors, EqualTensorsHaveNoNoise) {
  const Tensor tensor = Tensor::FromValues<float>({2}, {1, NAN});
  const ComparedVariable compared = Compared(tensor, tensor);
  EXPECT_EQ(compared.elements, 2);
  EXPECT_EQ(compared.different, 0);
  EXPECT_FALSE(compared.first.has_value());
  EXPECT_EQ(compared.SignalToNoise(), std::numeric_limits<double>::infinity());
}

TEST(CompareTensors, FloatsDifferByUlps) {
  const float next = std::nextafter(std::nextafter(1.0F, 2.0F), 2.0F);
  const ComparedVariable compared = Compared(Tensor::FromValues<float>({3}, {5, next, -3}),
                                             Tensor::FromValues<float>({3}, {5, 1, -3}));
  EXPECT_EQ(compared.unit, DifferenceUnit::kUlps);
  EXPECT_EQ(compared.different, 1);
  EXPECT_EQ(compared.largest, 2);
  ASSERT_TRUE(compared.first.has_value());
  EXPECT_EQ(compared.first->run, 3);
  EXPECT_EQ(compared.first->element, 1);
  EXPECT_EQ(compared.first->value, next);
  EXPECT_EQ(compared.first->other, 1);
}

TEST(CompareTensors, FloatsThatAreFarApartDifferByANumber) {
  const ComparedVariable near =
      Compared(Tensor::FromValues<float>({1}, {1.000001F}), Tensor::FromValues<float>({1}, {1}));
  EXPECT_TRUE(near.UnitSaysHowMuch());
  const ComparedVariable far = Compared(Tensor::FromValues<float>({3}, {1, 2, -3.5F}),
                                        Tensor::FromValues<float>({3}, {1.25F, 2, -3}));
  EXPECT_FALSE(far.UnitSaysHowMuch());
  EXPECT_EQ(far.largest_as_number, 0.5);
}

TEST(CompareTensors, ZerosAreEqualAndTheirSignsCounted) {
  const ComparedVariable compared = Compared(Tensor::FromValues<float>({3}, {-0.0F, 0, 0}),
                                             Tensor::FromValues<float>({3}, {0, -0.0F, 0}));
  EXPECT_EQ(compared.different, 0);
  EXPECT_EQ(compared.other_zeros, 2);
  EXPECT_FALSE(compared.first.has_value());
}

TEST(CompareTensors, NumbersOnBothSidesOfZeroHaveAllOthersBetweenThem) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Compared(Tensor::FromValues<float>({1}, {smallest}),
                     Tensor::FromValues<float>({1}, {-smallest}))
                .largest,
            2);  // with zero between them
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(
      Compared(Tensor::FromValues<double>({1}, {tiny}), Tensor::FromValues<double>({1}, {-tiny}))
          .largest,
      2);
}

TEST(CompareTensors, NanIsInfinitelyFarFromANumber) {
  const ComparedVariable compared =
      Compared(Tensor::FromValues<float>({1}, {NAN}), Tensor::FromValues<float>({1}, {1}));
  EXPECT_EQ(compared.different, 1);
  EXPECT_EQ(compared.largest, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compared.SignalToNoise(), -std::numeric_limits<double>::infinity());
}

TEST(CompareTensors, CodesAreComparedWithNumbersInSteps) {
  const Tensor numbers = Tensor::FromValues<float>({3}, {0, 200, 4});
  const ComparedVariable compared =
      Compared(Tensor::FromValues<uint8_t>({3}, {0, 203, 4}), numbers);
  EXPECT_EQ(compared.unit, DifferenceUnit::kSteps);
  EXPECT_EQ(compared.different, 1);
  EXPECT_EQ(compared.largest, 3);
  EXPECT_EQ(Compared(numbers, Tensor::FromValues<uint8_t>({3}, {0, 203, 4})).largest, 3);
  EXPECT_EQ(
      Compared(Tensor::FromValues<int8_t>({1}, {-128}), Tensor::FromValues<int8_t>({1}, {127}))
          .largest,
      255);
}

TEST(CompareTensors, SignalToNoiseIsThatOfTheOther) {
  const ComparedVariable compared =
      Compared(Tensor::FromValues<float>({2}, {10, 11}), Tensor::FromValues<float>({2}, {10, 10}));
  EXPECT_NEAR(compared.SignalToNoise(), 10 * std::log10(200.0), 1e-9);
}

TEST(CompareTensors, ANumberIsTheSameInBothOfItsForms) {
  const Tensor number = Tensor::FromValues<float>({}, {3});
  EXPECT_EQ(Compared(number, Tensor::FromValues<float>({1}, {3})).different, 0);
  EXPECT_EQ(Compared(number, Tensor::FromValues<float>({1}, {4})).different, 1);
}

TEST(CompareTensors, WhatCannotBeComparedIsRefused) {
  ComparedVariable compared;
  const Tensor floats = Tensor::FromValues<float>({2}, {1, 2});
  EXPECT_EQ(CompareTensors(floats, Tensor::FromValues<float>({1, 2}, {1, 2}), 0, &compared),
            absl::InvalidArgumentError(
                "is FP32 [2] in one program and FP32 [1, 2] in the other; want the same "
                "dimensions, and the same type or codes and FP32"));
  EXPECT_EQ(CompareTensors(floats, Tensor::FromValues<int32_t>({2}, {1, 2}), 0, &compared).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(compared.elements, 0);
}

constexpr char kTwice[] = R"(var x f32[-1,2]
var y f32[-1,2]
var z f32[-1,2]
scale(X=x) -> (Out=y) {scale=2.0}
relu(X=y) -> (Out=z)
)";
// Computes the same up to y, with other ops, and something else after it.
constexpr char kThrice[] = R"(var x f32[-1,2]
var t f32[-1,2]
var y f32[-1,2]
var z f32[-1,2]
scale(X=x) -> (Out=t) {scale=1.0}
elementwise_add(X=t, Y=x) -> (Out=y)
scale(X=x) -> (Out=z) {scale=3.0}
)";

class ComparisonTest : public testing::TestWithParam<bool> {};

TEST_P(ComparisonTest, TensorsThatBothWriteAreComparedInOrder) {
  const Program twice = ParsedProgram(kTwice);
  const Program thrice = ParsedProgram(kThrice);
  Scope scope;
  const auto backend = MakeBackend(BackendKind::kOneDnn, twice, &scope);
  const auto other = MakeBackend(BackendKind::kReference, thrice, &scope);
  ASSERT_TRUE(backend.ok() && other.ok());
  auto comparison = Comparison::Create({&twice, backend->get(), &scope, GetParam()},
                                       {&thrice, other->get(), &scope, true});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  for (const Tensor& x :
       {Tensor::FromValues<float>({1, 2}, {0, 0}), Tensor::FromValues<float>({1, 2}, {0, 4})}) {
    const Feed feeds[] = {{"x", &x}, {"unknown", &x}};
    ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
  }

  ASSERT_EQ(comparison->variables().size(), 2);
  EXPECT_EQ(comparison->variables()[0].name, "y");
  EXPECT_EQ(comparison->variables()[0].different, 0);
  EXPECT_EQ(comparison->elements(), 8);
  EXPECT_EQ(comparison->different(), 1);
  const ComparedVariable* first = comparison->FirstThatDiffers();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->name, "z");
  EXPECT_EQ(first->first->run, 1);
  EXPECT_EQ(first->first->element, 1);
  EXPECT_EQ(first->first->value, 8);
  EXPECT_EQ(first->first->other, 12);
}

INSTANTIATE_TEST_SUITE_P(InOneRun, ComparisonTest, testing::Bool());

// Counts the runs of another backend.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(Backend* backend) : backend_(backend) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Feed> feeds,
                                          absl::Span<const std::string> fetches,
                                          uint32_t step) override {
    ++runs_;
    return backend_->Run(feeds, fetches, step);
  }
  int runs() const { return runs_; }

 private:
  Backend* backend_;
  int runs_ = 0;
};

// Every op writes a variable that is compared.
Program Chain(int length) {
  std::string text = "var x0 f32[-1,2]\n";
  for (int i = 0; i < length; ++i) {
    absl::StrAppend(&text, "var x", i + 1, " f32[-1,2]\nscale(X=x", i, ") -> (Out=x", i + 1,
                    ") {scale=-1.0}\n");
  }
  return ParsedProgram(text);
}

TEST(Comparison, HowManyRunsItTakesDoesNotGrowWithTheProgram) {
  const Program program = Chain(100);
  Scope scope;
  const auto executor = MakeBackend(BackendKind::kOneDnn, program, &scope);
  const auto reference = MakeBackend(BackendKind::kReference, program, &scope);
  ASSERT_TRUE(executor.ok() && reference.ok());
  CountingBackend counted(executor->get());
  auto comparison =
      Comparison::Create({&program, &counted, &scope}, {&program, reference->get(), &scope, true});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const Tensor x = Tensor::FromValues<float>({1, 2}, {1, -2});
  const Feed feeds[] = {{"x0", &x}};
  ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
  EXPECT_EQ(comparison->variables().size(), 100);
  EXPECT_EQ(comparison->elements(), 200);
  EXPECT_EQ(comparison->different(), 0);
  EXPECT_EQ(counted.runs(), kFetchingRuns);
}

// The executor runs several times for each input, the reference once.
TEST(Comparison, StateIsUpdatedOnceForEachInput) {
  const Program program = ParsedProgram(R"(var x f32[-1,2]
var n f32[1] persistable
var y f32[-1,2]
var z f32[-1,2]
increment(X=n) -> (Out=n) {step=1.0}
elementwise_add(X=x, Y=n) -> (Out=y)
scale(X=y) -> (Out=z) {scale=2.0}
)");
  Scope scope;
  Scope of_other;
  for (Scope* each : {&scope, &of_other}) each->Set("n", Tensor::FromValues<float>({1}, {0}));
  const auto executor = MakeBackend(BackendKind::kOneDnn, program, &scope);
  const auto reference = MakeBackend(BackendKind::kReference, program, &of_other);
  ASSERT_TRUE(executor.ok() && reference.ok());
  auto comparison = Comparison::Create({&program, executor->get(), &scope},
                                       {&program, reference->get(), &of_other, true});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const Tensor x = Tensor::FromValues<float>({1, 2}, {1, 2});
  const Feed feeds[] = {{"x", &x}};
  for (int run = 0; run < 3; ++run) ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
  EXPECT_EQ(comparison->elements(), 12);
  EXPECT_EQ(comparison->different(), 0);
  for (const Scope* each : {&scope, &of_other}) {
    EXPECT_EQ((*each->Find("n"))->data<float>()[0], 3);
  }
}

TEST(Comparison, TiesOfOneStepAreCounted) {
  const std::string declared =
      "var x f32[4]\nvar s f32[1] persistable\nvar z f32[1] persistable\nvar q f32[4]\n";
  const std::string quantizers[] = {
      "quantize_linear(X=x, Scale=s, ZeroPoint=z) -> (Y=q) {bit_length=2, quant_axis=-1, "
      "is_test=true, round_type=",
      "fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (Out=q, OutScale=s, "
      "OutZeroPoint=z) {bit_length=8, is_test=true, unsigned_codes=false, round_type="};
  for (const std::string& quantizer : quantizers) {
    const Program away = ParsedProgram(absl::StrCat(declared, quantizer, "1}\n"));
    const Program to_even = ParsedProgram(absl::StrCat(declared, quantizer, "0}\n"));
    Scope scope;
    scope.Set("s", Tensor::FromValues<float>({1}, {1}));
    scope.Set("z", Tensor::FromValues<float>({1}, {0}));
    const auto backend = MakeBackend(BackendKind::kOneDnn, away, &scope);
    const auto other = MakeBackend(BackendKind::kOneDnn, to_even, &scope);
    ASSERT_TRUE(backend.ok() && other.ok()) << backend.status() << other.status();
    auto comparison =
        Comparison::Create({&away, backend->get(), &scope}, {&to_even, other->get(), &scope});
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    const Tensor x = Tensor::FromValues<float>({4}, {0.5f, 0.3f, -0.5f, 0.75f});
    ASSERT_EQ(comparison->Run({{"x", &x}}), absl::OkStatus());
    EXPECT_EQ(comparison->different(), 2) << quantizer;
    EXPECT_EQ(comparison->ties(), 2) << quantizer;
  }
}

TEST(Comparison, WhatIsWrittenInTrainingAloneIsLeftOut) {
  const Program program = ParsedProgram(R"(var x f32[-1,2]
var y f32[-1,2]
var m u8[-1,2]
dropout(X=x) -> (Mask=m, Out=y) {is_test=true}
)");
  for (const BackendKind kind : {BackendKind::kOneDnn, BackendKind::kReference}) {
    Scope scope;
    const auto backend = MakeBackend(kind, program, &scope);
    ASSERT_TRUE(backend.ok()) << backend.status();
    const RunnableProgram runnable = {&program, backend->get(), &scope, true};
    auto comparison = Comparison::Create(runnable, runnable);
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    const Tensor x = Tensor::FromValues<float>({1, 2}, {1, 2});
    const Feed feeds[] = {{"x", &x}};
    ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
    EXPECT_EQ(comparison->elements(), 2);
    EXPECT_EQ(comparison->different(), 0);
    ASSERT_EQ(comparison->left_out().size(), 1);
    EXPECT_EQ(comparison->left_out()[0].name, "m");
    EXPECT_EQ(comparison->left_out()[0].why, WhyLeftOut::kNotWritten);
  }
}

TEST(Comparison, WhatTheOtherProgramAloneWritesIsLeftOutOnce) {
  const std::string declared =
      "var x f32[-1,2]\nvar y f32[-1,2]\nvar m u8[-1,2]\n"
      "dropout(X=x) -> (Mask=m, Out=y) {dropout_prob=0.0, is_test=";
  const Program tests = ParsedProgram(absl::StrCat(declared, "true}\n"));
  const Program trains = ParsedProgram(absl::StrCat(declared, "false}\n"));
  const auto comparison =
      Comparison::Create({&tests, nullptr, nullptr}, {&trains, nullptr, nullptr});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ASSERT_EQ(comparison->left_out().size(), 1);
  EXPECT_EQ(comparison->left_out()[0].name, "m");
  EXPECT_EQ(comparison->left_out()[0].why, WhyLeftOut::kOnlyInOther);
}

TEST(Comparison, ProgramsWithNothingInCommonAreRefused) {
  const Program program = ParsedProgram(kTwice);
  const Program other = ParsedProgram("var x f32[2]\nvar r f32[2]\nrelu(X=x) -> (Out=r)\n");
  const auto comparison =
      Comparison::Create({&program, nullptr, nullptr}, {&other, nullptr, nullptr});
  EXPECT_EQ(comparison.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(comparison.status().message()),
              HasSubstr("no tensor is written under the same name"));
}

TEST(Comparison, AnErrorNamesTheVariable) {
  const Program program = ParsedProgram(kTwice);
  const Program other = ParsedProgram(
      "var x f32[-1,2]\nvar y f32[2,-1]\ntranspose2(X=x) -> (Out=y, XShape=s) {axis=[1, 0]}\n"
      "var s f32[0,-1,2]\n");
  Scope scope;
  const auto backend = MakeBackend(BackendKind::kReference, program, &scope);
  const auto other_backend = MakeBackend(BackendKind::kReference, other, &scope);
  ASSERT_TRUE(backend.ok() && other_backend.ok());
  auto comparison = Comparison::Create({&program, backend->get(), &scope},
                                       {&other, other_backend->get(), &scope});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const Tensor x = Tensor::FromValues<float>({1, 2}, {1, 2});
  const Feed feeds[] = {{"x", &x}};
  EXPECT_THAT(
      std::string(comparison->Run(feeds).message()),
      HasSubstr("program.txt and program.txt: \"y\": is FP32 [1, 2] in one program and FP32 "
                "[2, 1] in the other"));
}

}  // namespace
}  // namespace fixpoint
