#include "transpiler/train/state_writer.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {

QuantizerUse UseOf(const Site& site, Era era) {
  const TensorInfo value = TensorInfoOf(site.value->variable().desc());
  std::optional<Dims> dims;
  if (value.has_dims()) dims.emplace(value.dims.begin(), value.dims.end());
  return {site.spec, site.role, std::move(dims), era};
}

absl::StatusOr<std::string> StateWriter::Add(const Site& site, const Quantizer& quantizer,
                                             const QuantizerState& state) {
  std::string& name = context_.quantizer_names[&site][state.name];
  if (!name.empty()) return name;
  const Variable& variable = site.value->variable();
  std::vector<int64_t> dims = {1};
  if (state.extent == QuantizerState::Extent::kChannels) {
    dims = {variable.tensor()->dims(site.spec.axis())};
  } else if (state.extent == QuantizerState::Extent::kWindow) {
    dims = {static_cast<int64_t>(Parameter(quantizer, site.spec, "window_size"))};
  } else if (state.extent == QuantizerState::Extent::kElements) {
    if (site.role != SlotRole::WEIGHT) {
      return absl::FailedPreconditionError(absl::StrCat(
          "\"", variable.name(), "\": quantizer ", site.spec.quantizer(),
          " keeps a number for each element, which a weight has; want another quantizer for "
          "activations"));
    }
    dims.assign(variable.tensor()->dims().begin(), variable.tensor()->dims().end());
  }
  double initial = quantizer.InitialValue(state, site.spec);
  if (site.range.has_value()) {
    initial = quantizer.ValueOfRange(state, site.spec, site.range->min(), site.range->max());
  }
  const std::string& scale_suffix = context_.target.conventions().scale_suffix();
  const std::string suffix =
      state.is_scale ? scale_suffix : absl::StrCat(scale_suffix.substr(0, 1), state.name);
  ASSIGN_OR_RETURN(name, Declare(variable.name() + suffix, state.dtype, dims, initial));
  return name;
}

absl::StatusOr<std::string> StateWriter::Declare(const std::string& base, VarType::Type dtype,
                                                 const std::vector<int64_t>& dims,
                                                 double initial_value) {
  const Program& startup = context_.startup;
  std::string name = rewriter_.FreshName(base);
  while (startup.Find(startup.block(0), name) != nullptr) name = rewriter_.FreshName(base);
  ASSIGN_OR_RETURN(const Variable* variable,
                   rewriter_.AddTensor(program_.block(0), name, dtype, dims, /*persistable=*/true));
  context_.new_state.push_back({variable, initial_value});
  return variable->name();
}

}  // namespace fixpoint
