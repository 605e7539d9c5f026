// Batches of other lengths, one after the other: a predictor that has seen many shapes gives the
// bits that one gives which sees none but this.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/predictor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

constexpr int64_t kLengths = 24;
constexpr int64_t kShortest = 5;

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(random.Uniform(i) - 0.5);
  }
  return tensor;
}

// A program of one input, and its batch of a length.
struct Network {
  std::string text;
  std::vector<std::pair<std::string, std::vector<int64_t>>> parameters;
  std::vector<int64_t> (*dims)(int64_t length);
};

// Separable convolutions over images of any width, with a residual.
Network Images() {
  return {R"(program version=2006002
block 0 {
  var x f32[-1,3,8,-1]
  var a f32[16,3,3,3] persistable
  var d f32[16,1,3,3] persistable
  var p f32[24,16,1,1] persistable
  var e f32[24,1,5,5] persistable
  var q f32[24,24,1,1] persistable
  var b f32[24] persistable
  conv2d(Input=x, Filter=a) -> (Output=y0) {paddings=[1, 1], strides=[2, 2]}
  depthwise_conv2d(Input=y0, Filter=d) -> (Output=y1) {paddings=[1, 1], groups=16}
  hard_swish(X=y1) -> (Out=y2)
  conv2d(Input=y2, Filter=p) -> (Output=y3)
  depthwise_conv2d(Input=y3, Filter=e) -> (Output=y4) {paddings=[2, 2], strides=[2, 1], groups=24}
  relu(X=y4) -> (Out=y5)
  conv2d(Input=y5, Filter=q) -> (Output=y6)
  elementwise_add(X=y6, Y=b) -> (Out=y7) {axis=1}
  elementwise_add(X=y7, Y=y5) -> (Out=out)
})",
          {{"a", {16, 3, 3, 3}},
           {"d", {16, 1, 3, 3}},
           {"p", {24, 16, 1, 1}},
           {"e", {24, 1, 5, 5}},
           {"q", {24, 24, 1, 1}},
           {"b", {24}}},
          [](int64_t length) {
            return std::vector<int64_t>{2, 3, 8, length};
          }};
}

// Products of rows, with a bias, an activation and a residual.
Network Rows() {
  return {R"(program version=2006002
block 0 {
  var x f32[-1,-1,32]
  var w f32[32,64] persistable
  var b f32[64] persistable
  var v f32[64,32] persistable
  matmul_v2(X=x, Y=w) -> (Out=y0)
  elementwise_add(X=y0, Y=b) -> (Out=y1) {axis=2}
  relu(X=y1) -> (Out=y2)
  matmul_v2(X=y2, Y=v) -> (Out=y3)
  elementwise_add(X=y3, Y=x) -> (Out=y4)
  softmax(X=y4) -> (Out=out)
})",
          {{"w", {32, 64}}, {"b", {64}}, {"v", {64, 32}}},
          [](int64_t length) {
            return std::vector<int64_t>{3, length, 32};
          }};
}

std::unique_ptr<Predictor> PredictorOf(const Network& network, int threads = 1) {
  Scope scope;
  uint32_t number = 1;
  for (const auto& [name, dims] : network.parameters) scope.Set(name, Drawn(dims, number++));
  PredictorOptions options;
  options.inputs = {"x"};
  options.outputs = {"out"};
  options.threads = threads;
  auto predictor = Predictor::Create(ParsedProgram(network.text), std::move(scope), options);
  EXPECT_TRUE(predictor.ok()) << predictor.status();
  return *std::move(predictor);
}

std::vector<uint8_t> OutputOf(const Network& network, int64_t length, Predictor* predictor) {
  const Tensor batch = Drawn(network.dims(length), 100);
  std::vector<Tensor> outputs;
  const absl::Status status = predictor->Run(absl::MakeSpan(&batch, 1), &outputs);
  EXPECT_TRUE(status.ok()) << status;
  if (outputs.empty()) return {};
  return {outputs[0].bytes().begin(), outputs[0].bytes().end()};
}

void ExpectTheBitsOfNewPredictors(const Network& network) {
  for (const int threads : {1, 2}) {
    const auto predictor = PredictorOf(network, threads);
    // The first two are planned for themselves alone.
    for (int64_t i = -2; i < kLengths; ++i) {
      const int64_t length = kShortest + (i < 0 ? kLengths - i : 7 * i % kLengths);
      EXPECT_EQ(OutputOf(network, length, predictor.get()),
                OutputOf(network, length, PredictorOf(network, threads).get()))
          << length << ", " << threads << " threads";
    }
  }
}

TEST(Lengths, OfImagesGiveTheBitsOfNewPredictors) { ExpectTheBitsOfNewPredictors(Images()); }
TEST(Lengths, OfRowsGiveTheBitsOfNewPredictors) { ExpectTheBitsOfNewPredictors(Rows()); }

// Each thread's plans are its own; what they share are packed weights and compiled tiles.
TEST(Lengths, RunOnThreads) {
  for (const Network& network : {Images(), Rows()}) {
    std::vector<std::vector<uint8_t>> expected;
    for (int64_t i = 0; i < kLengths; ++i) {
      expected.push_back(OutputOf(network, kShortest + i, PredictorOf(network).get()));
    }
    const auto predictor = PredictorOf(network);
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t i = 0; i < kLengths; ++i) {
          const int64_t at = (5 * i + 7 * t) % kLengths;
          EXPECT_EQ(OutputOf(network, kShortest + at, predictor.get()), expected[at]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// From the third shape on.
TEST(Lengths, ArePlannedForManyShapesWhereThereAreMany) {
  const Network network = Rows();
  const auto predictor = PredictorOf(network);
  for (const int64_t length : {20, 20, 20, 30}) OutputOf(network, length, predictor.get());
  EXPECT_EQ(predictor->PlanText().find("tiles"), std::string::npos);
  OutputOf(network, 40, predictor.get());
  const bool has_tiles = predictor->PlanText().find("tiles") != std::string::npos;
  EXPECT_EQ(has_tiles, predictor->PlanText().find("avx512") != std::string::npos);
}

}  // namespace
}  // namespace fixpoint
