// Recurrent layers that stay whole compute the same bits simulated, portable and lowered, with
// their products on integers, and train.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/component_networks.h"
#include "benchmarks/networks.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/comparisons/range_profile.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::IsEmpty;

// Two layers of 8 in two directions, over 5 steps of 3 sequences.
constexpr char kRnn[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[5,3,8]
  STATES
  WEIGHTS
  var y f32[5,3,16]
  var r f32[]
  feed(X=feed) -> (Out=x) {col=0}
  rnn(Input=x, PreState=[PRE], WeightList=[LIST]) -> (Out=y, Reserve=r, State=[LAST]) {mode="MODE", num_layers=2, is_bidirec=true, hidden_size=8, input_size=8, is_test=true}
  fetch(X=y) -> (Out=fetch) {col=0}
}
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  CHECK_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string RnnText(const std::string& mode, int gates) {
  std::string states = "var h0 f32[4,3,8] persistable\n  var h f32[4,3,8]";
  std::string weights;
  std::string list;
  for (int i = 0; i < 16; ++i) {
    const std::string dims = i >= 8 ? "" : i % 2 == 0 && i >= 4 ? ",16" : ",8";
    absl::StrAppend(&weights, "  var w", i, " f32[", 8 * gates, dims, "] persistable\n");
    absl::StrAppend(&list, i == 0 ? "" : ", ", "w", i);
  }
  const bool is_lstm = mode == "LSTM";
  if (is_lstm) states += "\n  var c0 f32[4,3,8] persistable\n  var c f32[4,3,8]";
  std::string text = Replaced(kRnn, "STATES", states);
  text = Replaced(text, "WEIGHTS", weights);
  text = Replaced(text, "PRE", is_lstm ? "h0, c0" : "h0");
  text = Replaced(text, "LIST]) ->", list + "]) ->");
  text = Replaced(text, "LAST", is_lstm ? "h, c" : "h");
  return Replaced(text, "MODE", mode);
}

constexpr char kLstm[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[-1,32] lod=1
  var w f32[8,32] persistable
  var b f32[1,56] persistable
  var y f32[-1,8] lod=1
  var c f32[-1,8] lod=1
  feed(X=feed) -> (Out=x) {col=0}
  lstm(Input=x, Weight=w, Bias=b) -> (Hidden=y, Cell=c) {use_peepholes=true, is_test=true}
  fetch(X=y) -> (Out=fetch) {col=0}
}
)";

constexpr char kGru[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[-1,24] lod=1
  var w f32[8,24] persistable
  var b f32[1,24] persistable
  var y f32[-1,8] lod=1
  feed(X=feed) -> (Out=x) {col=0}
  gru(Input=x, Weight=w, Bias=b) -> (Hidden=y) {is_test=true}
  fetch(X=y) -> (Out=fetch) {col=0}
}
)";

struct Layer {
  std::string text;
  std::string type;
  Tensor x;
};

std::vector<Layer> Layers() {
  std::vector<Layer> layers;
  layers.push_back({RnnText("LSTM", 4), "rnn", RandomImages({5, 3, 8}, 100)});
  layers.push_back({RnnText("GRU", 3), "rnn", RandomImages({5, 3, 8}, 100)});
  layers.push_back({RnnText("RNN_TANH", 1), "rnn", RandomImages({5, 3, 8}, 100)});
  for (const auto& [text, type, columns] :
       {std::tuple(kLstm, "lstm", 32), std::tuple(kGru, "gru", 24)}) {
    Tensor rows = RandomImages({9, columns}, 100);
    rows.set_lod({{0, 3, 4, 9}});
    layers.push_back({text, type, std::move(rows)});
  }
  return layers;
}

int BitsOf(const Program& program, const std::string& type) {
  for (const Op& op : program.ops()) {
    if (op.type() == type) return IntAttr(op.desc(), "state_bits").value_or(0);
  }
  return -1;
}

