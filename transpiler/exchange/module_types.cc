#include "transpiler/exchange/module_types.h"

#include <algorithm>

#include "ops/op_schema.h"
#include "ops/op_traits.h"

namespace fixpoint {
namespace {

constexpr char kDefault[] = "default";

bool HasWeight(const std::string& op_type) {
  const OpSchema* const schema = FindOpSchema(op_type);
  if (schema == nullptr) return false;
  const auto inputs = schema->quantizable_inputs();
  return schema->traits().product.has_value() ||
         std::any_of(inputs.begin(), inputs.end(),
                     [](const QuantizableInput& input) { return input.role == SlotRole::WEIGHT; });
}

}  // namespace

const std::vector<ModuleType>& ModuleTypes() {
  static const auto& types = *new std::vector<ModuleType>{
      {"AdaptiveAvgPool2d", {"pool2d"}},
      {"AvgPool2d", {"pool2d"}},
      {"BatchNorm2d", {"batch_norm"}},
      {"Conv2d", {"conv2d", "depthwise_conv2d"}},
      {"ConvTranspose2d", {"conv2d_transpose"}},
      {"Embedding", {"lookup_table", "lookup_table_v2"}},
      {"GELU", {"gelu"}},
      {"Hardsigmoid", {"hard_sigmoid"}},
      {"Hardswish", {"hard_swish"}},
      {"LayerNorm", {"layer_norm"}},
      {"LeakyReLU", {"leaky_relu"}},
      {"Linear", {"fc", "matmul", "matmul_v2", "mul"}},
      {"MaxPool2d", {"pool2d"}},
      {"ReLU", {"relu"}},
      {"ReLU6", {"relu6"}},
      {"SiLU", {"silu", "swish"}},
      {"Sigmoid", {"sigmoid"}},
      {"Softmax", {"softmax"}},
      {"Tanh", {"tanh"}},
  };
  return types;
}

std::vector<std::string> OpTypesOfModule(absl::string_view name) {
  for (const ModuleType& type : ModuleTypes()) {
    if (type.name == name) return type.op_types;
  }
  std::vector<std::string> with_weights;
  if (name != kDefault) return with_weights;
  for (std::string& type : OpTypesOfAllModules()) {
    if (HasWeight(type)) with_weights.push_back(std::move(type));
  }
  return with_weights;
}

std::vector<std::string> OpTypesOfAllModules() {
  std::vector<std::string> all;
  for (const ModuleType& module : ModuleTypes()) {
    all.insert(all.end(), module.op_types.begin(), module.op_types.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace fixpoint
