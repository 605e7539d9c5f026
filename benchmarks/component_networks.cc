#include "benchmarks/component_networks.h"

#include <glog/logging.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/op_builder.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"

namespace fixpoint {
namespace {

constexpr int kUnits = 32;

// The last state of an LSTM that reads the rows of an image in turn: [-1,kUnits].
std::string LastState(ProgramBuilder& net, const std::string& image, int size) {
  const std::string rows = Transpose(net, Reshape(net, image, {-1, size, size}), {1, 0, 2});
  const std::string name = net.UniqueName("rnn");
  const auto tensor = [&](const char* suffix, const std::vector<int64_t>& dims) {
    return net.DeclareTemporary(absl::StrCat(name, ".", suffix), dims);
  };
  OpBuilder zeros = net.New("fill_constant_batch_size_like");
  zeros.Input("Input", image)
      .IntsAttr("shape", {1, -1, kUnits})
      .IntAttr("input_dim_idx", 0)
      .IntAttr("output_dim_idx", 1)
      .IntAttr("dtype", VarType::FP32)
      .FloatAttr("value", 0);
  const std::string before =
      net.WithoutGradient(net.AppendWithOutput(zeros, "Out", absl::StrCat(name, ".before")));
  std::vector<std::string> weights;
  const float bound = 1 / std::sqrt(static_cast<float>(kUnits));
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {4 * kUnits, size}, {4 * kUnits, kUnits}, {4 * kUnits}, {4 * kUnits}}) {
    Persistable weight;
    weight.name = absl::StrCat(name, ".w_", weights.size());
    weight.dims = dims;
    weight.initializer = Initializer::Uniform(-bound, bound);
    weight.is_parameter = true;
    net.AddPersistable(weight);
    weights.push_back(weight.name);
  }
  const std::string last = tensor("last", {1, -1, kUnits});
  OpBuilder rnn = net.New("rnn");
  rnn.Input("Input", rows)
      .Input("PreState", std::vector<std::string>{before, before})
      .Input("WeightList", weights)
      .Output("Out", tensor("states", {size, -1, kUnits}))
      .Output("State", std::vector<std::string>{last, tensor("cell", {1, -1, kUnits})})
      .Output("Reserve", tensor("reserve", {}))
      .StringAttr("mode", "LSTM")
      .IntAttr("input_size", size)
      .IntAttr("hidden_size", kUnits);
  net.Append(rnn);
  return Reshape(net, last, {-1, kUnits});
}

void RunPass(RewriteOptions options, Program* program) {
  auto passes = RewritePasses({});
  CHECK(passes.ok()) << passes.status();
  const absl::Status added = AddCompositePasses(&*passes);
  CHECK(added.ok()) << added;
  options.passes = &*passes;
  const auto report = Rewrite(program, {}, options);
  CHECK(report.ok()) << report.status();
  program->ClearEditLog();
}

}  // namespace

void ExpandComposites(Program* program) {
  RewriteOptions options;
  options.pipeline = "expand_composites";
  RunPass(std::move(options), program);
}

void RaiseComposites(const std::vector<std::string>& types, Program* program) {
  RewriteOptions options;
  options.pipeline = "raise_composites";
  options.raised_types = types;
  RunPass(std::move(options), program);
}

Network BuildLstm(int64_t batch, int size, Composites composites) {
  Network network;
  network.main = EmptyProgram(2, 6, 2);
  network.startup = EmptyProgram(2, 6, 2);
  {
    ProgramBuilder net(&network.main, &network.startup);
    network.image = Data(net, "image", {-1, 1, size, size});
    network.label = Data(net, "label", {-1, 1}, VarType::INT64);
    network.image_dims = {batch, 1, size, size};
    network.scores = Fc(net, LayerNorm(net, LastState(net, network.image, size)), 10);
    network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
    CHECK(net.status().ok()) << net.status();
  }
  if (composites == Composites::kExpanded) ExpandComposites(&network.main);
  ProgramBuilder net(&network.main, &network.startup);
  const auto minimized = Optimizer(Adam(), 0.01f).Minimize(net, network.loss);
  CHECK(minimized.ok()) << minimized.status();
  return network;
}

}  // namespace fixpoint
