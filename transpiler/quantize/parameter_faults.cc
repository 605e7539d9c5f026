#include "transpiler/quantize/parameter_faults.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

// Null if it is no tensor of FP32 among the parameters.
const Tensor* FindFloats(const Scope& parameters, absl::string_view name) {
  const Scope::Value* const value = parameters.FindOrNull(name);
  const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
  return tensor != nullptr && tensor->dtype() == VarType::FP32 ? tensor : nullptr;
}

int64_t CountDeadChannels(const Tensor& weight, int axis) {
  const std::vector<int64_t>& dims = weight.dims();
  const int64_t channels = dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  std::vector<bool> is_alive(channels);
  const absl::Span<const float> values = weight.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) is_alive[static_cast<int64_t>(i) / inner % channels] = true;
  }
  return std::count(is_alive.begin(), is_alive.end(), false);
}

}  // namespace

absl::Status CheckVariances(const Program& program, const Scope& parameters) {
  for (const Op& op : program.ops()) {
    const std::optional<StageTrait>& stage = TraitsOf(op).stage;
    const Argument* const variance = op.Input("Variance");
    if (!stage || !stage->normalizes || variance == nullptr) continue;
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), EraOf(program));
    const Tensor* const tensor = FindFloats(parameters, variance->name());
    if (!attributes || tensor == nullptr) continue;
    const auto epsilon = static_cast<float>(attributes->Float("epsilon"));
    const absl::Span<const float> values = tensor->data<float>();
    const auto* const wrong = std::find_if(values.begin(), values.end(),
                                           [&](float value) { return !(value + epsilon > 0); });
    if (wrong == values.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(op), ": the variance \"", variance->name(), "\" has ", *wrong,
                     " at channel ", wrong - values.begin(),
                     "; want numbers above 0: are the parameters those of this network?"));
  }
  return absl::OkStatus();
}

std::vector<std::string> NotesOnDeadChannels(const QuantPlan& plan, const Scope& parameters) {
  int64_t count = 0;
  std::string first;
  for (const QuantPlan::Site& site : plan.sites()) {
    if (site.role() != SlotRole::WEIGHT) continue;
    const Tensor* const weight = FindFloats(parameters, site.value().variable());
    const bool is_per_channel = site.spec().granularity() == QuantSpec::PER_CHANNEL;
    if (weight == nullptr || !is_per_channel || site.spec().axis() < 0 ||
        site.spec().axis() >= static_cast<int>(weight->dims().size())) {
      continue;
    }
    const int64_t dead = CountDeadChannels(*weight, site.spec().axis());
    if (dead > 0 && first.empty()) first = site.value().variable();
    count += dead;
  }
  if (count == 0) return {};
  return {
      absl::StrCat("channels of weights that are 0 throughout: ", count, ", the first in ", first)};
}

}  // namespace fixpoint
