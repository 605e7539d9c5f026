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
    const std::vector<std::string> fetches = Outputs(program);
    Scope inputs = Plain(scope);
    const auto executor = Executor::Create(program, &inputs);
    if (!executor.ok()) continue;
    // With what is no number the results may differ (Plain).
    (void)(*Executor::Create(program, &scope))->Run({}, fetches, 0);
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

// Values that no shape shows, on both backends alike: what they give, or why they are refused.
struct HostileValues {
  const char* what;
  const char* program;
  const char* inputs;
  const char* error = "";  // of both; "": they compute the same
};

constexpr char kLoop[] = R"(program
    block 0 {
      var i i64[1]
      var end i64[1]
      var goes_on bool[1]
      less_than(X=i, Y=end) -> (Out=goes_on)
      while(X=[i, end], Condition=goes_on) -> (Out=[i, goes_on], StepScopes=[]) {sub_block=block(1)}
    }
    block 1 parent=0 {
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=end) -> (Out=goes_on)
    })";

constexpr char kRnn[] = R"(program version=2006002
    block 0 {
      rnn(Input=x, PreState=[h], WeightList=[w, w, b, b], SequenceLength=n) -> (
        Out=y, State=[s], Reserve=[]) {mode="RNN_RELU", hidden_size=1, is_test=true}
    })";

TEST(HostilePrograms, MeetHostileValues) {
  const HostileValues cases[] = {
      {"scores that are no numbers", R"(program version=2006002
          block 0 {
            multiclass_nms(BBoxes=b, Scores=s) -> (Out=y) {
              background_label=-1, score_threshold=0.1, nms_top_k=3, nms_threshold=0.5, keep_top_k=2}
          })",
       "b f32[1,3,4] 0 0 4 4 1 0 5 4 nan 4 8 inf\ns f32[1,2,3] nan nan nan nan 0.5 nan\n"},
      {"a counter that adding 1 leaves as it is", kLoop,
       "i i64[1] 9007199254740992\nend i64[1] 9223372036854774784\n",
       "the loops of this run have gone round"},
      {"a counter beyond the end of its type",
       "program\nblock 0 {\nincrement(X=i) -> (Out=y) {step=1e19}\n}",
       "i i64[2] 9223372036854774784 -9223372036854775808\n"},
      {"a sequence longer than the batch", kRnn,
       "x f32[2,1,1] 1 2\nh f32[1,1,1] 3\nw f32[1,1] 1\nb f32[1] 0\nn i64[1] 9\n",
       "SequenceLength"},
      {"a sequence of a length below 0", kRnn,
       "x f32[2,1,1] 1 2\nh f32[1,1,1] 3\nw f32[1,1] 1\nb f32[1] 0\nn i64[1] -1\n",
       "SequenceLength"},
      {"a length beyond what was padded", R"(program version=2006002
          block 0 {
            assign_value() -> (Out=n) {shape=[1], dtype=3, int64_values=[9L]}
            sequence_unpad(X=x, Length=n) -> (Out=y)
          })",
       "x f32[1,3] 1 2 3\n", "Length has 9; want 0 to 3"},
      {"an array that is read before it is written", R"(program version=2006002
          block 0 {
            var a tensor_array f32[-1,2] lod=0
            read_from_array(X=a, I=i) -> (Out=y)
          })",
       "i i64[1] 0\n", "a"},
      {"no images", R"(program version=2006002
          block 0 {
            multiclass_nms3(BBoxes=b, Scores=s) -> (Out=y, Index=i, NmsRoisNum=n) {
              score_threshold=0.1, nms_top_k=3, keep_top_k=2}
          })",
       "b f32[0,3,4]\ns f32[0,2,3]\n"},
      {"a threshold and a scale below 0", R"(program version=2006002
          block 0 {
            hard_swish(X=x) -> (Out=y) {threshold=-1.0, scale=-1.0}
          })",
       "x f32[3] -4 0 1\n"},
      {"channels of no elements", R"(program version=2006002
          block 0 {
            fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=z) {quant_axis=1}
          })",
       "x f32[0,3,2]\n"},
      {"beams of no words", R"(program version=2006002
          block 0 {
            var c f32[-1,2] lod=2
            beam_search(pre_ids=p, pre_scores=s, ids=i, scores=c) -> (
              selected_ids=y, selected_scores=z, parent_idx=r) {level=0, beam_size=0, end_id=0}
          })",
       "p i64[1,1] 5\ns f32[1,1] 0\ni i64[1,2] 1 2\nc f32[1,2] lod={0,1}{0,1} 1 2\n",
       "beam_size is 0; want 1 to 65536"},
      {"beams without end", R"(program version=2006002
          block 0 {
            var c f32[-1,2] lod=2
            beam_search(pre_ids=p, pre_scores=s, ids=i, scores=c) -> (
              selected_ids=y, selected_scores=z, parent_idx=r) {
              level=0, beam_size=2147483647, end_id=0}
          })",
       "p i64[1,1] 5\ns f32[1,1] 0\ni i64[1,2] 1 2\nc f32[1,2] lod={0,1}{0,1} 1 2\n",
       "beam_size is 2147483647; want 1 to 65536"},
  };
  for (const HostileValues& values : cases) {
    SCOPED_TRACE(values.what);
    const std::string differences = OpDifferences(values.program, values.inputs, /*tolerance=*/0);
    if (values.error == std::string()) {
      EXPECT_EQ(differences, "");
    } else {
      EXPECT_THAT(differences, testing::HasSubstr(values.error));
    }
  }
}

// The interpreter has no memory for so many rows.
TEST(HostilePrograms, GoOverNoRowsWithoutElements) {
  const std::pair<const char*, const char*> cases[] = {
      {"arg_max(X=x) -> (Out=y) {axis=1L}", "x f32[1099511627776,2,0]\n"},
      {"bipartite_match(DistMat=x) -> (ColToRowMatchIndices=y, ColToRowMatchDist=d)",
       "x f32[1099511627776,0]\n"},
      {"gather(X=x, Index=i) -> (Out=y) {axis=1}", "x f32[1099511627776,0]\ni i32[0]\n"},
      {"gather_grad(X=x, Index=i, Out@GRAD=x) -> (X@GRAD=y) {axis=1}",
       "x f32[1099511627776,0]\ni i32[0]\n"},
      {"index_sample(X=x, Index=i) -> (Out=y)", "x f32[1099511627776,0]\ni i32[1099511627776,0]\n"},
      {"take_along_axis(Input=x, Index=i) -> (Result=y) {Axis=1}",
       "x f32[1099511627776,0]\ni i32[1099511627776,0]\n"},
      {"put_along_axis(Input=x, Index=i, Value=x) -> (Result=y) {Axis=1, Reduce=\"add\"}",
       "x f32[1099511627776,0]\ni i32[1099511627776,0]\n"},
  };
  for (const auto& [op, inputs] : cases) {
    EXPECT_THAT(
        OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\n", op, "\n}"), inputs, 0),
        testing::StartsWith("executor: \ninterpreter: "));
  }
}

INSTANTIATE_TEST_SUITE_P(EachType, HostileOps, testing::ValuesIn(TypesWithPlan()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint::executor
