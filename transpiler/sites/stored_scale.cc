#include "transpiler/sites/stored_scale.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// Whether only quantizers and observers write the variable, which do not change it in test mode.
bool HoldsTrainedState(const Variable& variable, const QuantizerTable& quantizers) {
  if (!variable.persistable()) return false;
  for (const Argument* argument : variable.arguments()) {
    if (!argument->is_output()) continue;
    const Op& op = argument->op();
    if (!IsQuantize(op, quantizers) && quantizers.FindByObserveOp(op.type()).recipe == nullptr) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<absl::Span<const float>> NumbersOf(const Variable& variable,
                                                  const EditedParameters& parameters) {
  const Scope::Value* value = parameters.FindOrNull(variable.name());
  const Tensor* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  if (tensor == nullptr) {
    return absl::NotFoundError(absl::StrCat("the parameters have no scale \"", variable.name(),
                                            "\"; want those that were trained"));
  }
  if (tensor->dtype() != VarType::FP32 || tensor->size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the scale \"", variable.name(), "\" is ",
                                                   VarType::Type_Name(tensor->dtype()), " ",
                                                   DimsText(tensor->dims()), "; want FP32 [1]"));
  }
  return tensor->data<float>();
}

absl::StatusOr<float> CheckedRange(const Variable& variable, float range) {
  if (std::isfinite(range) && range >= 0) return range;
  return absl::InvalidArgumentError(absl::StrCat("the scale \"", variable.name(), "\" is ", range,
                                                 "; want a finite number that is not negative"));
}

absl::Status InFile(const Argument& scale, absl::StatusCode code, absl::string_view message) {
  return absl::Status(code, absl::StrCat(DescribeInFile(scale.op()), ": ", message));
}

absl::Status IsComputed(const Argument& scale) {
  return InFile(scale, absl::StatusCode::kFailedPrecondition,
                absl::StrCat("the scale \"", scale.name(),
                             "\" is computed when the program runs; want one that training left "
                             "in a persistable variable"));
}

// Where a quantize op that finds no range itself reads the scale that it passes on as `value`; null
// if it is no such op. In test mode it passes on what it reads.
const Argument* HandedOn(const Value& value, const QuantizerTable& quantizers) {
  const QuantizerTable::Match match = quantizers.FindByQuantizeOp(value.op()->desc());
  if (match.recipe == nullptr || match.quantizer->is_dynamic()) return nullptr;
  for (const QuantizerState& state : match.recipe->state) {
    if (!state.is_scale) continue;
    const Argument* input = value.op()->Input(state.input);
    if (input != nullptr && input->variable() == &value.variable()) return input;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<float> ReadRange(const Variable& variable, const EditedParameters& parameters) {
  ASSIGN_OR_RETURN(const absl::Span<const float> ranges, NumbersOf(variable, parameters));
  return CheckedRange(variable, ranges[0]);
}

absl::StatusOr<StoredScale> FindStoredScale(const Argument& scale,
                                            const EditedParameters& parameters,
                                            const QuantizerTable& quantizers) {
  StoredScale stored;
  std::vector<const Argument*> open = {&scale};
  // A chain of maxima reads each of its inputs once; more steps than that are not such a chain.
  constexpr int kMostSteps = 10000;
  for (int steps = 0; !open.empty(); ++steps) {
    const Argument& argument = *open.back();
    open.pop_back();
    const Variable* variable = argument.variable();
    if (variable != nullptr && HoldsTrainedState(*variable, quantizers)) {
      const auto ranges = NumbersOf(*variable, parameters);
      if (!ranges.ok()) return InFile(scale, ranges.status().code(), ranges.status().message());
      const absl::StatusOr<float> range = CheckedRange(*variable, ranges->front());
      if (!range.ok()) return InFile(scale, range.status().code(), range.status().message());
      stored.value = std::max(stored.value, *range);
      stored.read.push_back(variable);
      if (&argument == &scale && ranges->size() == 1) {
        stored.variable = variable;
      }
      continue;
    }
    const Value* value = argument.value();
    const bool is_computed = value != nullptr && value->origin() == Value::Origin::kWrite;
    if (const Argument* read = is_computed ? HandedOn(*value, quantizers) : nullptr;
        read != nullptr && steps <= kMostSteps) {
      open.push_back(read);
      continue;
    }
    if (!is_computed || value->op()->type() != "elementwise_max" || steps > kMostSteps) {
      return IsComputed(scale);
    }
    open.insert(open.end(), value->op()->inputs().begin(), value->op()->inputs().end());
  }
  return stored;
}

absl::StatusOr<std::vector<float>> FindStoredScales(const Argument& scale,
                                                    const EditedParameters& parameters,
                                                    const QuantizerTable& quantizers) {
  const Variable* variable = scale.variable();
  if (variable == nullptr || !HoldsTrainedState(*variable, quantizers)) return IsComputed(scale);
  const auto ranges = NumbersOf(*variable, parameters);
  if (!ranges.ok()) return InFile(scale, ranges.status().code(), ranges.status().message());
  for (const float range : *ranges) {
    const absl::Status status = CheckedRange(*variable, range).status();
    if (!status.ok()) return InFile(scale, status.code(), status.message());
  }
  return std::vector<float>(ranges->begin(), ranges->end());
}

}  // namespace fixpoint
