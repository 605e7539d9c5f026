// Composites and their components: equal values, the way back, and what survives on the way to
// integers. What components are is in tests/golden/rewrite.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string Bytes(const Program& program) { return program.Proto().SerializeAsString(); }

// Runs passes, and leaves no edit log.
absl::StatusOr<RewriteReport> RunPasses(Program* program, const std::string& pipeline) {
  auto passes = RewritePasses({});
  CHECK(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = pipeline;
  auto report = Rewrite(program, {}, options);
  program->ClearEditLog();
  return report;
}

Program Expanded(const Program& program) {
  Program expanded = program.Clone();
  const auto report = RunPasses(&expanded, "expand_composites");
  CHECK(report.ok()) << report.status();
  CHECK(!report->replaced.empty());
  return expanded;
}

Tensor Numbers(std::vector<int64_t> dims, int seed, float scale = 1) {
  Tensor tensor = Tensor::Allocate(VarType::FP32, std::move(dims)).value();
  int i = seed;
  for (float& value : tensor.mutable_data<float>()) {
    i = (i * 7919 + 104729) % 10007;
    value = scale * (i / 5003.0f - 1);
  }
  return tensor;
}

struct NamedTensor {
  std::string name;
  const Tensor* tensor;
};

// The fetch of a program in which these variables have values.
std::vector<float> Fetched(const Program& program, const std::string& fetch,
                           const std::vector<NamedTensor>& values) {
  Scope scope;
  for (const NamedTensor& value : values) scope.Set(value.name, *value.tensor->Clone());
  auto interpreter = reference::Interpreter::Create(program, &scope);
  CHECK(interpreter.ok()) << interpreter.status();
  const auto fetched = interpreter->Run({}, {fetch}, 0);
  CHECK(fetched.ok()) << fetched.status();
  const auto data = (*fetched)[0].data<float>();
  return {data.begin(), data.end()};
}

// The same for numbers of these dims, each from a seed of its own.
std::vector<float> Fetched(
    const Program& program, const std::string& fetch,
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& values) {
  std::deque<Tensor> tensors;
  std::vector<NamedTensor> named;
  for (const auto& [name, dims] : values) {
    tensors.push_back(Numbers(dims, static_cast<int>(tensors.size()) + 1));
    named.push_back({name, &tensors.back()});
  }
  return Fetched(program, fetch, named);
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

constexpr char kFunctions[] = R"(program version=2006002
block 0 {
  var x f32[2,4,2,3]
  var g f32[24] persistable
  var b f32[24] persistable
  var c f32[4] persistable
  var n f32[2,4,2,3]
  var mean f32[2]
  var variance f32[2]
  var m f32[2,4,2,3]
  var group_mean f32[2,2]
  var group_variance f32[2,2]
  var a f32[2,4,2,3]
  var s f32[2,4,2,3]
  var y f32[2,4,2,3]
  layer_norm(Bias=b, Scale=g, X=x) -> (Mean=mean, Variance=variance, Y=n) {begin_norm_axis=1}
  group_norm(Bias=c, Scale=c, X=n) -> (Mean=group_mean, Variance=group_variance, Y=m) {groups=2}
  gelu(X=m) -> (Out=a)
  swish(X=a) -> (Out=s) {beta=1.5}
  softmax(X=s) -> (Out=y) {axis=1}
}
)";

TEST(Composites, ComponentsComputeTheSame) {
  const Program program = ParsedProgram(kFunctions);
  const Program expanded = Expanded(program);
  for (const Op& op : expanded.ops()) {
    EXPECT_THAT((std::vector<std::string>{"layer_norm", "group_norm", "gelu", "swish", "softmax"}),
                Not(Contains(op.type())));
  }
  const std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
      {"x", {2, 4, 2, 3}}, {"g", {24}}, {"b", {24}}, {"c", {4}}};
  ExpectNear(Fetched(program, "y", values), Fetched(expanded, "y", values));
}

