// Layers over sequences with offsets compute in a loop over their steps what they compute whole.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/backward.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"

namespace fixpoint {
namespace {

using executor::Distance;
using executor::Drawn;
using ::testing::MatchesRegex;

// Sequences of 2, 0, 3, 1 and 3 rows of 8 or 6 gates.
constexpr char kOffsets[] = "{0,2,2,5,6,9}";

struct Layer {
  bool is_lstm = true;
  bool has_first_states = false;
  bool has_bias = true;
  int version = 2006002;
  std::string attributes;
};

std::string ProgramText(const Layer& layer) {
  std::string text = absl::StrCat("program version=", layer.version, "\nblock 0 {\n");
  const int gates = layer.is_lstm ? 8 : 6;
  absl::StrAppend(&text, "  var x f32[-1,", gates, "] lod=1\n  var w f32[2,", gates,
                  "] persistable\n");
  const bool has_peepholes = layer.attributes.find("use_peepholes=true") != std::string::npos;
  std::vector<std::string> inputs = {"Input=x", "Weight=w"};
  if (layer.has_bias) {
    absl::StrAppend(&text, "  var b f32[1,", has_peepholes ? 14 : gates, "] persistable\n");
    inputs.push_back("Bias=b");
  }
  if (layer.has_first_states) {
    absl::StrAppend(&text, "  var h0 f32[5,2]\n  var c0 f32[5,2]\n");
    inputs.push_back("H0=h0");
    if (layer.is_lstm) inputs.push_back("C0=c0");
  }
  absl::StrAppend(&text,
                  "  var h f32[-1,2] lod=1\n  var c f32[-1,2] lod=1\n  var p f32[-1,2] lod=1\n"
                  "  var q f32[-1,2] lod=1\n  var bg f32[-1,",
                  gates, "]\n  var ba f32[-1,2]\n  var bh f32[-1,2]\n");
  if (layer.is_lstm) {
    absl::StrAppend(&text, "  lstm(", absl::StrJoin(inputs, ", "),
                    ") -> (Hidden=h, Cell=c, BatchGate=bg, BatchCellPreAct=ba) {", layer.attributes,
                    "}\n  relu(X=c) -> (Out=q)\n");
  } else {
    absl::StrAppend(&text, "  gru(", absl::StrJoin(inputs, ", "),
                    ") -> (Hidden=h, BatchGate=bg, BatchResetHiddenPrev=ba, BatchHidden=bh) {",
                    layer.attributes, "}\n");
  }
  return absl::StrCat(text, "  relu(X=h) -> (Out=p)\n}\n");
}

// A tensor with offsets, and the parameters.
std::string Values(const Layer& layer) {
  const int gates = layer.is_lstm ? 8 : 6;
  std::string x = Drawn("x", {9, gates});
  x.insert(x.find(']') + 1, absl::StrCat(" lod=", kOffsets));
  const bool has_peepholes = layer.attributes.find("use_peepholes=true") != std::string::npos;
  std::string text = x + Drawn("w", {2, gates});
  if (layer.has_bias) text += Drawn("b", {1, has_peepholes ? 14 : gates});
  if (layer.has_first_states) text += Drawn("h0", {5, 2});
  if (layer.has_first_states && layer.is_lstm) text += Drawn("c0", {5, 2});
  return text;
}

std::vector<Tensor> RunWhole(const Program& program, const Scope& values,
                             const std::vector<std::string>& fetches) {
  executor::Scopes scopes = executor::CopiesOf(values);
  auto interpreter = reference::Interpreter::Create(program, &scopes.interpreter);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  auto run = interpreter->Run({}, fetches, 0);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

void ExpectSameInALoop(const Layer& layer) {
  SCOPED_TRACE(absl::StrCat(layer.is_lstm ? "lstm {" : "gru {", layer.attributes, "}",
                            layer.has_first_states ? " from states" : ""));
  const Program program = ParsedProgram(ProgramText(layer));
  const Program expanded = Expanded(program);
  EXPECT_EQ(expanded.block_count(), 2);
  const auto findings = Verify(expanded);
  EXPECT_FALSE(HasErrors(findings)) << FindingsText(expanded, findings);
  const Scope values = *ParseParameters(Values(layer), "values");
  std::vector<std::string> fetches = {"h", "p"};
  if (layer.is_lstm) fetches.insert(fetches.end(), {"c", "q"});
  const std::vector<Tensor> whole = RunWhole(program, values, fetches);
  const std::vector<Tensor> in_loop = RunWhole(expanded, values, fetches);
  for (size_t i = 0; i < fetches.size(); ++i) {
    EXPECT_LT(Distance(whole[i], in_loop[i]), 1e-6) << fetches[i];
  }
  executor::Scopes scopes = executor::CopiesOf(values);
  EXPECT_EQ(executor::RunOnBoth(expanded, fetches, 0, 1e-6, &scopes), "");

  Program raised = *Program::Create(expanded.Proto());
  const auto report = RunPasses(&raised, "raise_composites");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Bytes(raised), Bytes(program)) << PrintProgram(raised.Proto());
}

TEST(LoopComponents, AnLstmIsALoop) {
  for (const char* peepholes : {"false", "true"}) {
    for (const char* reverse : {"false", "true"}) {
      for (const bool has_first_states : {false, true}) {
        Layer layer;
        layer.has_first_states = has_first_states;
        layer.attributes = absl::StrCat("use_peepholes=", peepholes, ", is_reverse=", reverse);
        ExpectSameInALoop(layer);
      }
    }
  }
}

TEST(LoopComponents, AnLstmHasAnyFunctions) {
  constexpr const char* kFunctions[] = {"sigmoid", "tanh", "relu", "identity"};
  for (int i = 0; i < 4; ++i) {
    Layer layer;
    layer.version = 1008005;
    layer.attributes = absl::StrCat("use_peepholes=true, gate_activation=\"", kFunctions[i],
                                    "\", cell_activation=\"", kFunctions[(i + 1) % 4],
                                    "\", candidate_activation=\"", kFunctions[(i + 2) % 4], "\"");
    ExpectSameInALoop(layer);
  }
}

TEST(LoopComponents, AGruIsALoop) {
  for (const char* origin_mode : {"false", "true"}) {
    for (const char* reverse : {"false", "true"}) {
      for (const bool is_plain : {false, true}) {
        Layer layer;
        layer.is_lstm = false;
        layer.has_first_states = !is_plain;
        layer.has_bias = !is_plain;
        layer.attributes = absl::StrCat("origin_mode=", origin_mode, ", is_reverse=", reverse);
        ExpectSameInALoop(layer);
      }
    }
  }
}

TEST(LoopComponents, AGruHasAnyFunctions) {
  for (const char* function : {"sigmoid", "tanh", "relu", "identity"}) {
    Layer layer;
    layer.is_lstm = false;
    layer.version = 1008005;
    layer.attributes =
        absl::StrCat("activation=\"", function, "\", gate_activation=\"", function, "\"");
    ExpectSameInALoop(layer);
  }
}

// A cell that nothing reads is no result of the loop, so that nothing has to prune it.
TEST(LoopComponents, AreOfResultsThatAreRead) {
  Layer layer;
  layer.attributes = "use_peepholes=false";
  Program program = ParsedProgram(ProgramText(layer));
  Rewriter(&program, "test").Remove(*program.Find(program.block(0), "q")->values()[0]->op());
  const std::string original = Bytes(program);
  program = Expanded(program);
  EXPECT_TRUE(program.Find(program.block(0), "c")->arguments().empty());
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

// The blocks of loops are there in the order in which they were expanded, and the last ones go
// first.
TEST(LoopComponents, GoInAnyOrder) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[-1,8] lod=1
  var w f32[2,8] persistable
  var b f32[1,8] persistable
  var h f32[-1,2] lod=1
  var c f32[-1,2] lod=1
  var bg f32[-1,8]
  var ba f32[-1,2]
  var y f32[-1,6] lod=1
  var v f32[2,6] persistable
  var k f32[-1,2] lod=1
  var kg f32[-1,6]
  var ka f32[-1,2]
  var kh f32[-1,2]
  var m f32[2,6] persistable
  lstm(Input=x, Weight=w, Bias=b) -> (Hidden=h, Cell=c, BatchGate=bg, BatchCellPreAct=ba) {use_peepholes=false}
  mul(X=h, Y=m) -> (Out=y)
  gru(Input=y, Weight=v) -> (Hidden=k, BatchGate=kg, BatchResetHiddenPrev=ka, BatchHidden=kh)
}
)");
  for (const auto& order :
       std::vector<std::vector<std::string>>{{"lstm", "gru"}, {"gru", "lstm"}}) {
    Program raised = Expanded(program);
    EXPECT_EQ(raised.block_count(), 3);
    ASSERT_TRUE(RunPasses(&raised, "raise_composites", {{order[0]}}).ok());
    EXPECT_EQ(raised.block_count(), order[0] == "gru" ? 2 : 3);
    raised = *Program::Create(raised.Proto());
    ASSERT_TRUE(RunPasses(&raised, "raise_composites", {{order[1]}}).ok());
    EXPECT_EQ(Bytes(raised), Bytes(program)) << PrintProgram(raised.Proto());
  }
}

