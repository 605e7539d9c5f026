#include "transpiler/prepare/constants.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/lone_op.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {

const Tensor* FindConstant(const Argument* input, const EditedParameters& parameters,
                           const Op* passes_on) {
  if (input == nullptr || input->value() == nullptr || !input->variable()->persistable() ||
      input->value()->origin() != Value::Origin::kEntry) {
    return nullptr;
  }
  const auto values = input->variable()->values();
  const bool is_written = std::any_of(values.begin(), values.end(), [&](const Value* value) {
    return value != input->value() && value->op() != passes_on;
  });
  if (is_written) return nullptr;
  const Scope::Value* const value = parameters.FindOrNull(input->name());
  return value == nullptr ? nullptr : std::get_if<Tensor>(value);
}

std::optional<std::vector<NormFactors>> FindNormFactors(const Op& op, Era era,
                                                        const EditedParameters& parameters) {
  const std::optional<StageTrait>& stage = TraitsOf(op).stage;
  if (!stage || !stage->normalizes) return std::nullopt;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes || !stage->read(*attributes)) return std::nullopt;
  for (const Argument* output : op.outputs()) {
    const bool is_result = output == op.Output(stage->output);
    const Value* const value = output->value();
    if (!is_result && value != nullptr && !IsUnread(*value)) return std::nullopt;
  }
  std::vector<absl::Span<const float>> statistics;
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
    const Tensor* const tensor = FindConstant(op.Input(slot), parameters, &op);
    if (tensor == nullptr || tensor->dtype() != VarType::FP32) return std::nullopt;
    statistics.push_back(tensor->data<float>());
    if (statistics.back().size() != statistics.front().size()) return std::nullopt;
  }
  const auto epsilon = static_cast<float>(attributes->Float("epsilon"));
  std::vector<NormFactors> factors;
  for (size_t c = 0; c < statistics[0].size(); ++c) {
    factors.push_back(NormFactorsOf(statistics[0][c], statistics[1][c], statistics[2][c],
                                    statistics[3][c], epsilon));
  }
  return factors;
}

bool IsFunction(const Op& op) {
  return FindOpSchema(op.type()) != nullptr && !TraitsOf(op).draws_numbers &&
         reference::FindKernel(op.type()) != nullptr && op.sub_blocks().empty() &&
         VariablesInAttrs(op.desc()).empty();
}

bool IsConstant(const Op& op, const EditedParameters& parameters) {
  return IsFunction(op) &&
         std::all_of(op.inputs().begin(), op.inputs().end(), [&parameters](const Argument* input) {
           return input->value() == nullptr || FindConstant(input, parameters) != nullptr;
         });
}

absl::StatusOr<std::vector<Tensor>> Evaluate(const Program& program, const Op& op,
                                             absl::Span<const Argument* const> outputs,
                                             const EditedParameters& parameters) {
  ASSIGN_OR_RETURN(const auto alone, reference::LoneOp::Of(program, op));
  std::vector<Feed> inputs;
  for (const Argument* input : op.inputs()) {
    const Tensor* const tensor = FindConstant(input, parameters);
    if (tensor != nullptr) inputs.push_back({input->name(), tensor});
  }
  std::vector<std::string> names;
  for (const Argument* output : outputs) names.emplace_back(output->name());
  return alone.Run(inputs, names);
}

}  // namespace fixpoint