TEST(Composites, RaisedAgainTheyHaveTheSameBytes) {
  Program program = ParsedProgram(kFunctions);
  const std::string original = Bytes(program);
  program = Expanded(program);
  EXPECT_EQ(ReadCompositeMap(program)->composites_size(), 5);
  // Saved and loaded.
  program = *Program::Create(program.Proto());
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

TEST(Composites, DeclarationsThatWereRemovedComeBack) {
  Program program = Expanded(ParsedProgram(kFunctions));
  Rewriter(&program, "test").Remove(*program.Find(program.block(0), "group_mean"));
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_NE(program.Find(program.block(0), "group_mean"), nullptr);
}

TEST(Composites, UndoTakesTheMapAlong) {
  Program program = ParsedProgram(kFunctions);
  const std::string original = Bytes(program);
  auto passes = RewritePasses({});
  ASSERT_TRUE(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = "expand_composites";
  ASSERT_TRUE(Rewrite(&program, {}, options).ok());
  const std::string expanded = Bytes(program);
  options.pipeline = "raise_composites";
  ASSERT_TRUE(Rewrite(&program, {}, options).ok());
  EXPECT_FALSE(program.Proto().has_composites());
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), expanded);
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), original);
}

constexpr char kTraining[] = R"(program version=2006002
block 0 {
  var x f32[3,4]
  var w f32[4,4] persistable
  var g f32[4] persistable
  var b f32[4] persistable
  var a f32[3,4]
  var p f32[3,4]
  var y f32[3,4]
  var mean f32[3] stop_gradient
  var variance f32[3] stop_gradient
  var h f32[3,4]
  var z f32[3,4]
  var l f32[1]
  matmul_v2(X=x, Y=w) -> (Out=a)
  softmax(X=a) -> (Out=p)
  layer_norm(Bias=b, Scale=g, X=p) -> (Mean=mean, Variance=variance, Y=y) {begin_norm_axis=1}
  gelu(X=y) -> (Out=h)
  matmul_v2(X=h, Y=w) -> (Out=z)
  mean(X=z) -> (Out=l)
}
)";

TEST(Composites, GradientsAreEqualAndComeBackToo) {
  Program program = ParsedProgram(kTraining);
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  program.ForgetEdits();
  const std::string original = Bytes(program);
  Program expanded = Expanded(program);
  EXPECT_EQ(ReadCompositeMap(expanded)->composites_size(), 3);
  const std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
      {"x", {3, 4}}, {"w", {4, 4}}, {"g", {4}}, {"b", {4}}};
  for (const char* gradient : {"w@GRAD", "g@GRAD", "b@GRAD"}) {
    ExpectNear(Fetched(program, gradient, values), Fetched(expanded, gradient, values));
  }
  ASSERT_TRUE(RunPasses(&expanded, "raise_composites").ok());
  EXPECT_EQ(Bytes(expanded), original);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::string RnnProgram(const std::string& mode, int gates, bool both_ways) {
  const int directions = both_ways ? 2 : 1;
  std::string text = absl::StrCat("program version=2006002\nblock 0 {\n  var x f32[3,2,2]\n");
  std::vector<std::string> weights;
  for (int d = 0; d < directions; ++d) {
    absl::StrAppend(&text, "  var wi", d, " f32[", gates * 2, ",2] persistable\n  var wh", d,
                    " f32[", gates * 2, ",2] persistable\n");
    absl::StrAppend(&text, "  var bi", d, " f32[", gates * 2, "] persistable\n  var bh", d, " f32[",
                    gates * 2, "] persistable\n");
  }
  absl::StrAppend(&text, "  var h0 f32[", directions, ",2,2]\n  var c0 f32[", directions,
                  ",2,2]\n  var y f32[3,2,", 2 * directions, "]\n  var h f32[", directions,
                  ",2,2]\n  var c f32[", directions, ",2,2]\n  var r f32[]\n");
  const bool is_lstm = mode == "LSTM";
  absl::StrAppend(&text, "  rnn(Input=x, PreState=[h0", is_lstm ? ", c0" : "", "], WeightList=[",
                  both_ways ? "wi0, wh0, wi1, wh1, bi0, bh0, bi1, bh1" : "wi0, wh0, bi0, bh0",
                  "]) -> (Out=y, Reserve=r, State=[h", is_lstm ? ", c" : "", "]) {mode=\"", mode,
                  "\", is_bidirec=", both_ways ? "true" : "false",
                  ", hidden_size=2, input_size=2, is_test=true}\n}\n");
  return text;
}