// In the block of a loop, whose own block is before the new one.
TEST(LoopComponents, StandInALoop) {
  Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[-1,8] lod=1
  var w f32[2,8] persistable
  var b f32[1,8] persistable
  var h f32[-1,2] lod=1
  var step i64[1]
  var steps i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  fill_constant() -> (Out=step) {shape=[1L], dtype=3, value=0.0}
  fill_constant() -> (Out=steps) {shape=[1L], dtype=3, value=2.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
  while(X=[x, w, b, step, steps], Condition=goes_on) -> (Out=[h, step, goes_on], StepScopes=scopes) {sub_block=block(1)}
}
block 1 parent=0 {
  var c f32[-1,2] lod=1
  var bg f32[-1,8]
  var ba f32[-1,2]
  lstm(Input=x, Weight=w, Bias=b) -> (Hidden=h, Cell=c, BatchGate=bg, BatchCellPreAct=ba) {use_peepholes=false}
  increment(X=step) -> (Out=step) {step=1.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
}
)");
  const std::string original = Bytes(program);
  Layer layer;
  layer.attributes = "use_peepholes=false";
  const Scope values = *ParseParameters(Values(layer), "values");
  const std::vector<Tensor> whole = RunWhole(program, values, {"h"});
  program = Expanded(program);
  EXPECT_EQ(program.block(2).parent(), &program.block(1));
  EXPECT_LT(Distance(RunWhole(program, values, {"h"})[0], whole[0]), 1e-6);
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

// Why an op stays whole, with an op after it.
std::string WhyWhole(Program* program) {
  const std::string before = Bytes(*program);
  const auto report = RunPasses(program, "expand_composites");
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Bytes(*program), before);
  EXPECT_TRUE(report->replaced.empty());
  return report->near_matches.empty() ? "" : report->near_matches[0].reason;
}

