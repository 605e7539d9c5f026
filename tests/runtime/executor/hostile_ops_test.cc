// Ops whose inputs and attributes do not fit are refused, or computed as on the reference
// interpreter: no plan crashes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/op_plans.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/runtime/reference/random_op.h"

namespace fixpoint::executor {
namespace {

// Except where the executor has another rule: scalars have one dimension in its plans, and NaN has
// a code (docs/numerics.md).
Scope Plain(const Scope& scope) {
  Scope plain;
  for (const auto& [name, value] : scope) {
    const Tensor& given = std::get<Tensor>(value);
    std::vector<int64_t> dims = given.dims();
    if (dims.empty()) dims = {1};
    Tensor tensor = *Tensor::Allocate(given.dtype(), dims);
    std::copy(given.bytes().begin(), given.bytes().end(), tensor.mutable_bytes().begin());
    if (tensor.dtype() == VarType::FP32) {
      for (float& element : tensor.mutable_data<float>()) {
        if (!std::isfinite(element)) element = 0;
      }
    }
    if (!given.dims().empty()) tensor.set_lod(given.lod());
    plain.Set(name, std::move(tensor));
  }
  return plain;
}

std::vector<std::string> Outputs(const Program& program) {
  std::vector<std::string> names;
  for (const Argument* output : program.block(0).ops().begin()->outputs()) {
    if (output->variable() != nullptr) names.emplace_back(output->name());
  }
  return names;
}

class HostileOps : public testing::TestWithParam<std::string> {};

TEST_P(HostileOps, AreRefusedOrComputed) {
  constexpr int kOps = 300;
  for (int seed = 0; seed < kOps; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Scope scope;
    const Program program =
        *Program::Create(reference::RandomOpProgram(random, *FindOpSchema(GetParam()), &scope));
    Scope inputs = Plain(scope);
    const auto executor = Executor::Create(program, &inputs);
    if (!executor.ok()) continue;
    const std::vector<std::string> fetches = Outputs(program);
    const auto run = (*executor)->Run({}, fetches, 0);
    auto interpreter = reference::Interpreter::Create(program, &inputs);
    if (!run.ok() || !interpreter.ok()) continue;
    const auto expected = interpreter->Run({}, fetches, 0);
    if (!expected.ok()) continue;
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_LT(Distance((*run)[i], (*expected)[i]), 1e-4) << fetches[i];
    }
  }
}

// Outputs of an op may be left unused.
TEST(HostilePrograms, MayLackOutputs) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        split(X=x) -> (Out=[@EMPTY@, a]) {axis=1, num=2}
        softmax_with_cross_entropy(Logits=x, Label=l) -> (Softmax=b, Loss=@EMPTY@)
        cross_entropy2(X=b, Label=l) -> (MatchX=c, XShape=@EMPTY@, Y=@EMPTY@)
      })",
                          "x f32[2,4] 1 2 3 4 5 6 7 8\nl i64[2,1] 1 3\n", 1e-6, {"a", "b", "c"}),
            "");
}

std::string Inputs() {
  std::string text = "s f32[2] 1 1\none f32[1] 1\ni i64[2] 1 2\nx f32[2,2,4,4]";
  for (int i = 0; i < 64; ++i) absl::StrAppend(&text, " ", i % 7);
  return text + "\n";
}

struct Refusal {
  const char* ops;
  const char* error;
};

// Cases where a plan needs more than the shapes of one op's inputs.
TEST(HostilePrograms, AreRefused) {
  const Refusal refusals[] = {
      {"slice(Input=x) -> (Out=y) {axes=[0], starts=[0], ends=[2], decrease_axis=[0]}",
       "decrease_axis names axis 0 of [2, 2, 4, 4]; want one of size 1"},
      {R"(pool2d(X=x) -> (Out=p) {
          pooling_type="max", ksize=[2, 2], strides=[2, 2]}
        pool2d_grad(X=p, Out=p, Out@GRAD=p) -> (X@GRAD=y) {
          pooling_type="max", ksize=[2, 2], strides=[2, 2]})",
       "input X is [2, 2, 2, 2]; want [2, 2, 4, 4]"},
      {R"(batch_norm(X=x, Scale=s, Bias=s, Mean=s, Variance=s) -> (
          Y=n, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv)
        pool2d(X=x) -> (Out=p) {
          pooling_type="max", ksize=[2, 2], strides=[2, 2]}
        batch_norm_grad(X=p, Scale=s, Bias=s, MeanOut=m, VarianceOut=v, SavedMean=sm,
          SavedVariance=sv, Y@GRAD=p) -> (X@GRAD=y, Scale@GRAD=ds, Bias@GRAD=db))",
       "no batch_norm by its batch has all the values that this op repeats; want one"},
      {R"(batch_norm(X=x, Scale=s, Bias=s, Mean=s, Variance=s) -> (
          Y=n, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv)
        batch_norm_grad(X=x, Scale=sm, Bias=s, MeanOut=m, VarianceOut=v, SavedMean=sm,
          SavedVariance=sv, Y@GRAD=x) -> (X@GRAD=y, Scale@GRAD=ds, Bias@GRAD=db))",
       "no batch_norm by its batch has all the values that this op repeats; want one"},
      {"tile(X=i) -> (Out=y) {repeat_times=[4611686018427387904L]}",
       "a tensor [4611686018427387904, 2] has more elements than an int64 holds"},
      {"fake_dequantize_max_abs(X=s, Scale=one) -> (Out=y) {max_range=inf}",
       "max_range is inf; want a finite number above 0"},
      {"fake_dequantize_max_abs(X=s, Scale=one) -> (Out=y) {max_range=nan}",
       "max_range is nan; want a finite number above 0"},
      {"fake_dequantize_max_abs(X=s, Scale=one) -> (Out=y) {max_range=0.0}",
       "max_range is 0; want a finite number above 0"},
      {"mean_grad(X=i, Out@GRAD=one) -> (X@GRAD=y)", "output X@GRAD is i64; want f32"},
  };
  for (const auto& [ops, error] : refusals) {
    EXPECT_THAT(OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}\n"),
                              Inputs(), 0, {"y"}),
                testing::HasSubstr(error));
  }
}

INSTANTIATE_TEST_SUITE_P(EachType, HostileOps, testing::ValuesIn(TypesWithPlan()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint::executor