// One direction of one layer for inputs of 2 and states of 2, as the reference defines it:
// WeightList [gates * 2, 2], blocks i, f, g, o of an LSTM and r, z, n of a GRU.
std::vector<float> Recur(const std::string& mode, int gates, bool backward, const Tensor& x,
                         const Tensor& wi, const Tensor& wh, const Tensor& bi, const Tensor& bh,
                         const Tensor& h0, const Tensor& c0) {
  std::vector<float> out(12);
  const int first_state = backward ? 4 : 0;
  for (int n = 0; n < 2; ++n) {
    double h[2];
    double c[2];
    for (int j = 0; j < 2; ++j) {
      h[j] = h0.data<float>()[first_state + n * 2 + j];
      c[j] = c0.data<float>()[first_state + n * 2 + j];
    }
    for (int step = 0; step < 3; ++step) {
      const int t = backward ? 2 - step : step;
      std::vector<double> input(gates * 2);
      std::vector<double> state(gates * 2);
      for (int k = 0; k < gates * 2; ++k) {
        input[k] = bi.data<float>()[k];
        state[k] = bh.data<float>()[k];
        for (int j = 0; j < 2; ++j) {
          input[k] += x.data<float>()[(t * 2 + n) * 2 + j] * wi.data<float>()[k * 2 + j];
          state[k] += h[j] * wh.data<float>()[k * 2 + j];
        }
      }
      for (int j = 0; j < 2; ++j) {
        const auto sum = [&](int gate) { return input[gate * 2 + j] + state[gate * 2 + j]; };
        if (mode == "LSTM") {
          c[j] = Sigmoid(sum(1)) * c[j] + Sigmoid(sum(0)) * std::tanh(sum(2));
          h[j] = Sigmoid(sum(3)) * std::tanh(c[j]);
        } else if (mode == "GRU") {
          const double candidate = std::tanh(input[4 + j] + Sigmoid(sum(0)) * state[4 + j]);
          h[j] = Sigmoid(sum(1)) * h[j] + (1 - Sigmoid(sum(1))) * candidate;
        } else {
          h[j] = mode == "RNN_TANH" ? std::tanh(sum(0)) : std::max(0.0, sum(0));
        }
        out[(t * 2 + n) * 2 + j] = static_cast<float>(h[j]);
      }
    }
  }
  return out;
}

TEST(Composites, RecurrentLayersAreTheirFormulas) {
  for (const auto& [mode, gates] : std::vector<std::pair<std::string, int>>{
           {"LSTM", 4}, {"GRU", 3}, {"RNN_TANH", 1}, {"RNN_RELU", 1}}) {
    for (const bool both_ways : {false, true}) {
      SCOPED_TRACE(absl::StrCat(mode, both_ways ? ", both ways" : ""));
      Program program = ParsedProgram(RnnProgram(mode, gates, both_ways));
      const std::string original = Bytes(program);
      Program expanded = Expanded(program);
      const int directions = both_ways ? 2 : 1;
      std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
          {"x", {3, 2, 2}}, {"h0", {directions, 2, 2}}, {"c0", {directions, 2, 2}}};
      for (int d = 0; d < directions; ++d) {
        values.push_back({absl::StrCat("wi", d), {gates * 2, 2}});
        values.push_back({absl::StrCat("wh", d), {gates * 2, 2}});
        values.push_back({absl::StrCat("bi", d), {gates * 2}});
        values.push_back({absl::StrCat("bh", d), {gates * 2}});
      }
      const std::vector<float> y = Fetched(expanded, "y", values);
      const auto value = [&](int i) { return Numbers(values[i].second, i + 1); };
      for (int d = 0; d < directions; ++d) {
        const int first = 3 + 4 * d;
        const std::vector<float> wanted =
            Recur(mode, gates, d == 1, value(0), value(first), value(first + 1), value(first + 2),
                  value(first + 3), value(1), value(2));
        std::vector<float> got;
        for (int row = 0; row < 6; ++row) {
          for (int j = 0; j < 2; ++j) got.push_back(y[(row * directions + d) * 2 + j]);
        }
        ExpectNear(got, wanted);
      }
      ASSERT_TRUE(RunPasses(&expanded, "raise_composites").ok());
      EXPECT_EQ(Bytes(expanded), original);
    }
  }
}