TEST(LoopComponents, AreNoneInAProgramWithABackwardPass) {
  Layer layer;
  layer.attributes = "use_peepholes=false";
  Program program = ParsedProgram(ProgramText(layer));
  Rewriter rewriter(&program, "test");
  ASSERT_TRUE(rewriter.AddTensor(program.block(0), "l", VarType::FP32, {}).ok());
  rewriter.Append(program.block(0),
                  ParseProgramText("mean(X=p) -> (Out=l)", "test")->blocks(0).ops(0));
  const auto backward = AppendBackward(&program, "l");
  ASSERT_TRUE(backward.ok()) << backward.status();
  program.ForgetEdits();
  EXPECT_THAT(WhyWhole(&program),
              MatchesRegex("it has a gradient, by block 0, op [0-9]+ \\(lstm_grad\\), and that "
                           "of a loop is not known"));
}

TEST(LoopComponents, AreNoneWhereScratchIsRead) {
  Layer layer;
  layer.attributes = "use_peepholes=false";
  Program program = ParsedProgram(ProgramText(layer));
  Rewriter rewriter(&program, "test");
  rewriter.Append(program.block(0),
                  ParseProgramText("relu(X=bg) -> (Out=q)", "test")->blocks(0).ops(0));
  program.ForgetEdits();
  EXPECT_EQ(WhyWhole(&program), "BatchGate is \"bg\", which is read, and which no component is");
}

TEST(LoopComponents, AreNoneOfOtherShapes) {
  struct Wrong {
    const char* was;
    const char* is;
    const char* reason;
  };
  for (const Wrong& wrong : {
           Wrong{"x f32[-1,8] lod=1", "x f32[-1,8] lod=2",
                 "its Input has 2 levels of offsets; want one"},
           Wrong{"x f32[-1,8] lod=1", "x f32[]", "its Input declares no matrix of f32"},
           Wrong{"w f32[2,8]", "w f32[-1,8]", "its Weight is [-1, 8] of f32; want [D,4*D]"},
           Wrong{"b f32[1,8]", "b f32[]", "its Bias is [] of f32; want [1,8]"},
       }) {
    Layer layer;
    layer.attributes = "use_peepholes=false";
    std::string text = ProgramText(layer);
    text.replace(text.find(wrong.was), std::string(wrong.was).size(), wrong.is);
    Program program = ParsedProgram(text);
    EXPECT_EQ(WhyWhole(&program), wrong.reason);
  }
}

}  // namespace
}  // namespace fixpoint
