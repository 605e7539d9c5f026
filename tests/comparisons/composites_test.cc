// Composites that were expanded and quantized by component compute the same bits simulated,
// portable and lowered, and are given back to a target that takes them, with what quantizes their
// components.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/component_networks.h"
#include "benchmarks/networks.h"
#include "ops/quantizer_table.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/comparison.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/comparisons/range_profile.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/plan/target.h"
#include "transpiler/quantize/simulated_model.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::AllOf;
using ::testing::AnyOfArray;
using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// An LSTM of 4 steps, and a layer norm of what it gives.
constexpr char kLstm[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[4,3,8]
  var h0 f32[1,3,8] persistable
  var c0 f32[1,3,8] persistable
  var wi f32[32,8] persistable
  var wh f32[32,8] persistable
  var bi f32[32] persistable
  var bh f32[32] persistable
  var g f32[8] persistable
  var b f32[8] persistable
  var y f32[4,3,8]
  var h f32[1,3,8]
  var c f32[1,3,8]
  var r f32[]
  var n f32[4,3,8]
  var mean f32[12]
  var variance f32[12]
  feed(X=feed) -> (Out=x) {col=0}
  rnn(Input=x, PreState=[h0, c0], WeightList=[wi, wh, bi, bh]) -> (Out=y, Reserve=r, State=[h, c]) {mode="LSTM", hidden_size=8, input_size=8, is_test=true}
  layer_norm(Bias=b, Scale=g, X=y) -> (Mean=mean, Variance=variance, Y=n) {begin_norm_axis=2}
  fetch(X=n) -> (Out=fetch) {col=0}
}
)";

TEST(CompositesByComponent, AnLstmAndALayerNormAreProfiledAfterTheyAreExpanded) {
  Program program = ParsedProgram(kLstm);
  ExpandComposites(&program);
  Scope parameters;
  uint64_t seed = 1;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    const auto& dims = variable->tensor()->dims();
    parameters.Set(variable->name(), RandomImages({dims.begin(), dims.end()}, seed++));
  }
  const Tensor x = RandomImages({4, 3, 8}, 100);
  const auto profile = ProfileOf(program, &parameters, {"x", &x});
  ASSERT_TRUE(profile.ok()) << profile.status();

  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_mul");
  options.profile = &*profile;
  const auto transpiled = Transpile(&program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  const auto startup = Executor::Create(*transpiled->new_startup, &parameters);
  ASSERT_TRUE(startup.ok()) << startup.status();
  ASSERT_TRUE((*startup)->Run({}, {}, 0).ok());
  const auto made = MakeForms(program, std::move(parameters), "x", {"n"});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  EXPECT_EQ(ReadCompositeMap(forms.lowered.program)->composites_size(), 2);
  EXPECT_THAT(NotOnIntegers(forms.lowered, {"matmul_v2"}), IsEmpty());
  const auto compared = CompareForms(forms, x, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count("n"), 1);
}

