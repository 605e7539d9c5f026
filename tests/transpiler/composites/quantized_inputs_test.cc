// Composites whose components read an input quantized, all of them or some.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.h"

namespace fixpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Op& WriterOf(const Program& program, const std::string& variable) {
  for (const Op& op : program.ops()) {
    for (const Argument* output : op.outputs()) {
      if (output->name() == variable) return op;
    }
  }
  CHECK(false) << "nothing writes " << variable;
}

struct Read {
  std::string component;  // the variable that the reader writes
  std::string slot;
};

// Has these reads of one variable read what one op quantizes, right before the first of them.
void Quantize(const std::vector<Read>& reads, Program* program) {
  std::vector<const Argument*> arguments;
  for (const Read& read : reads) {
    arguments.push_back(WriterOf(*program, read.component).Input(read.slot));
  }
  Rewriter rewriter(program, "test");
  const auto& extents = arguments[0]->variable()->tensor()->dims();
  const std::vector<int64_t> dims(extents.begin(), extents.end());
  const std::string name(arguments[0]->name());
  const auto again = rewriter.AddTensor(program->block(0), rewriter.FreshName(name + ".again"),
                                        VarType::FP32, dims);
  const auto scale = rewriter.AddTensor(program->block(0), rewriter.FreshName(name + ".scale"),
                                        VarType::FP32, {1});
  CHECK(again.ok() && scale.ok());
  rewriter.InsertBefore(arguments[0]->op(), rewriter.New("fake_quantize_dequantize_abs_max")
                                                .Input("X", name)
                                                .Output("Out", (*again)->name())
                                                .Output("OutScale", (*scale)->name())
                                                .IntAttr("bit_length", 8));
  CHECK(rewriter.RedirectReads(arguments, **again).ok());
}

absl::Status Raise(Program* program) {
  program->ForgetEdits();
  return RunPasses(program, "raise_composites").status();
}

std::vector<std::string> KindsOf(const Op& op) {
  std::vector<std::string> kinds;
  for (const ComponentParameters& one : ReadComponentParameters(op)) kinds.push_back(one.kind);
  return kinds;
}

constexpr char kSelfAttention[] = R"(program version=2006002
block 0 {
  var x f32[2,4,4]
  var a f32[2,4,4]
  var y f32[2,4,4]
  relu(X=x) -> (Out=a)
  scaled_dot_product_attention(K=a, Q=a, V=a) -> (Out=y) {alpha=0.5}
}
)";

// No attribute could say which of Q, K and V is quantized.
TEST(QuantizedInputs, OfOneVariableAreRefusedWhereReadInTwoWays) {
  for (const std::vector<Read>& reads :
       {std::vector<Read>{{"y.scores", "X"}, {"y.scores", "Y"}}, {{"y.scores", "X"}}}) {
    Program program = Expanded(ParsedProgram(kSelfAttention));
    Quantize(reads, &program);
    const absl::Status status = Raise(&program);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("\"y\" cannot be given back: its components read \"a\" as different "
                          "values, and it is its K, Q, V; want a variable for each of these"));
  }
}

TEST(QuantizedInputs, OfOneVariableAreReadQuantizedWhereAllAre) {
  Program program = Expanded(ParsedProgram(kSelfAttention));
  Quantize({{"y.scores", "X"}, {"y.scores", "Y"}, {"y", "Y"}}, &program);
  ASSERT_EQ(Raise(&program), absl::OkStatus());
  const Op& attention = WriterOf(program, "y");
  for (const Argument* input : attention.inputs()) EXPECT_EQ(input->name(), "a.again");
  EXPECT_THAT(KindsOf(attention), ElementsAre());
}

TEST(QuantizedInputs, OfASlotThatHoldsSeveralAreNumbered) {
  Program program = Expanded(ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[3,2,2]
  var h f32[1,2,2]
  var wi f32[2,2] persistable
  var wh f32[2,2] persistable
  var b f32[2] persistable
  var out f32[3,2,2]
  var state f32[1,2,2]
  var r f32[]
  rnn(Input=x, PreState=[h], WeightList=[wi, wh, b, b]) -> (Out=out, Reserve=r, State=[state]) {mode="RNN_TANH", hidden_size=2, input_size=2, is_test=true}
}
)"));
  Quantize({{"out.state_product_1", "Y"}}, &program);
  ASSERT_EQ(Raise(&program), absl::OkStatus());
  EXPECT_THAT(KindsOf(WriterOf(program, "out")), ElementsAre("state_product_1.WeightList.1"));
}

// No composite reads an input after it has written a result: this one does by its map alone.
TEST(QuantizedInputs, MayBeQuantizedAfterWhatReadsAResult) {
  Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,16]
  var c f32[2,4]
  var h.part f32[2,16]
  var n f32[2,4]
  var e f32[2,4]
  var h.sum f32[2,16]
  var h f32[2,4]
  relu(X=x) -> (Out=h.part)
  tanh(X=c) -> (Out=n)
  relu(X=n) -> (Out=e)
  elementwise_add(X=h.part, Y=x) -> (Out=h.sum) {axis=-1}
  slice(Input=h.sum) -> (Out=h) {axes=[1], starts=[0], ends=[4]}
}
)");
  CompositeMap map;
  CompositeMap::Composite& entry = *map.add_composites();
  entry.set_block(0);
  entry.set_op(OpBuilder("lstm_unit")
                   .Input("C_prev", "c")
                   .Input("X", "x")
                   .Output("C", "n")
                   .Output("H", "h")
                   .FloatAttr("forget_bias", 0)
                   .Build()
                   .SerializeAsString());
  for (const char* variable : {"h.part", "n", "h.sum", "h"}) {
    CompositeMap::Component& component = *entry.add_components();
    component.set_kind(variable);
    component.set_variable(variable);
    component.set_op(WriterOf(program, variable).desc().SerializeAsString());
  }
  Rewriter(&program, "test").SetComposites(map.SerializeAsString());
  Quantize({{"h.sum", "Y"}}, &program);
  ASSERT_EQ(Raise(&program), absl::OkStatus());
  const Op& unit = WriterOf(program, "h");
  EXPECT_EQ(unit.type(), "lstm_unit");
  EXPECT_EQ(unit.Input("X")->name(), "x");
  EXPECT_TRUE(unit.IsBefore(WriterOf(program, "e")));
  EXPECT_THAT(KindsOf(unit), ElementsAre("h.sum.X"));
}

// What was quantized before it was expanded is an input as any other.
TEST(QuantizedInputs, ThatAreSoBeforeItIsExpandedStay) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,4]
  var a f32[2,4]
  var s f32[1]
  var y f32[2,4]
  fake_quantize_dequantize_abs_max(X=x) -> (Out=a, OutScale=s) {bit_length=8}
  softmax(X=a) -> (Out=y) {axis=-1}
}
)");
  Program raised = Expanded(program);
  ASSERT_EQ(Raise(&raised), absl::OkStatus());
  EXPECT_EQ(Bytes(raised), Bytes(program));
}

}  // namespace
}  // namespace fixpoint
