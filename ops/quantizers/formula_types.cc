#include "ops/quantizers/formula_types.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/infer.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

// Names what the text's author did not write.
std::string WithoutStandIns(const std::string& message) {
  const auto [first, second] = kStandInDims;
  const std::string named = absl::StrReplaceAll(message, {{absl::StrCat(first * second), "d0 * d1"},
                                                          {absl::StrCat(first), "d0"},
                                                          {absl::StrCat(second), "d1"}});
  constexpr char kShape[] = "[d0, d1]";
  if (absl::StrContains(named, kShape)) {
    return absl::StrReplaceAll(named, {{kShape, absl::StrCat(kShape, ", the shape of x")}});
  }
  return named == message ? message : absl::StrCat(named, ", where x is ", kShape);
}

}  // namespace

FormulaTypes::FormulaTypes(const QuantizerText& text, const QuantizerRecipe& recipe,
                           const QuantizerUse& use)
    : text_(text), era_(use.era) {
  Declare(Quantizer::kLearningRate, {1});
  if (use.dims.has_value()) {
    for (const char* name : {Quantizer::kValue, Quantizer::kResult, Quantizer::kValueGradient,
                             Quantizer::kResultGradient}) {
      Declare(name, *use.dims);
    }
  }
  for (const QuantizerState& state : recipe.state) {
    Dims dims = {1};
    if (state.extent == QuantizerState::Extent::kChannels) {
      if (!use.dims.has_value()) continue;
      dims = {(*use.dims)[use.spec.axis()]};
    } else if (state.extent == QuantizerState::Extent::kElements) {
      if (!use.dims.has_value()) continue;
      dims = *use.dims;
    }
    Declare(state.name, dims);
    if (state.is_trained) Declare(Quantizer::GradientOf(state), dims);
  }
}

absl::Status FormulaTypes::Take(const std::vector<OpDesc>& ops,
                                const QuantizerText::Section& section) {
  for (const OpDesc& op : ops) {
    const auto inferred = InferOutputs(op, era_, [this](absl::string_view name) {
      const auto known = types_.find(name);
      return known == types_.end() ? nullptr : &known->second;
    });
    if (!inferred.ok()) {
      return Error(op, section, absl::StrCat(op.type(), ": ", inferred.status().message()));
    }
    size_t output = 0;
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        const InferredOutput& given = (*inferred)[output++];
        if (!given.dims.has_value()) continue;
        const auto known = types_.find(name);
        if (known == types_.end()) {
          types_[name] = MakeTensorVar(name, given.dtype.value_or(VarType::FP32), *given.dims);
          continue;
        }
        const TensorInfo wanted = TensorInfoOf(&known->second);
        if (!wanted.has_dims() || MayBeEqual(wanted.dims, *given.dims)) continue;
        return Error(op, section,
                     absl::StrCat("writes \"", name, "\" as ", DimsText(*given.dims), "; want ",
                                  DimsText(wanted.dims)));
      }
    }
  }
  return absl::OkStatus();
}

void FormulaTypes::Declare(const std::string& name, DimsView dims) {
  types_[name] = MakeTensorVar(name, VarType::FP32, dims);
}

absl::Status FormulaTypes::Error(const OpDesc& op, const QuantizerText::Section& section,
                                 const std::string& message) const {
  return text_.Error(LineOf(op, section), WithoutStandIns(message));
}

// That of the text's own op; derived ops have that of the quantizer.
int FormulaTypes::LineOf(const OpDesc& op, const QuantizerText::Section& section) const {
  for (size_t i = 0; i < section.ops.size(); ++i) {
    const OpDesc& written = section.ops[i];
    if (written.type() != op.type() || written.outputs_size() == 0 || op.outputs_size() == 0) {
      continue;
    }
    const auto& names = written.outputs(0).arguments();
    if (std::equal(names.begin(), names.end(), op.outputs(0).arguments().begin(),
                   op.outputs(0).arguments().end())) {
      return section.lines[i];
    }
  }
  return text_.line;
}

}  // namespace fixpoint
