// Simulated = portable = lowered = the reference interpreter's integers, of a network that looks
// words up and classifies them, trained for some steps on random ids.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/codes/integer_reasons.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/comparison.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/lowering_account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using executor::Executor;

constexpr int64_t kBatch = 8;
constexpr int64_t kWords = 6;
constexpr int kVocabulary = 60;
constexpr int kWidth = 20;

struct TextNetwork {
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  std::string loss;
  std::string scores;
};

// The first word stands for padding.
TextNetwork BuildTextNetwork() {
  TextNetwork network;
  ProgramBuilder net(&network.main, &network.startup);
  const std::string ids = Data(net, "ids", {-1, kWords}, VarType::INT64);
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string words = Embedding(net, ids, kVocabulary, kWidth, /*padding=*/0);
  const std::string hidden = Relu(net, Fc(net, words, 16));
  network.scores = Fc(net, hidden, 4);
  network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, label));
  EXPECT_TRUE(Optimizer(Adam(), 0.01f).Minimize(net, network.loss).ok());
  return network;
}

Tensor RandomIds(uint64_t seed) {
  Tensor ids = *Tensor::Allocate(VarType::INT64, {kBatch, kWords});
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < ids.size(); ++i) {
    ids.mutable_data<int64_t>()[i] = static_cast<int64_t>(random.Uniform(i) * kVocabulary);
  }
  return ids;
}

struct Case {
  const char* name;
  const char* config;
};

class Tables : public testing::TestWithParam<Case> {
 protected:
  TextNetwork network_ = BuildTextNetwork();
  Scope scope_;

  void Train() {
    TranspileOptions options;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config, &options.config));
    options.config.set_target("onednn_int8");
    options.startup = &network_.startup;
    const auto transpiled = Transpile(&network_.main, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
    ASSERT_TRUE((*Executor::Create(network_.startup, &scope_, {/*seed=*/1}))->Run({}, {}, 0).ok());
    const Tensor labels = Tensor::FromValues<int64_t>({kBatch, 1}, {0, 1, 2, 3, 0, 1, 2, 3});
    const auto training = Executor::Create(network_.main, &scope_);
    ASSERT_TRUE(training.ok()) << training.status();
    for (uint32_t step = 0; step < 3; ++step) {
      const Tensor ids = RandomIds(step);
      const Feed feeds[] = {{"ids", &ids}, {"label", &labels}};
      ASSERT_TRUE((*training)->Run(feeds, {network_.loss}, step).ok());
    }
  }
};

struct Deployed {
  FrozenModel portable;
  LoweredModel lowered;
};

// Deploys the program; no op of those types may be left in float.
absl::StatusOr<Deployed> Deploy(const Program& program, const Scope& scope,
                                const FreezeOptions& options,
                                const std::vector<std::string>& on_integers) {
  absl::StatusOr<FrozenModel> portable = Freeze(program, scope, options);
  if (!portable.ok()) return portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  if (!lowered.ok()) return lowered.status();
  for (const LoweredType& type : CountByType(lowered->ops)) {
    if (std::count(on_integers.begin(), on_integers.end(), type.op_type) == 0) continue;
    for (const auto& [reason, count] : type.ops) {
      EXPECT_EQ(reason, IntegerReason::kOnIntegers) << count << " " << type.op_type;
    }
  }
  return Deployed{*std::move(portable), *std::move(lowered)};
}

// The portable and the lowered program, this on both backends, have every variable as the
// simulation has it, to the bit; the last is `scores`.
void ExpectSameBits(const Program& simulated, Scope* scope, Deployed& deployed,
                    absl::Span<const Feed> feeds, const std::string& scores) {
  auto& [portable, lowered] = deployed;
  const auto simulation = Executor::Create(simulated, scope);
  const auto frozen = Executor::Create(portable.program, &portable.scope);
  const auto integers = Executor::Create(lowered.program, &lowered.scope);
  auto judge = reference::Interpreter::Create(lowered.program, &lowered.scope);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  ASSERT_TRUE(integers.ok()) << integers.status();
  ASSERT_TRUE(judge.ok()) << judge.status();
  for (const RunnableProgram& program : std::initializer_list<RunnableProgram>{
           {&portable.program, frozen->get(), &portable.scope},
           {&lowered.program, integers->get(), &lowered.scope},
           {&lowered.program, &*judge, &lowered.scope, /*in_one_run=*/true}}) {
    absl::StatusOr<Comparison> comparison =
        Comparison::Create(program, {&simulated, simulation->get(), scope});
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
    // At least what is read first, the codes of two activations, and the scores.
    EXPECT_GE(comparison->variables().size(), 3u);
    EXPECT_EQ(comparison->variables().back().name, scores);
    for (const ComparedVariable& variable : comparison->variables()) {
      EXPECT_EQ(variable.different, 0) << variable.name;
    }
  }
}

