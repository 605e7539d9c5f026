// Simulated = portable = lowered = the reference interpreter's integers: what quantized training
// sees is what the int8 program computes, bit for bit, on networks that were trained for some steps
// on random images.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "benchmarks/networks.h"
#include "proto/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze.h"
#include "transpiler/lower.h"
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

Tensor Fetched(Backend& backend, const std::string& image, const Tensor& images,
               const std::string& fetch) {
  const Feed feeds[] = {{image, &images}};
  auto fetched = backend.Run(feeds, {fetch}, 0);
  EXPECT_TRUE(fetched.ok()) << fetched.status();
  return fetched.ok() ? std::move(fetched->front()) : Tensor::FromValues<float>({0}, {});
}

int64_t CountDifferences(const Tensor& a, const Tensor& b) {
  if (a.dims() != b.dims() || a.dtype() != b.dtype()) return -1;
  int64_t count = 0;
  const size_t size = ElementSize(a.dtype());
  for (int64_t i = 0; i < a.size(); ++i) {
    count += std::memcmp(&a.bytes()[i * size], &b.bytes()[i * size], size) != 0;
  }
  return count;
}

// Codes as the simulation holds them.
Tensor AsNumbers(const Tensor& codes) {
  Tensor numbers = *Tensor::Allocate(VarType::FP32, codes.dims());
  for (int64_t i = 0; i < codes.size(); ++i) {
    numbers.mutable_data<float>()[i] =
        codes.dtype() == VarType::UINT8 ? codes.data<uint8_t>()[i] : codes.data<int8_t>()[i];
  }
  return numbers;
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

  for (const LoweredType& type : lowered->account) {
    const bool is_product =
        type.op_type == "conv2d" || type.op_type == "depthwise_conv2d" || type.op_type == "mul";
    const bool is_requested = absl::StrContains(GetParam().config, type.op_type);
    if (!is_product && !is_requested) continue;
    for (const auto& [reason, count] : type.ops) {
      EXPECT_EQ(reason, LoweringReason::kOnIntegers) << count << " " << type.op_type;
    }
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
  const Tensor expected = Fetched(**simulation, network.image, images, logits);
  for (Backend* backend :
       std::initializer_list<Backend*>{frozen->get(), integers->get(), threads->get(), &*judge}) {
    EXPECT_EQ(CountDifferences(Fetched(*backend, network.image, images, logits), expected), 0);
  }

  // Every tensor of codes that both have.
  int compared = 0;
  for (const Variable* variable : lowered->program.block(0).variables()) {
    const VarType::TensorDesc* tensor = variable->tensor();
    const bool is_codes =
        tensor != nullptr && !variable->persistable() &&
        (tensor->data_type() == VarType::INT8 || tensor->data_type() == VarType::UINT8);
    if (!is_codes || simulated.Find(simulated.block(0), variable->name()) == nullptr) continue;
    ++compared;
    const Tensor codes = Fetched(**integers, network.image, images, variable->name());
    const Tensor seen = Fetched(**simulation, network.image, images, variable->name());
    EXPECT_EQ(CountDifferences(AsNumbers(codes), seen), 0) << variable->name();
  }
  EXPECT_GT(compared, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Lowered,
    testing::Values(Case{"lenet5", ""},
                    Case{"lenet5", "activations { bits: 4 } weights { bits: 4 }"},
                    Case{"resnet20", ""}, Case{"resnet20", "also_quantize: 'pool2d'"},
                    Case{"small_separable", ""},
                    Case{"small_separable", "activations { bits: 4 } also_quantize: 'pool2d'"}));

}  // namespace
}  // namespace fixpoint
