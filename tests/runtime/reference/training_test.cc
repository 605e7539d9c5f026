// Networks that are written in C++ train: startup program, forward, backward and update.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {
namespace {

// A tensor of numbers in [-1, 1).
Tensor RandomTensor(std::vector<int64_t> dims, uint64_t seed) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return tensor;
}

// The losses of `steps` steps on the scope, which holds what is fed.
std::vector<double> Train(const Program& startup, const Program& main, const std::string& loss,
                          int steps, Scope* scope) {
  const auto initialised = Interpreter::Create(startup, scope)->Run({}, {}, 0);
  EXPECT_TRUE(initialised.ok()) << initialised.status();
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(main, scope);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  std::vector<double> losses;
  for (int step = 0; interpreter.ok() && step < steps; ++step) {
    const auto fetched = interpreter->Run({}, {loss}, step);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    if (!fetched.ok()) break;
    losses.push_back(fetched->front().data<float>()[0]);
  }
  return losses;
}

// Two layers learn which of two inputs is the larger.
TEST(Training, AnMlpLearns) {
  Program main;
  Program startup;
  ProgramBuilder net(&main, &startup);
  const std::string in = Data(net, "x", {-1, 2});
  const std::string truth = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string logits = Fc(net, Activation(net, Fc(net, in, 8), "tanh"), 2);
  const std::string loss = Mean(net, SoftmaxWithCrossEntropy(net, logits, truth));
  const auto minimized = Optimizer(Sgd(), 0.5f).Minimize(net, loss);
  ASSERT_TRUE(minimized.ok()) << minimized.status();

  Scope scope;
  Tensor x = RandomTensor({32, 2}, 1);
  Tensor label = *Tensor::Allocate(VarType::INT64, {32, 1});
  for (int i = 0; i < 32; ++i) {
    label.mutable_data<int64_t>()[i] = x.data<float>()[2 * i] > x.data<float>()[2 * i + 1];
  }
  scope.Set("x", std::move(x));
  scope.Set("label", std::move(label));
  const std::vector<double> losses = Train(startup, main, loss, 60, &scope);
  ASSERT_EQ(losses.size(), 60);
  EXPECT_GT(losses.front(), 0.4);
  EXPECT_LT(losses.back(), 0.15);
}

}  // namespace
}  // namespace fixpoint::reference