TEST_P(Tables, ComputeWhatTrainingSaw) {
  ASSERT_NO_FATAL_FAILURE(Train());
  const Program simulated = MakeTestProgram(network_.main).value();
  FreezeOptions options;
  options.feeds = {"ids"};
  options.fetches = {network_.scores};
  auto deployed = Deploy(network_.main, scope_, options, {"lookup_table_v2", "mul"});
  ASSERT_TRUE(deployed.ok()) << deployed.status();
  const Tensor ids = RandomIds(100);
  const Feed feeds[] = {{"ids", &ids}};
  ExpectSameBits(simulated, &scope_, *deployed, feeds, network_.scores);
}

INSTANTIATE_TEST_SUITE_P(
    Quantized, Tables,
    testing::Values(
        Case{"PerRow", "also_quantize: 'lookup_table_v2'"},
        Case{"PerRowIn4Bits", "also_quantize: 'lookup_table_v2' weights { bits: 4 }"},
        Case{"PerTensor", "rules { op_type: 'lookup_table_v2' spec { quantizer: 'abs_max' } }"},
        Case{"PerRowWithZeroPoints",
             "rules { op_type: 'lookup_table_v2' spec { quantizer: 'row_wise_min_max' } }"},
        Case{"FcPerTensor", "also_quantize: 'lookup_table_v2' fc_weights { quantizer: 'abs_max' }"},
        Case{"FcPerRow",
             "also_quantize: 'lookup_table_v2' fc_weights { quantizer: 'row_wise_min_max' }"},
        Case{"FcPerRowIn4Bits",
             "also_quantize: 'lookup_table_v2' weights { bits: 4 } "
             "fc_weights { quantizer: 'row_wise_min_max' }"}),
    [](const auto& info) { return info.param.name; });

Tensor RandomNumbers(const std::vector<int64_t>& dims, uint64_t seed) {
  Tensor numbers = *Tensor::Allocate(VarType::FP32, dims);
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    numbers.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  return numbers;
}

// An inference program with fc ops is quantized by observed ranges of its activations: the frozen
// and lowered forms compute what its quantized form computes, with every kind of weights.
TEST(FullyConnected, ComputesWhatTheQuantizedProgramDoes) {
  for (const char* quantizer : {"abs_max", "channel_wise_abs_max", "row_wise_min_max"}) {
    SCOPED_TRACE(quantizer);
    Program program = ParsedProgram(R"(program version=2006002
        block 0 {
          var x f32[-1,40]
          var w f32[40,24] persistable
          var b f32[24] persistable
          var y f32[-1,24]
          var v f32[24,10] persistable
          var c f32[10] persistable
          var z f32[-1,10]
          fc(Bias=b, Input=x, W=w) -> (Out=y) {activation_type="relu"}
          fc(Bias=c, Input=y, W=v) -> (Out=z)
        })");
    TranspileOptions options;
    options.config.set_target("onednn_int8");
    options.config.mutable_fc_weights()->set_quantizer(quantizer);
    const auto transpiled = Transpile(&program, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
    Scope scope;
    scope.Set("w", RandomNumbers({40, 24}, 1));
    scope.Set("b", RandomNumbers({24}, 2));
    scope.Set("v", RandomNumbers({24, 10}, 3));
    scope.Set("c", RandomNumbers({10}, 4));
    scope.Set("x@scale", Tensor::FromValues<float>({1}, {3.5f}));
    scope.Set("y@scale", Tensor::FromValues<float>({1}, {20.0f}));
    FreezeOptions freeze;
    freeze.feeds = {"x"};
    freeze.fetches = {"z"};
    auto deployed = Deploy(program, scope, freeze, {"fc"});
    ASSERT_TRUE(deployed.ok()) << deployed.status();
    const Tensor x = RandomNumbers({16, 40}, 5);
    const Feed feeds[] = {{"x", &x}};
    ExpectSameBits(program, &scope, *deployed, feeds, "z");
  }
}

}  // namespace
}  // namespace fixpoint