TEST(Composites, LayersFollowEachOther) {
  Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,1,2]
  var h0 f32[4,1,2]
  var i0 f32[2,2]
  var i1 f32[2,4]
  var h f32[2,2]
  var b f32[2]
  var y f32[2,1,4]
  var r f32[]
  var s f32[4,1,2]
  rnn(Input=x, PreState=[h0], WeightList=[i0, h, i0, h, i1, h, i1, h, b, b, b, b, b, b, b, b]) -> (Out=y, Reserve=r, State=[s]) {mode="RNN_TANH", is_bidirec=true, hidden_size=2, num_layers=2, input_size=2}
}
)");
  const std::string original = Bytes(program);
  program = Expanded(program);
  EXPECT_EQ(Fetched(program, "y",
                    {{"x", {2, 1, 2}},
                     {"h0", {4, 1, 2}},
                     {"i0", {2, 2}},
                     {"i1", {2, 4}},
                     {"h", {2, 2}},
                     {"b", {2}}})
                .size(),
            8);
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

// A step of an LSTM for X [2,8], blocks i, f, o and g, with a state of 2 numbers.
TEST(Composites, AnLstmUnitIsItsFormula) {
  for (const double forget_bias : {0.0, 0.5}) {
    Program program =
        ParsedProgram(absl::StrCat(R"(program version=1008005
block 0 {
  var x f32[2,8]
  var before f32[2,2]
  var c f32[2,2]
  var h f32[2,2]
  lstm_unit(C_prev=before, X=x) -> (C=c, H=h) {forget_bias=)",
                                   forget_bias, forget_bias == 0 ? ".0}\n}\n" : "}\n}\n"));
    const std::string original = Bytes(program);
    program = Expanded(program);
    const Tensor x = Numbers({2, 8}, 1, 3);
    const Tensor before = Numbers({2, 2}, 2);
    std::vector<float> cell;
    std::vector<float> hidden;
    for (int k = 0; k < 4; ++k) {
      const auto sum = [&](int block) { return x.data<float>()[k / 2 * 8 + block * 2 + k % 2]; };
      const double c = Sigmoid(sum(1) + forget_bias) * before.data<float>()[k] +
                       Sigmoid(sum(0)) * std::tanh(sum(3));
      cell.push_back(static_cast<float>(c));
      hidden.push_back(static_cast<float>(Sigmoid(sum(2)) * std::tanh(c)));
    }
    const std::vector<NamedTensor> values = {{"x", &x}, {"before", &before}};
    ExpectNear(Fetched(program, "c", values), cell);
    ExpectNear(Fetched(program, "h", values), hidden);
    ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
    EXPECT_EQ(Bytes(program), original);
  }
}

// A step of a GRU for Input [2,6], blocks u, r and c, with a state of 2 numbers. Weight is [2,4]
// for u and r, and then [2,2] for c.
TEST(Composites, AGruUnitIsItsFormula) {
  for (const bool keeps : {false, true}) {
    for (const bool has_bias : {false, true}) {
      SCOPED_TRACE(absl::StrCat(keeps ? "origin_mode" : "", has_bias ? ", bias" : ""));
      Program program = ParsedProgram(
          absl::StrCat(R"(program version=1008005
block 0 {
  var x f32[2,6]
  var before f32[2,2]
  var w f32[2,6] persistable
  var b f32[1,6] persistable
  var gate f32[2,6]
  var reset f32[2,2]
  var h f32[2,2]
  gru_unit()",
                       has_bias ? "Bias=b, " : "",
                       "HiddenPrev=before, Input=x, Weight=w) -> (Gate=gate, Hidden=h, "
                       "ResetHiddenPrev=reset) {activation=3, origin_mode=",
                       keeps ? "true}\n}\n" : "false}\n}\n"));
      const std::string original = Bytes(program);
      program = Expanded(program);
      const Tensor x = Numbers({2, 6}, 1);
      const Tensor before = Numbers({2, 2}, 2);
      const Tensor w = Numbers({2, 6}, 3);
      const Tensor b = Numbers({1, 6}, 4);
      std::vector<float> wanted;
      for (int n = 0; n < 2; ++n) {
        const float* const h = before.data<float>().data() + n * 2;
        const auto input = [&](int k) {
          return x.data<float>()[n * 6 + k] + (has_bias ? b.data<float>()[k] : 0);
        };
        const auto gate = [&](int k) {
          return Sigmoid(input(k) + h[0] * w.data<float>()[k] + h[1] * w.data<float>()[4 + k]);
        };
        for (int j = 0; j < 2; ++j) {
          const double sum = input(4 + j) + gate(2) * h[0] * w.data<float>()[8 + j] +
                             gate(3) * h[1] * w.data<float>()[10 + j];
          const double candidate = std::max(0.0, sum);
          const double update = keeps ? 1 - gate(j) : gate(j);
          wanted.push_back(static_cast<float>((1 - update) * h[j] + update * candidate));
        }
      }
      ExpectNear(Fetched(program, "h", {{"x", &x}, {"before", &before}, {"w", &w}, {"b", &b}}),
                 wanted);
      ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
      EXPECT_EQ(Bytes(program), original);
    }
  }
}

// A loop over steps whose number a run knows.
TEST(Composites, AUnitInALoopIsExpandedThere) {
  Program program = ParsedProgram(R"(program version=1008005
block 0 {
  var x f32[2,8]
  var c f32[2,2]
  var h f32[2,2]
  var step i64[1]
  var steps i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  fill_constant() -> (Out=step) {shape=[1], dtype=3, value=0.0}
  fill_constant() -> (Out=steps) {shape=[1], dtype=3, value=3.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
  while(Condition=goes_on, X=[x, c, step, steps]) -> (Out=[c, h, step, goes_on], StepScopes=scopes) {sub_block=block(1)}
}
block 1 parent=0 {
  var n f32[2,2]
  lstm_unit(C_prev=c, X=x) -> (C=n, H=h)
  assign(X=n) -> (Out=c)
  increment(X=step) -> (Out=step) {step=1.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
}
)");
  const std::string original = Bytes(program);
  program = Expanded(program);
  const Tensor x = Numbers({2, 8}, 1, 3);
  const Tensor before = Numbers({2, 2}, 2);
  std::vector<float> hidden;
  for (int k = 0; k < 4; ++k) {
    const auto sum = [&](int block) { return x.data<float>()[k / 2 * 8 + block * 2 + k % 2]; };
    double c = before.data<float>()[k];
    for (int step = 0; step < 3; ++step) {
      c = Sigmoid(sum(1)) * c + Sigmoid(sum(0)) * std::tanh(sum(3));
    }
    hidden.push_back(static_cast<float>(Sigmoid(sum(2)) * std::tanh(c)));
  }
  ExpectNear(Fetched(program, "h", {{"x", &x}, {"c", &before}}), hidden);
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

constexpr char kGated[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[2,4]
  var w f32[4,4] persistable
  var a f32[2,4]
  var s f32[2,4]
  var v f32[4,4] persistable
  var y f32[2,4]
  feed(X=feed) -> (Out=x) {col=0}
  mul(X=x, Y=w) -> (Out=a) {x_num_col_dims=1, y_num_col_dims=1}
  swish(X=a) -> (Out=s) {beta=1.0}
  mul(X=s, Y=v) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
  fetch(X=y) -> (Out=fetch) {col=0}
}
)";

// Expands, quantizes products and products of elements, and freezes with ranges of 2.
struct Quantized {
  Program simulated;
  FrozenModel frozen;
};

Quantized QuantizedGated() {
  Program program = Expanded(ParsedProgram(kGated));
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_mul");
  const auto transpiled = Transpile(&program, options);
  CHECK(transpiled.ok()) << transpiled.status();
  Scope scope;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    const auto& dims = variable->tensor()->dims();
    const std::vector<int64_t> extents(dims.begin(), dims.end());
    Tensor value = Numbers(extents, 5);
    if (value.size() == 1) value.mutable_data<float>()[0] = 2;
    scope.Set(variable->name(), std::move(value));
  }
  auto test = MakeTestProgram(program);
  CHECK(test.ok()) << test.status();
  auto frozen = Freeze(*test, scope);
  CHECK(frozen.ok()) << frozen.status();
  return {*std::move(test), *std::move(frozen)};
}

const Op* FindOp(const Program& program, const std::string& type) {
  for (const Op& op : program.ops()) {
    if (op.type() == type) return &op;
  }
  return nullptr;
}

TEST(Composites, TheMapSurvivesFreezingAndLowering) {
  const Quantized quantized = QuantizedGated();
  EXPECT_EQ(ReadCompositeMap(quantized.simulated)->composites_size(), 1);
  EXPECT_EQ(ReadCompositeMap(quantized.frozen.program)->composites_size(), 1);
  const auto lowered = Lower(quantized.frozen.program, quantized.frozen.scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(ReadCompositeMap(lowered->program)->composites_size(), 1);
}

TEST(Composites, ARaisedCompositeHasTheParametersOfItsComponents) {
  Quantized quantized = QuantizedGated();
  for (Program* program : {&quantized.simulated, &quantized.frozen.program}) {
    const auto report = RunPasses(program, "raise_composites");
    ASSERT_TRUE(report.ok()) << report.status();
    const Op* const swish = FindOp(*program, "swish");
    ASSERT_NE(swish, nullptr);
    EXPECT_EQ(FindOp(*program, "sigmoid"), nullptr);
    const std::vector<ComponentParameters> parameters = ReadComponentParameters(*swish);
    ASSERT_EQ(parameters.size(), 1);
    EXPECT_EQ(parameters[0].kind, "sigmoid");
    EXPECT_EQ(parameters[0].variable, "s.sigmoid");
    EXPECT_EQ(parameters[0].bits, 9);  // as the target has it for what is never negative
    EXPECT_NE(program->Find(program->block(0), parameters[0].scale), nullptr);
  }
}

TEST(Composites, OneThatWasChangedIsNotGivenBack) {
  Program program = Expanded(ParsedProgram(kGated));
  {
    Program other = program.Clone();
    Rewriter rewriter(&other, "test");
    rewriter.Remove(*FindOp(other, "sigmoid"));
    const auto report = RunPasses(&other, "raise_composites");
    EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(report.status().message()),
                HasSubstr("swish \"s\" cannot be given back: no op writes its component sigmoid"));
  }
  Rewriter rewriter(&program, "test");
  rewriter
      .RedirectReads({FindOp(program, "sigmoid")->Input("X")}, *program.Find(program.block(0), "x"))
      .IgnoreError();
  const auto report = RunPasses(&program, "raise_composites");
  EXPECT_THAT(std::string(report.status().message()),
              HasSubstr("was changed: it reads \"x\" where it read \"a\""));
}

// Quantizers of a result stand before components of another.
TEST(Composites, ARaisedCompositeStandsBeforeWhatReadsItsResults) {
  Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[3,2,2]
  var h f32[1,2,2]
  var w f32[2,2] persistable
  var b f32[2] persistable
  var out f32[3,2,2]
  var state f32[1,2,2]
  var r f32[]
  var y f32[3,2,2]
  rnn(Input=x, PreState=[h], WeightList=[w, w, b, b]) -> (Out=out, Reserve=r, State=[state]) {mode="RNN_TANH", hidden_size=2, input_size=2, is_test=true}
  matmul_v2(X=out, Y=w) -> (Out=y)
}
)");
  program = Expanded(program);
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  const auto transpiled = Transpile(&program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  program.ClearEditLog();
  const auto report = RunPasses(&program, "raise_composites");
  ASSERT_TRUE(report.ok()) << report.status();
  const auto findings = Verify(program);
  EXPECT_FALSE(HasErrors(findings)) << FindingsText(program, findings);
}

TEST(Composites, GradientsThatCameAfterTheyWereExpandedHinderIt) {
  Program program = Expanded(ParsedProgram(kTraining));
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  program.ForgetEdits();
  const auto report = RunPasses(&program, "raise_composites");
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("reads its component"));
}

}  // namespace
}  // namespace fixpoint