void ExpectEqualForms(const Layer& layer, int bits) {
  SCOPED_TRACE(absl::StrCat(layer.text, bits));
  Program program = ParsedProgram(layer.text);
  Scope parameters;
  uint64_t seed = 1;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    const auto& dims = variable->tensor()->dims();
    parameters.Set(variable->name(), RandomImages({dims.begin(), dims.end()}, seed++));
  }
  const auto profile = ProfileOf(program, &parameters, {"x", &layer.x});
  ASSERT_TRUE(profile.ok()) << profile.status();
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize(layer.type);
  QuantRule& rule = *options.config.add_rules();
  rule.set_op_type(layer.type);
  rule.set_state_bits(bits);
  options.profile = &*profile;
  const auto transpiled = Transpile(&program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  EXPECT_EQ(BitsOf(program, layer.type), bits);
  const auto startup = Executor::Create(*transpiled->new_startup, &parameters);
  ASSERT_TRUE(startup.ok()) << startup.status();
  ASSERT_TRUE((*startup)->Run({}, {}, 0).ok());
  const auto made = MakeForms(program, std::move(parameters), "x", {"y"});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  EXPECT_THAT(NotOnIntegers(forms.lowered, {layer.type}), IsEmpty());
  EXPECT_EQ(BitsOf(forms.lowered.program, "integer_" + layer.type), bits);
  const auto compared = CompareForms(forms, layer.x, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count("y"), 1);
  const auto simulation = ScoresOf(forms, forms.simulated, &forms.trained, layer.x);
  const auto lowered = ScoresOf(forms, forms.lowered.program, &forms.lowered.scope, layer.x);
  ASSERT_TRUE(simulation.ok() && lowered.ok()) << simulation.status() << lowered.status();
  EXPECT_EQ(*simulation, *lowered);
}

TEST(RecurrentLayers, AreTheSameInAllForms) {
  for (const Layer& layer : Layers()) {
    for (const int bits : {8, 16}) ExpectEqualForms(layer, bits);
  }
}

TEST(RecurrentLayers, TrainWithTheirStatesAsCodes) {
  for (const int bits : {8, 16}) {
    Network network = BuildLstm(/*batch=*/2, /*size=*/4, Composites::kWhole);
    const Tensor images = RandomImages(network.image_dims, 100);
    const auto forms = TrainForms(
        std::move(network),
        absl::StrCat("also_quantize: 'rnn' rules { op_type: 'rnn' state_bits: ", bits, " }"));
    ASSERT_TRUE(forms.ok()) << forms.status();
    EXPECT_EQ(BitsOf((*forms)->lowered.program, "integer_rnn"), bits);
    const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
    ASSERT_TRUE(compared.ok()) << compared.status();
    EXPECT_THAT(compared->differences, IsEmpty());
  }
}

// Undone, the program is what it was, its attributes too.
TEST(RecurrentLayers, AreUndone) {
  Network network = BuildLstm(/*batch=*/2, /*size=*/4, Composites::kWhole);
  const std::string before = network.main.Proto().SerializeAsString();
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("rnn");
  options.startup = &network.startup;
  const auto transpiled = Transpile(&network.main, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  EXPECT_EQ(BitsOf(network.main, "rnn"), 8);
  EXPECT_EQ(BitsOf(network.main, "rnn_grad"), 8);
  ASSERT_TRUE(Untranspile(&network.main).ok());
  EXPECT_EQ(network.main.Proto().SerializeAsString(), before);
}

// Why the only layer of a program stays float.
std::string WhyFloat(const std::string& text, const std::string& type, const std::string& target,
                     bool is_asked_for = false) {
  Program program = ParsedProgram(text);
  TranspileOptions options;
  options.config.set_target(target);
  if (is_asked_for) options.config.add_also_quantize(type);
  const auto transpiled = Transpile(&program, options);
  CHECK(transpiled.ok()) << transpiled.status();
  for (const QuantPlan::Decision& decision : transpiled->plan.decisions()) {
    if (decision.type() == type) {
      return absl::StrCat(decision.reason(), ": ", decision.detail());
    }
  }
  return "no decision";
}

TEST(RecurrentLayers, StayFloatForAReason) {
  EXPECT_EQ(WhyFloat(kGru, "gru", "paddle_2_6"), "not_in_target: ");
  EXPECT_EQ(WhyFloat(kGru, "gru", "onednn_int8"), "on_request: ");
  EXPECT_EQ(WhyFloat(RnnText("RNN_RELU", 1), "rnn", "onednn_int8", true),
            "state_unbounded: mode is RNN_RELU");
  for (const char* attribute : {"activation=\"relu\"", "gate_activation=\"tanh\""}) {
    const std::string name = std::string(attribute).substr(0, std::string(attribute).find("="));
    EXPECT_THAT(WhyFloat(Replaced(kGru, "{is_test", absl::StrCat("{", attribute, ", is_test")),
                         "gru", "onednn_int8", true),
                testing::StartsWith(absl::StrCat("state_unbounded: ", name, " is ")));
  }
}

}  // namespace
}  // namespace fixpoint
