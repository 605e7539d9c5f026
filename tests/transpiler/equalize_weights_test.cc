// Equalization beside plain loops over the formula of the paper, and what the network computes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/prepare/prepare.h"

namespace fixpoint {
namespace {

// A convolution, a depthwise one, and a product that flattens images.
constexpr char kNet[] = R"(var x f32[-1,3,4,4]
var w f32[5,3,3,3] persistable
var b f32[5] persistable
var d f32[5,1,3,3] persistable
var e f32[5] persistable
var m f32[20,2] persistable
var y1 f32[-1,5,4,4]
var z1 f32[-1,5,4,4]
var r1 f32[-1,5,4,4]
var y2 f32[-1,5,4,4]
var z2 f32[-1,5,4,4]
var r2 f32[-1,5,4,4]
var p f32[-1,5,2,2]
var out f32[-1,2]
conv2d(Input=x, Filter=w) -> (Output=y1) {paddings=[1, 1]}
elementwise_add(X=y1, Y=b) -> (Out=z1) {axis=1}
relu(X=z1) -> (Out=r1)
depthwise_conv2d(Input=r1, Filter=d) -> (Output=y2) {paddings=[1, 1], groups=5}
elementwise_add(X=y2, Y=e) -> (Out=z2) {axis=1}
leaky_relu(X=z2) -> (Out=r2) {alpha=0.25}
pool2d(X=r2) -> (Out=p) {pooling_type="max", ksize=[2, 2], strides=[2, 2]}
mul(X=p, Y=m) -> (Out=out)
)";

Tensor Numbers(std::vector<int64_t> dims, uint32_t seed) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::FP32, std::move(dims));
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  for (float& number : tensor->mutable_data<float>()) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return *std::move(tensor);
}

// Channels whose ranges differ by up to 64 times; channel 3 of the first product is 0.
Scope SpreadParameters(const Program& program) {
  Scope scope;
  uint32_t seed = 3;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable()) continue;
    const auto& dims = variable->tensor()->dims();
    Tensor tensor = Numbers({dims.begin(), dims.end()}, ++seed);
    const absl::Span<float> values = tensor.mutable_data<float>();
    const size_t of_channel = values.size() / 5;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] *= std::exp2(static_cast<float>((i / of_channel * (seed % 5 + 1)) % 7));
      if (variable->name() == "w" && i / of_channel == 3) values[i] = 0;
    }
    scope.Set(variable->name(), std::move(tensor));
  }
  return scope;
}

std::vector<double> ValuesOf(const Scope& scope, const std::string& name) {
  const absl::Span<const float> values = std::get<Tensor>(*scope.FindOrNull(name)).data<float>();
  return {values.begin(), values.end()};
}

double LargestIn(const std::vector<double>& values, size_t begin, size_t count) {
  double largest = 0;
  for (size_t i = begin; i < begin + count; ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

// Each weight here has its channels' elements together, 27, 9 and 8 of them.
struct PlainWeights {
  std::vector<double> w, b, d, e, m;
};

void Divide(std::vector<double>& values, size_t channel, size_t count, double by) {
  for (size_t i = channel * count; i < (channel + 1) * count; ++i) values[i] /= by;
}

void EqualizeOnce(PlainWeights& weights) {
  for (size_t c = 0; c < 5; ++c) {
    const double first = LargestIn(weights.w, c * 27, 27);
    const double second = LargestIn(weights.d, c * 9, 9);
    const double s = first == 0 || second == 0 ? 1 : std::sqrt(first / second);
    Divide(weights.w, c, 27, s);
    Divide(weights.b, c, 1, s);
    Divide(weights.d, c, 9, 1 / s);
  }
  for (size_t c = 0; c < 5; ++c) {
    const double s = std::sqrt(LargestIn(weights.d, c * 9, 9) / LargestIn(weights.m, c * 8, 8));
    Divide(weights.d, c, 9, s);
    Divide(weights.e, c, 1, s);
    Divide(weights.m, c, 8, 1 / s);
  }
}

PreparedModel Equalized(const Program& program, const Scope& scope) {
  PrepareOptions options;
  options.equalize_weights = true;
  absl::StatusOr<PreparedModel> model = Prepare(program, scope, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

void ExpectClose(const std::vector<double>& made, const std::vector<double>& wanted) {
  ASSERT_EQ(made.size(), wanted.size());
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made[i], wanted[i], 1e-3 * std::abs(wanted[i])) << i;
  }
}

TEST(EqualizeWeights, ConvergesToWhatTheFormulaGives) {
  const Program program = ParsedProgram(kNet);
  const Scope scope = SpreadParameters(program);
  PlainWeights plain = {ValuesOf(scope, "w"), ValuesOf(scope, "b"), ValuesOf(scope, "d"),
                        ValuesOf(scope, "e"), ValuesOf(scope, "m")};
  for (int i = 0; i < 1000; ++i) EqualizeOnce(plain);
  const PreparedModel model = Equalized(program, scope);
  ExpectClose(ValuesOf(model.scope, "w_1"), plain.w);
  ExpectClose(ValuesOf(model.scope, "b_1"), plain.b);
  ExpectClose(ValuesOf(model.scope, "d_1"), plain.d);
  ExpectClose(ValuesOf(model.scope, "e_1"), plain.e);
  ExpectClose(ValuesOf(model.scope, "m_1"), plain.m);
  for (const size_t c : {0, 1, 2, 4}) {
    EXPECT_NEAR(LargestIn(plain.w, c * 27, 27) / LargestIn(plain.m, c * 8, 8), 1, 1e-3);
  }
  EXPECT_EQ(LargestIn(plain.w, 3 * 27, 27), 0);
}

TEST(EqualizeWeights, LeavesWhatTheNetworkComputes) {
  const Program program = ParsedProgram(kNet);
  const Tensor x = Numbers({2, 3, 4, 4}, 1);
  const auto result_of = [&x](const Program& net, Scope scope) {
    auto interpreter = reference::Interpreter::Create(net, &scope);
    EXPECT_TRUE(interpreter.ok()) << interpreter.status();
    absl::StatusOr<std::vector<Tensor>> results = interpreter->Run({{"x", &x}}, {"out"}, 0);
    EXPECT_TRUE(results.ok()) << results.status();
    return std::move(results->front());
  };
  PreparedModel model = Equalized(program, SpreadParameters(program));
  const Tensor made = result_of(model.program, std::move(model.scope));
  const Tensor wanted = result_of(program, SpreadParameters(program));
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const float number = wanted.data<float>()[i];
    EXPECT_NEAR(made.data<float>()[i], number, 1e-5 * std::abs(number)) << i;
  }
}

}  // namespace
}  // namespace fixpoint
