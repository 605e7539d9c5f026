// Composites whose components were quantized: their map on the way to integers, and what they say
// of their components when they are given back.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ops/verifier.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

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

Quantized FrozenWithRangesOf2(Program* expanded) {
  Program& program = *expanded;
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

Quantized QuantizedGated() {
  Program program = Expanded(ParsedProgram(kGated));
  return FrozenWithRangesOf2(&program);
}

const Op* FindOp(const Program& program, const std::string& type) {
  for (const Op& op : program.ops()) {
    if (op.type() == type) return &op;
  }
  return nullptr;
}

TEST(QuantizedComponents, KeepTheirMapWhenFrozenAndLowered) {
  const Quantized quantized = QuantizedGated();
  EXPECT_EQ(ReadCompositeMap(quantized.simulated)->composites_size(), 1);
  EXPECT_EQ(ReadCompositeMap(quantized.frozen.program)->composites_size(), 1);
  const auto lowered = Lower(quantized.frozen.program, quantized.frozen.scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(ReadCompositeMap(lowered->program)->composites_size(), 1);
}

// The sigmoid reads the input as it is, the product does so quantized.
TEST(QuantizedComponents, AreAttributesOfTheCompositeThatIsGivenBack) {
  Quantized quantized = QuantizedGated();
  for (Program* program : {&quantized.simulated, &quantized.frozen.program}) {
    const auto report = RunPasses(program, "raise_composites");
    ASSERT_TRUE(report.ok()) << report.status();
    const Op* const swish = FindOp(*program, "swish");
    ASSERT_NE(swish, nullptr);
    EXPECT_EQ(FindOp(*program, "sigmoid"), nullptr);
    EXPECT_EQ(swish->Input("X")->name(), "a");
    const std::vector<ComponentParameters> parameters = ReadComponentParameters(*swish);
    ASSERT_EQ(parameters.size(), 2);
    EXPECT_EQ(parameters[0].kind, "sigmoid");
    EXPECT_EQ(parameters[0].variable, "s.sigmoid");
    EXPECT_EQ(parameters[0].bits, 9);  // as the target has it for what is never negative
    EXPECT_EQ(parameters[1].kind, "Out.X");
    EXPECT_EQ(parameters[1].variable, "a");
    EXPECT_EQ(parameters[1].bits, 8);
    for (const ComponentParameters& one : parameters) {
      EXPECT_NE(program->Find(program->block(0), one.scale), nullptr) << one.kind;
    }
    for (const Op& op : program->ops()) {
      const Argument* const input = op.Input("X");
      EXPECT_TRUE(input == nullptr || input->name() != "a" || &op == swish)
          << DescribeInFile(op) << " quantizes what nothing reads";
    }
  }
}

// A weight that is held as codes is what a composite reads in its place.
TEST(QuantizedComponents, OfFrozenWeightsAreGivenBack) {
  Program program = Expanded(ParsedProgram(R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[2,4]
  var w f32[4,3] persistable
  var b f32[3] persistable
  var y f32[2,3]
  feed(X=feed) -> (Out=x) {col=0}
  fc(Bias=b, Input=x, W=w) -> (Out=y) {in_num_col_dims=1}
  fetch(X=y) -> (Out=fetch) {col=0}
}
)"));
  FrozenModel frozen = FrozenWithRangesOf2(&program).frozen;
  const auto report = RunPasses(&frozen.program, "raise_composites");
  ASSERT_TRUE(report.ok()) << report.status();
  const Op* const fc = FindOp(frozen.program, "fc");
  ASSERT_NE(fc, nullptr);
  EXPECT_EQ(fc->Input("W")->value()->op()->type(), "dequantize_linear");
}

// Quantizers of a result stand before components of another.
TEST(QuantizedComponents, StandBeforeWhatReadsTheirResults) {
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

}  // namespace
}  // namespace fixpoint
