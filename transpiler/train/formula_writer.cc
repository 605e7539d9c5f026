#include "transpiler/train/formula_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "proto/base/status_macros.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/computed_once.h"
#include "transpiler/train/first_values.h"

namespace fixpoint {

absl::Status FormulaWriter::Write(SiteWriting& writing, const QuantizerForward& forward,
                                  OpBuilder& quantize) {
  RETURN_IF_ERROR(WriteInitialValues(writing));
  const Site& site = *writing.site;
  if (context_.plan.is_inference) RETURN_IF_ERROR(CheckIsKnownWithoutTraining(writing));
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.training_only) {
      RETURN_IF_ERROR(state_.Add(site, *writing.quantizer, state).status());
    }
  }
  auto& names = context_.quantizer_names[&site];
  std::vector<OpDesc> ops = forward.ops;
  MarkComputedOnce(site.role == SlotRole::WEIGHT, &ops);
  RETURN_IF_ERROR(ops_.InsertAll(writing, std::move(ops), writing.place.role, &names));
  if (forward.quantized != Quantizer::kValue) {
    quantize.op().mutable_inputs(0)->set_arguments(0, names.at(forward.quantized));
  }
  for (const auto& [slot, name] : forward.inputs) quantize.Input(slot, names.at(name));
  return absl::OkStatus();
}

absl::Status FormulaWriter::Check(const SiteWriting& writing, const OpDesc& quantize) const {
  const Variable& variable = writing.site->value->variable();
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("\"", variable.name(), "\": quantizer ",
                                                   writing.site->spec.quantizer(), ": ", parts...));
  };
  const auto inferred =
      InferOutputs(quantize, EraOf(context_.target), program_, *writing.place.block);
  if (!inferred.ok()) return wrong(quantize.type(), ": ", inferred.status().message());
  const TensorInfo value = TensorInfoOf(variable.desc());
  const auto& result = inferred->front().dims;
  if (!result || !value.has_dims() || MayBeEqual(value.dims, *result)) return absl::OkStatus();
  return wrong("gives ", DimsText(*result), " for a value that is ", DimsText(value.dims));
}

absl::Status FormulaWriter::WriteInitialValues(SiteWriting& writing) {
  const Site& site = *writing.site;
  const Era era = EraOf(context_.target);
  if (site.range.has_value()) {
    FirstValues values = FirstValuesOfRange(site, *writing.quantizer, *writing.recipe, era);
    if (!values.ops.empty()) {
      context_.first_values.push_back(std::move(values));
      return absl::OkStatus();
    }
  }
  if (StartsFromWeight(site)) {
    FirstValues values =
        FirstValuesOfWeight(site, *writing.quantizer, *writing.recipe, UseOf(site, era));
    if (!values.ops.empty()) context_.first_values.push_back(std::move(values));
    return absl::OkStatus();
  }
  std::vector<OpDesc> ops = writing.quantizer->InitialOps(UseOf(site, era));
  // A range that is known is the value of the state that holds it; other states are told by the
  // first tensor.
  const bool is_known = site.range.has_value() && HoldsRange(*writing.quantizer, *writing.recipe);
  if (ops.empty() || is_known || context_.plan.is_inference) {
    return absl::OkStatus();
  }
  absl::flat_hash_map<std::string, std::string> names;
  RETURN_IF_ERROR(ops_.InsertAll(writing, std::move(ops), kLearningRate, &names));
  const int64_t first_step = std::max<int64_t>(1, ScheduleOf(context_.plan).quantize_from_step());
  for (const QuantizerState& state : writing.recipe->state) {
    const auto found = names.find(state.name);
    if (found == names.end()) continue;
    ASSIGN_OR_RETURN(const std::string variable, state_.Add(site, *writing.quantizer, state));
    const TensorInfo declared = TensorInfoOf(program_.Find(program_.block(0), variable)->desc());
    const TensorInfo first =
        TensorInfoOf(program_.Find(*writing.place.block, found->second)->desc());
    if (declared.has_dims() && first.has_dims() && !MayBeEqual(declared.dims, first.dims)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", site.value->variable().name(), "\": quantizer ", site.spec.quantizer(),
                       ": initial: gives \"", state.name, "\" as ", DimsText(first.dims), "; want ",
                       DimsText(declared.dims)));
    }
    ASSIGN_OR_RETURN(OpBuilder select, ops_.SelectFrom(first_step + 1, variable));
    select.Input("X", variable).Input("Before", found->second);
    SiteWriting with_role = writing;
    with_role.place.role = kLearningRate;
    ops_.Insert(with_role, select);
  }
  return absl::OkStatus();
}

bool FormulaWriter::StartsFromWeight(const Site& site) const {
  return context_.starts_from_parameters && context_.plan.is_inference &&
         site.role == SlotRole::WEIGHT && site.value->op() == nullptr && !site.range.has_value();
}

absl::Status FormulaWriter::CheckIsKnownWithoutTraining(const SiteWriting& writing) const {
  const Site& site = *writing.site;
  const Era era = EraOf(context_.target);
  const bool starts_from_weight = StartsFromWeight(site);
  const FirstValues values =
      starts_from_weight
          ? FirstValuesOfWeight(site, *writing.quantizer, *writing.recipe, UseOf(site, era))
          : FirstValuesOfRange(site, *writing.quantizer, *writing.recipe, era);
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.is_trained || state.is_scale) continue;
    const bool is_in_range = std::count(values.states.begin(), values.states.end(), state.name) > 0;
    if (is_in_range && (starts_from_weight || site.range.has_value())) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", site.value->variable().name(), "\": quantizer ", site.spec.quantizer(),
        " computes its range from \"", state.name,
        "\", which training finds, and the program has no backward op; want ",
        site.role == SlotRole::WEIGHT
            ? "a quantizer that finds the range of a weight anew, such as channel_wise_abs_max"
        : is_in_range ? "a profile with the range that it begins with"
                      : "a quantizer that a profile's range tells all that it computes from"));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