TEST(CompositesByComponent, AnEncoderIsTrainedByComponent) {
  Network network = BuildNetwork("encoder", 2);
  const Tensor images = RandomImages(network.image_dims, 100);
  PassTable passes = TrainPasses();
  ASSERT_TRUE(AddCompositePasses(&passes).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.pipeline = std::string("expand_composites,") + kTrainPipeline;
  const auto forms =
      TrainForms(std::move(network), "also_quantize: 'elementwise_mul'", std::move(options));
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_GT(ReadCompositeMap((*forms)->lowered.program)->composites_size(), 0);
  const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

// "scale, 8 bits, axis -1" of an op that quantizes; "" for others.
std::string QuantizerText(const Op& op) {
  const Argument* scale = nullptr;
  if (op.type() == "quantize_linear") scale = op.Input("Scale");
  if (absl::StartsWith(op.type(), "fake_quantize_")) scale = op.Output("OutScale");
  if (scale == nullptr) return "";
  return absl::StrCat(scale->name(), ", ", IntAttr(op.desc(), "bit_length").value(), " bits, axis ",
                      IntAttr(op.desc(), "quant_axis").value_or(-1));
}

// What quantizes the components of the composites of a type, a line each.
std::vector<std::string> QuantizedComponents(const Program& program, const std::string& type) {
  std::vector<std::string> lines;
  const auto map = ReadCompositeMap(program);
  CHECK(map.ok()) << map.status();
  for (const CompositeMap::Composite& entry : map->composites()) {
    OpDesc composite;
    CHECK(composite.ParseFromString(entry.op()));
    if (composite.type() != type) continue;
    std::set<std::string> results;
    for (const OpDesc::Var& slot : composite.outputs()) {
      results.insert(slot.arguments().begin(), slot.arguments().end());
    }
    for (const CompositeMap::Component& component : entry.components()) {
      if (results.count(component.variable()) > 0) continue;
      for (const Op& op : program.ops()) {
        const std::string quantizer = QuantizerText(op);
        if (quantizer.empty() || op.Input("X")->name() != component.variable()) continue;
        lines.push_back(
            absl::StrCat(component.kind(), ": ", component.variable(), " by ", quantizer));
      }
    }
  }
  return lines;
}

// What a composite says of its components, in the same form.
std::vector<std::string> ParametersText(const Op& op, const Scope& scope) {
  std::vector<std::string> lines;
  for (const ComponentParameters& one : ReadComponentParameters(op)) {
    lines.push_back(absl::StrCat(one.kind, ": ", one.variable, " by ", one.scale, ", ", one.bits,
                                 " bits, axis ", one.axis));
    EXPECT_GT((*scope.Find(one.scale))->data<float>()[0], 0) << one.scale;
  }
  return lines;
}

// The first op of a type; null if there is none.
const Op* OneOf(const Program& program, const std::string& type) {
  for (const Op& op : program.ops()) {
    if (op.type() == type) return &op;
  }
  return nullptr;
}

// Gives back what the target of a file takes whole: the one such op.
const Op* Raise(const std::string& target_file, const std::string& type, Program* program) {
  const auto target =
      LoadTarget(absl::StrCat("examples/targets/", target_file, ".textproto"), QuantizerTable());
  CHECK(target.ok()) << target.status();
  RaiseComposites({target->composites().begin(), target->composites().end()}, program);
  return OneOf(*program, type);
}

struct Differences {
  std::set<std::string> same;
  std::set<std::string> other;
};

// The variables that two programs compute alike, and the others.
Differences Compare(const Program& a, Scope* a_scope, const Program& b, Scope* b_scope,
                    const Feed& feed) {
  const auto of_a = Executor::Create(a, a_scope);
  const auto of_b = Executor::Create(b, b_scope);
  CHECK(of_a.ok() && of_b.ok()) << of_a.status() << of_b.status();
  auto comparison = Comparison::Create({&a, of_a->get(), a_scope, /*in_one_run=*/true},
                                       {&b, of_b->get(), b_scope, /*in_one_run=*/true});
  CHECK(comparison.ok()) << comparison.status();
  const absl::Status run = comparison->Run({feed});
  CHECK(run.ok()) << run;
  Differences found;
  for (const ComparedVariable& variable : comparison->variables()) {
    (variable.different == 0 ? found.same : found.other).insert(variable.name);
  }
  return found;
}

// An LSTM of 4 steps, a layer norm of its state and a product are trained by component. A machine
// that has layer norms takes that one whole, which subtracts a mean of codes; the steps stay
// expanded and are lowered.
TEST(CompositesByComponent, WhatATargetTakesIsGivenBackAndTheRestIsLowered) {
  Network network = BuildLstm(/*batch=*/3, /*size=*/4);
  TranspileOptions options;
  options.target = *LoadTarget("onednn_int8", QuantizerTable());
  Target::QuantizedOp& difference = *options.target->add_ops();
  difference.add_types("elementwise_sub");
  for (const char* slot : {"X", "Y"}) {
    Target::Slot& input = *difference.add_inputs();
    input.set_name(slot);
    input.set_role(SlotRole::ACTIVATION);
  }
  auto trained = TrainQuantized(&network, "also_quantize: 'elementwise_mul'", std::move(options));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto made = MakeForms(network.main, *std::move(trained), network.image, {network.scores});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  FrozenModel& portable = forms.portable;
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto compared = CompareForms(forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());

  Program raised = portable.program.Clone();
  const Op* const norm = Raise("cpu_int8", "layer_norm", &raised);
  ASSERT_NE(norm, nullptr);
  EXPECT_THAT(
      ParametersText(*norm, portable.scope),
      AllOf(Not(IsEmpty()), IsSupersetOf(QuantizedComponents(portable.program, "layer_norm"))));
  const auto lowered = Lower(raised, portable.scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_THAT(NotOnIntegers(*lowered, {"matmul_v2"}), IsEmpty());
  Scope lowered_scope = *CopyOf(lowered->scope);
  const Feed feed = {network.image, &images};
  EXPECT_THAT(Compare(lowered->program, &lowered_scope, raised, &portable.scope, feed).other,
              IsEmpty());
  std::set<std::string> before;
  for (const Op& op : raised.block(0).ops()) {
    if (&op == norm) break;
    for (const Argument* output : op.outputs()) before.insert(std::string(output->name()));
  }
  const Differences of_simulated =
      Compare(raised, &portable.scope, forms.simulated, &forms.trained, feed);
  EXPECT_THAT(of_simulated.other, Each(Not(AnyOfArray(before))));
  EXPECT_THAT(of_simulated.same, IsSupersetOf({"rnn_0.last"}));
}

// The same, for a machine that has LSTMs: each of the 4 steps has components of its own.
TEST(CompositesByComponent, AnLstmGivenBackHasTheParametersOfItsSteps) {
  Network network = BuildLstm(/*batch=*/3, /*size=*/4);
  auto trained = TrainQuantized(&network, "also_quantize: 'elementwise_mul'");
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto simulated = MakeTestProgram(network.main);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  Program raised = simulated->Clone();
  const Op* const rnn = Raise("npu_int4", "rnn", &raised);
  ASSERT_NE(rnn, nullptr);
  const std::vector<std::string> parameters = ParametersText(*rnn, *trained);
  EXPECT_THAT(parameters, IsSupersetOf(QuantizedComponents(*simulated, "rnn")));
  for (const char* kind : {"forget_gate_0: ", "cell_2: ", "hidden_2: ", "cell_tanh_3: "}) {
    EXPECT_THAT(parameters, Contains(testing::StartsWith(kind)));
  }
}

// An LSTM in a loop of 3 steps.
constexpr char kLoop[] = R"(program version=1008005
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[2,4]
  var wx f32[4,8] persistable
  var wh f32[2,8] persistable
  var p f32[2,8]
  var c f32[2,2]
  var h f32[2,2]
  var step i64[1]
  var steps i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  feed(X=feed) -> (Out=x) {col=0}
  mul(X=x, Y=wx) -> (Out=p)
  fill_constant() -> (Out=c) {shape=[2, 2], dtype=5, value=0.0}
  fill_constant() -> (Out=h) {shape=[2, 2], dtype=5, value=0.0}
  fill_constant() -> (Out=step) {shape=[1], dtype=3, value=0.0}
  fill_constant() -> (Out=steps) {shape=[1], dtype=3, value=3.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
  while(Condition=goes_on, X=[p, wh, c, h, step, steps]) -> (Out=[c, h, step, goes_on], StepScopes=scopes) {sub_block=block(1)}
  fetch(X=h) -> (Out=fetch) {col=0}
}
block 1 parent=0 {
  var q f32[2,8]
  var a f32[2,8]
  var n f32[2,2]
  var m f32[2,2]
  mul(X=h, Y=wh) -> (Out=q)
  elementwise_add(X=p, Y=q) -> (Out=a)
  lstm_unit(C_prev=c, X=a) -> (C=n, H=m) {forget_bias=1.0}
  assign(X=n) -> (Out=c)
  assign(X=m) -> (Out=h)
  increment(X=step) -> (Out=step) {step=1.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
}
)";

// Ranges of 2 for all floats of a program.
RangeProfile RangesOf2(const Program& program) {
  RangeProfile profile;
  for (int block = 0; block < program.block_count(); ++block) {
    for (const Variable* variable : program.block(block).variables()) {
      if (!variable->is_dense_tensor() || variable->tensor()->data_type() != VarType::FP32) {
        continue;
      }
      RangeProfile::Entry& entry = *profile.add_entries();
      entry.set_variable(std::string(variable->name()));
      entry.set_min(-2);
      entry.set_max(2);
    }
  }
  return profile;
}

// The forms of a program with these parameters, whose products, of elements too, are quantized by
// ranges of 2.
std::unique_ptr<NetworkForms> QuantizedForms(Program program, Scope parameters,
                                             const std::string& fetch) {
  const RangeProfile profile = RangesOf2(program);
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_mul");
  options.profile = &profile;
  const auto transpiled = Transpile(&program, options);
  CHECK(transpiled.ok()) << transpiled.status();
  const auto startup = Executor::Create(*transpiled->new_startup, &parameters);
  CHECK(startup.ok()) << startup.status();
  CHECK((*startup)->Run({}, {}, 0).ok());
  auto made = MakeForms(program, std::move(parameters), "x", {fetch});
  CHECK(made.ok()) << made.status();
  return *std::move(made);
}

// A component has one scale for all steps.
TEST(CompositesByComponent, AUnitInALoopIsQuantizedAndGivenBackThere) {
  Program program = ParsedProgram(kLoop);
  ExpandComposites(&program);
  Scope parameters;
  parameters.Set("wx", RandomImages({4, 8}, 1));
  parameters.Set("wh", RandomImages({2, 8}, 2));
  const auto made = QuantizedForms(std::move(program), std::move(parameters), "h");
  NetworkForms& forms = *made;
  const auto compared = CompareForms(forms, RandomImages({2, 4}, 100), Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count("h"), 1);

  Program raised = forms.portable.program.Clone();
  RaiseComposites({"lstm_unit"}, &raised);
  const Op* const unit = OneOf(raised, "lstm_unit");
  ASSERT_NE(unit, nullptr);
  EXPECT_EQ(unit->block().index(), 1);
  const std::vector<std::string> parameters_text = ParametersText(*unit, forms.portable.scope);
  EXPECT_THAT(parameters_text, Contains(testing::StartsWith("forget_gate: ")));
  EXPECT_THAT(parameters_text,
              IsSupersetOf(QuantizedComponents(forms.portable.program, "lstm_unit")));
}

// Layers over sequences of several lengths, backwards and from states that are fed.
constexpr char kOverOffsets[] = R"(program version=1008005
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[-1,4] lod=1
  var wx f32[4,16] persistable
  var p f32[-1,16] lod=1
  var w f32[4,16] persistable
  var b f32[1,28] persistable
  var h0 f32[4,4] persistable
  var c0 f32[4,4] persistable
  var h f32[-1,4] lod=1
  var c f32[-1,4] lod=1
  var h.gate f32[-1,16]
  var h.cell f32[-1,4]
  var wh f32[4,12] persistable
  var q f32[-1,12] lod=1
  var v f32[4,12] persistable
  var k f32[-1,4] lod=1
  var k.gate f32[-1,12]
  var k.reset f32[-1,4]
  var k.hidden f32[-1,4]
  feed(X=feed) -> (Out=x) {col=0}
  mul(X=x, Y=wx) -> (Out=p)
  lstm(Bias=b, C0=c0, H0=h0, Input=p, Weight=w) -> (BatchCellPreAct=h.cell, BatchGate=h.gate, Cell=c, Hidden=h) {is_reverse=true}
  mul(X=h, Y=wh) -> (Out=q)
  gru(Input=q, Weight=v) -> (BatchGate=k.gate, BatchHidden=k.hidden, BatchResetHiddenPrev=k.reset, Hidden=k)
  fetch(X=k) -> (Out=fetch) {col=0}
}
)";

TEST(CompositesByComponent, LayersOverOffsetsAreQuantizedInLoopsAndGivenBack) {
  Program program = ParsedProgram(kOverOffsets);
  ExpandComposites(&program);
  EXPECT_EQ(program.block_count(), 3);
  Scope parameters;
  uint64_t seed = 1;
  for (const char* name : {"wx", "w", "b", "h0", "c0", "wh", "v"}) {
    const auto& dims = program.Find(program.block(0), name)->tensor()->dims();
    parameters.Set(name, RandomImages({dims.begin(), dims.end()}, seed++));
  }
  const auto made = QuantizedForms(std::move(program), std::move(parameters), "k");
  NetworkForms& forms = *made;
  EXPECT_EQ(ReadCompositeMap(forms.lowered.program)->composites_size(), 2);
  Tensor x = RandomImages({6, 4}, 100);
  x.set_lod({{0, 2, 2, 5, 6}});
  const auto compared = CompareForms(forms, x, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count("k"), 1);

  Program raised = forms.portable.program.Clone();
  RaiseComposites({"lstm", "gru"}, &raised);
  EXPECT_EQ(raised.block_count(), 1);
  for (const auto& [type, kinds] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"lstm", {"hidden_before: ", "forget_gate: ", "cell_tanh: ", "peephole_weight_f: "}},
           {"gru", {"hidden_before: ", "update_gate: ", "reset: ", "gate_weight: "}}}) {
    const Op* const layer = OneOf(raised, type);
    ASSERT_NE(layer, nullptr);
    const std::vector<std::string> text = ParametersText(*layer, forms.portable.scope);
    for (const std::string& kind : kinds) EXPECT_THAT(text, Contains(testing::StartsWith(kind)));
    EXPECT_THAT(text, IsSupersetOf(QuantizedComponents(forms.portable.program, type)));
  }
}

}  // namespace
}  // namespace fixpoint
