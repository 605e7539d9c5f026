// Simulated = portable = lowered = the reference interpreter's integers: what quantized training
// sees is what the int8 program computes, bit for bit, on networks that were trained for some steps
// on random images.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "benchmarks/networks.h"
#include "proto/attributes.h"
#include "proto/program.h"
#include "runtime/comparison.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze.h"
#include "transpiler/lower.h"
#include "transpiler/lowering/account.h"
#include "transpiler/lowering/reasons.h"
#include "transpiler/quantize_transpiler.h"
#include "transpiler/test_program.h"

namespace fixpoint {
namespace {

using executor::Executor;

Tensor RandomImages(const std::vector<int64_t>& dims, uint64_t seed) {
  Tensor images = *Tensor::Allocate(VarType::FP32, dims);
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < images.size(); ++i) {
    images.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  return images;
}

std::string LogitsOf(const Program& program) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "softmax_with_cross_entropy") return std::string(op.Input("Logits")->name());
  }
  return "";
}

bool Compares(const Comparison& comparison, const std::string& name) {
  return std::any_of(comparison.variables().begin(), comparison.variables().end(),
                     [&name](const ComparedVariable& variable) { return variable.name == name; });
}

// What ops write as numbers, from the first codes up to what is pooled over all of an image.
std::vector<std::string> NumbersBeforeGlobalPooling(const Program& lowered) {
  std::vector<std::string> numbers;
  bool has_codes = false;
  for (const Op& op : lowered.block(0).ops()) {
    if (op.type() == "pool2d" && BoolAttr(op.desc(), "global_pooling").value_or(false)) {
      return numbers;
    }
    has_codes = has_codes || op.type() == "integer_quantize";
    for (const Argument* output : op.outputs()) {
      const VarType::TensorDesc* tensor = output->variable()->tensor();
      if (has_codes && tensor != nullptr && tensor->data_type() == VarType::FP32) {
        numbers.emplace_back(output->name());
      }
    }
  }
  return {"there is no global pooling"};
}

struct Case {
  std::string network;
  std::string config;
};

class Lowered : public testing::TestWithParam<Case> {};

TEST_P(Lowered, ComputesWhatTrainingSaw) {
  Network network = BuildNetwork(GetParam().network, /*batch=*/4);
  TranspileOptions options;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config, &options.config));
  options.config.set_target("onednn_int8");
  options.startup = &network.startup;
  ASSERT_TRUE(Transpile(&network.main, options).ok());
  Scope scope;
  ASSERT_TRUE((*Executor::Create(network.startup, &scope, {/*seed=*/1}))->Run({}, {}, 0).ok());
  const Tensor labels = Tensor::FromValues<int64_t>({4, 1}, {0, 1, 2, 3});
  auto trained = Executor::Create(network.main, &scope);
  for (uint32_t step = 0; step < 3; ++step) {
    const Tensor images = RandomImages(network.image_dims, step);
    const Feed feeds[] = {{network.image, &images}, {network.label, &labels}};
    ASSERT_TRUE((*trained)->Run(feeds, {network.loss}, step).ok());
  }

  const std::string logits = LogitsOf(network.main);
  const Program simulated = MakeTestProgram(network.main).value();
  FreezeOptions freeze;
  freeze.feeds = {network.image};
  freeze.fetches = {logits};
  absl::StatusOr<FrozenModel> portable = Freeze(network.main, scope, freeze);
  ASSERT_TRUE(portable.ok()) << portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();

  for (const LoweredType& type : CountByType(lowered->ops)) {
    const bool is_product =
        type.op_type == "conv2d" || type.op_type == "depthwise_conv2d" || type.op_type == "mul";
    const bool is_requested = absl::StrContains(GetParam().config, type.op_type);
    if (!is_product && !is_requested) continue;
    for (const auto& [reason, count] : type.ops) {
      EXPECT_EQ(reason, LoweringReason::kOnIntegers) << count << " " << type.op_type;
    }
  }

  if (GetParam().network == "resnet20") {
    // Blocks are added as codes, and stored as codes: only the last one is numbers, which are
    // pooled.
    EXPECT_EQ(NumbersBeforeGlobalPooling(lowered->program).size(), 1u)
        << absl::StrJoin(NumbersBeforeGlobalPooling(lowered->program), " ");
  }

  const auto simulation = Executor::Create(simulated, &scope);
  const auto frozen = Executor::Create(portable->program, &portable->scope);
  const auto integers = Executor::Create(lowered->program, &lowered->scope);
  executor::ExecutorOptions two_threads;
  two_threads.threads = 2;
  const auto threads = Executor::Create(lowered->program, &lowered->scope, two_threads);
  auto judge = reference::Interpreter::Create(lowered->program, &lowered->scope);
  ASSERT_TRUE(simulation.ok() && frozen.ok() && integers.ok() && threads.ok() && judge.ok());
  const Tensor images = RandomImages(network.image_dims, 100);
  const Feed feeds[] = {{network.image, &images}};
  const RunnableProgram expected = {&simulated, simulation->get()};
  for (const RunnableProgram& program :
       std::initializer_list<RunnableProgram>{{&portable->program, frozen->get()},
                                              {&lowered->program, integers->get()},
                                              {&lowered->program, threads->get()},
                                              {&lowered->program, &*judge, /*in_one_run=*/true}}) {
    absl::StatusOr<Comparison> comparison = Comparison::Create(program, expected);
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    ASSERT_EQ(comparison->Run(feeds), absl::OkStatus());
    // A fused quantizer has no variable of codes.
    const bool has_codes = !absl::StrContains(GetParam().config, "FUSED");
    EXPECT_GE(comparison->variables().size(), has_codes ? 5 : 3);
    EXPECT_TRUE(Compares(*comparison, logits));
    for (const ComparedVariable& variable : comparison->variables()) {
      // The interpreter adds up the floats of an average in its own way.
      const bool is_judged = program.backend != &*judge || variable.name == logits ||
                             variable.unit == DifferenceUnit::kSteps;
      EXPECT_TRUE(!is_judged || variable.different == 0) << variable.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Lowered,
    testing::Values(
        Case{"lenet5", ""}, Case{"lenet5", "activations { bits: 4 } weights { bits: 4 }"},
        Case{"lenet5", "activations { quantizer: 'moving_average_min_max' }"},
        Case{"lenet5",
             "activations { quantizer: 'moving_average_min_max' bits: 4 } weights { bits: 4 }"},
        Case{"resnet20", "activations { quantizer: 'moving_average_min_max' }"},
        Case{"small_separable",
             "activations { quantizer: 'moving_average_min_max' signedness: SIGNED } "
             "also_quantize: 'pool2d'"},
        Case{"resnet20", ""}, Case{"resnet20", "activations { bits: 4 } weights { bits: 4 }"},
        Case{"resnet20", "activations { quantizer: 'lsq' form: FUSED }"},
        Case{"resnet20", "also_quantize: 'pool2d'"}, Case{"small_separable", ""},
        Case{"small_separable", "activations { bits: 4 } also_quantize: 'pool2d'"}));

}  // namespace
}  // namespace fixpoint
