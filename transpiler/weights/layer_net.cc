#include "transpiler/weights/layer_net.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ops/backward.h"
#include "ops/codes/declared_dims.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "runtime/backends.h"

namespace fixpoint {
namespace {

constexpr char kTargetName[] = "layer@target";
constexpr char kDifferenceName[] = "layer@difference";
constexpr char kSquareName[] = "layer@square";
constexpr char kLossName[] = "layer@loss";

// The layer's ops and variables in the form of the network's release, with the loss; parameters
// other than the weight have no gradient.
absl::StatusOr<Program> ForwardProgram(const Program& network, const WeightLayer& layer,
                                       std::vector<std::string>* no_gradient) {
  const Era era = EraOf(network);
  ProgramDesc desc;
  *desc.mutable_version() = network.Proto().version();
  BlockDesc& block = *desc.add_blocks();
  block.set_idx(0);
  block.set_parent_idx(-1);
  absl::flat_hash_set<std::string> declared;
  for (const Op* op : layer.ops) {
    for (const auto arguments : {op->inputs(), op->outputs()}) {
      for (const Argument* argument : arguments) {
        const Variable* const variable = argument->variable();
        if (variable == nullptr || variable->desc() == nullptr ||
            !declared.insert(variable->name()).second) {
          continue;
        }
        VarDesc& copy = *block.add_vars();
        copy = *variable->desc();
        copy.clear_stop_gradient();
        const bool is_given = variable->persistable() || argument == layer.activation;
        if (is_given && argument != layer.weight) no_gradient->push_back(variable->name());
      }
    }
    *block.add_ops() = op->desc();
  }
  const Dims dims = DeclaredDims(*layer.result);
  for (const char* name : {kTargetName, kDifferenceName, kSquareName}) {
    *block.add_vars() = MakeTensorVar(name, VarType::FP32, dims);
  }
  *block.add_vars() = MakeTensorVar(kLossName, VarType::FP32, {1});
  no_gradient->push_back(kTargetName);
  for (OpDesc op :
       {OpBuilder("elementwise_sub")
            .Input("X", layer.result->name())
            .Input("Y", kTargetName)
            .Output("Out", kDifferenceName)
            .Build(),
        OpBuilder("square").Input("X", kDifferenceName).Output("Out", kSquareName).Build(),
        OpBuilder("mean").Input("X", kSquareName).Output("Out", kLossName).Build()}) {
    CompleteAttrs(era, &op);
    *block.add_ops() = std::move(op);
  }
  return Program::Create(desc, network.name());
}

}  // namespace

LayerNet::LayerNet(const WeightLayer& layer, Program program)
    : x_(layer.activation->name()),
      weight_(layer.weight->name()),
      program_(std::make_unique<Program>(std::move(program))) {}

LayerNet::~LayerNet() = default;

absl::StatusOr<std::unique_ptr<LayerNet>> LayerNet::Create(const Program& network,
                                                           const Scope& parameters,
                                                           const WeightLayer& layer) {
  BackwardOptions backward;
  ASSIGN_OR_RETURN(Program program, ForwardProgram(network, layer, &backward.no_gradient));
  auto net = std::unique_ptr<LayerNet>(new LayerNet(layer, std::move(program)));
  for (const Variable* variable : net->program_->block(0).variables()) {
    if (!variable->persistable()) continue;
    const Scope::Value* const value = parameters.FindOrNull(variable->name());
    if (value == nullptr) continue;
    ASSIGN_OR_RETURN(Scope::Value copy, Scope::CloneOf(*value));
    net->scope_.Set(variable->name(), std::move(copy));
  }
  ASSIGN_OR_RETURN(const std::vector<ParameterGradient> gradients,
                   AppendBackward(net->program_.get(), kLossName, backward));
  for (const ParameterGradient& gradient : gradients) {
    if (gradient.parameter == net->weight_) net->gradient_ = gradient.gradient;
  }
  if (net->gradient_.empty()) {
    return absl::UnimplementedError("the weight has no gradient through the layer's ops");
  }
  ASSIGN_OR_RETURN(net->backend_, MakeBackend(kDefaultBackend, *net->program_, &net->scope_));
  return net;
}

absl::Status LayerNet::SetWeights(absl::Span<const float> weights) {
  ASSIGN_OR_RETURN(const Tensor* held, scope_.Find(weight_));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(VarType::FP32, held->dims()));
  std::copy(weights.begin(), weights.end(), tensor.mutable_data<float>().begin());
  scope_.Set(weight_, std::move(tensor));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> LayerNet::Fetch(const std::string& name, const Tensor& x,
                                       const Tensor& target) {
  ASSIGN_OR_RETURN(std::vector<Tensor> fetched,
                   backend_->Run({{x_, &x}, {kTargetName, &target}}, {name}, /*step=*/0));
  return std::move(fetched.front());
}

absl::StatusOr<double> LayerNet::Loss(const Tensor& x, const Tensor& target) {
  ASSIGN_OR_RETURN(const Tensor loss, Fetch(kLossName, x, target));
  return loss.data<float>()[0];
}

absl::StatusOr<Tensor> LayerNet::Gradient(const Tensor& x, const Tensor& target) {
  return Fetch(gradient_, x, target);
}

}  // namespace fixpoint
