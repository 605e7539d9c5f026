#include "ops/quantizers/text_quantizer.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/builtin_texts.h"
#include "ops/quantizers/formula_derivation.h"
#include "ops/quantizers/formula_links.h"
#include "ops/quantizers/formula_ops.h"
#include "ops/quantizers/formula_states.h"
#include "ops/quantizers/formula_types.h"
#include "ops/quantizers/formula_uses.h"
#include "ops/quantizers/formula_words.h"
#include "ops/quantizers/quantizer_text.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

using Names = absl::flat_hash_set<std::string>;
using Ops = std::vector<OpDesc>;

class TextQuantizer final : public Quantizer {
 public:
  TextQuantizer(std::shared_ptr<const QuantizerText> text, QuantSpec::Granularity granularity)
      : text_(std::move(text)),
        granularity_(granularity),
        name_(per_channel() ? absl::StrCat("channel_wise_", text_->name) : text_->name),
        doc_(per_channel() && !text_->is_per_channel
                 ? absl::StrCat(text_->name, " with a range for each output channel of a weight.")
                 : text_->doc),
        recipes_({MakeRecipe()}) {}

  absl::string_view name() const override { return name_; }
  absl::string_view doc() const override { return doc_; }
  QuantSpec::Granularity granularity() const override { return granularity_; }
  QuantSpec::Scheme scheme() const override {
    const bool is_affine = QuantizeOpOf(*text_).type() == kQuantizeAffine;
    return is_affine ? QuantSpec::AFFINE : QuantSpec::SYMMETRIC;
  }
  int least_bits() const override { return text_->least_bits; }
  int most_bits() const override { return text_->most_bits; }
  bool is_dynamic() const override { return false; }
  bool has_own_gradient() const override { return true; }
  // The axes that the frozen program's ops can have.
  absl::Span<const int> axes(Era) const override {
    static constexpr int kAxes[] = {0, 1};
    return kAxes;
  }
  absl::Span<const QuantizerParameter> parameters() const override { return text_->settings; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    const auto forward = FillForward({spec, SlotRole::WEIGHT, std::nullopt, era});
    CHECK(forward.ok()) << forward.status();
    for (const OpDesc& filled : *forward) {
      if (!QuantizesFormula(filled)) continue;
      for (const OpDesc::Attr& attr : filled.attrs()) op.Attr(attr);
      op.StringAttr(kQuantizerAttr, name_);
    }
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState& state, const QuantSpec&) const override {
    return text_->FindState(state.name)->initial_value.value_or(0);
  }
  double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                      float max) const override {
    if (scheme() == QuantSpec::SYMMETRIC || state.input.empty()) {
      return Quantizer::ValueOfRange(state, spec, min, max);
    }
    const AffineParams params =
        AffineParamsOf(std::min(min, 0.0f), std::max(max, 0.0f), CodeRangeOf(spec));
    return state.is_scale ? params.step : params.zero_point;
  }

  QuantizerForward Forward(const QuantizerUse& use) const override {
    const auto filled = FillForward(use);
    CHECK(filled.ok()) << filled.status();
    const Ops ops = OpsWithoutWords(*filled);
    QuantizerForward forward;
    const OpDesc& quantize = QuantizeOp(ops);
    forward.quantized = NameInSlot(quantize, "X");
    Names wanted = {forward.quantized};
    for (const char* slot : {kScaleSlot, kZeroPointSlot}) {
      const std::string read = NameInSlot(quantize, slot);
      if (!read.empty() && text_->FindState(read) == nullptr) {
        forward.inputs.emplace_back(slot, read);
      }
      wanted.insert(read);
    }
    forward.ops = OpsThatWrite(ops, std::move(wanted));
    return forward;
  }

  std::vector<OpDesc> InitialOps(const QuantizerUse& use) const override {
    return Filled(text_->initial, use);
  }

  std::vector<OpDesc> GradientOps(const QuantizerUse& use) const override {
    const auto ops = DeriveGradient(*text_, use, Forward(use).ops);
    CHECK(ops.ok()) << ops.status();
    return *ops;
  }

  std::vector<OpDesc> UpdateOps(const QuantizerUse& use) const override {
    if (!text_->update.ops.empty()) return Filled(text_->update, use);
    Ops ops;
    for (const QuantizerState& state : recipes_.front().state) {
      if (!state.is_trained) continue;
      ops.push_back(OpBuilder("sgd")
                        .Input("Param", state.name)
                        .Input("Grad", GradientOf(state))
                        .Input("LearningRate", kLearningRate)
                        .Output("ParamOut", state.name)
                        .Build());
    }
    return ops;
  }

  float Observe(const QuantSpec&, absl::Span<const float>, absl::Span<const absl::Span<float>>,
                int64_t) const override {
    LOG(FATAL) << name_ << " finds its range by ops";
  }

  absl::Status NameIsTaken() const {
    return text_->Error(text_->line, absl::StrCat("there is a quantizer \"", name_,
                                                  "\" already; want another name"));
  }

  // Whether the formula can be used: what the functions above need.
  absl::Status Check(const QuantizerUse& use) const {
    ASSIGN_OR_RETURN(const Ops forward, FillForward(use));
    ASSIGN_OR_RETURN(const Ops initial, FormulaOps(*text_, use).Fill(text_->initial));
    ASSIGN_OR_RETURN(const Ops update, FormulaOps(*text_, use).Fill(text_->update));
    RETURN_IF_ERROR(CheckUpdates(update));
    ASSIGN_OR_RETURN(const Ops gradient, DeriveGradient(*text_, use, Forward(use).ops));
    const QuantizerRecipe& recipe = recipes_.front();
    RETURN_IF_ERROR(FormulaTypes(*text_, recipe, use).Take(initial, text_->initial));
    RETURN_IF_ERROR(FormulaTypes(*text_, recipe, use).Take(update, text_->update));
    FormulaTypes types(*text_, recipe, use);
    RETURN_IF_ERROR(types.Take(forward, text_->forward));
    return types.Take(gradient, text_->gradient);
  }

  // Whether all that the text says has an effect, and its states begin with something.
  absl::Status CheckText() const {
    RETURN_IF_ERROR(CheckStates(*text_));
    return CheckUses(*text_);
  }

 private:
  bool per_channel() const { return granularity_ == QuantSpec::PER_CHANNEL; }

  absl::StatusOr<Ops> FillForward(const QuantizerUse& use) const {
    return FormulaOps(*text_, use).Fill(text_->forward);
  }

  Ops Filled(const QuantizerText::Section& section, const QuantizerUse& use) const {
    const auto filled = FormulaOps(*text_, use).Fill(section);
    CHECK(filled.ok()) << filled.status();
    return *filled;
  }

  static const OpDesc& QuantizeOp(const Ops& ops) {
    return *std::find_if(ops.begin(), ops.end(), QuantizesFormula);
  }

  // Without an update section, what is trained is updated by gradient descent.
  absl::Status CheckUpdates(const Ops& update) const {
    for (const QuantizerText::State& state : text_->states) {
      if (!state.is_trained || update.empty() || !OpsThatWrite(update, {state.name}).empty()) {
        continue;
      }
      return text_->Error(
          text_->update.lines.front(),
          absl::StrCat("update: does not write ", state.name, ", which is trained"));
    }
    return absl::OkStatus();
  }

  QuantizerRecipe MakeRecipe() const {
    using Extent = QuantizerText::State::Extent;
    QuantizerRecipe recipe;
    recipe.form = QuantSpec::FUSED;
    recipe.quantize_op = QuantizeOpOf(*text_).type();
    recipe.reference_runs_it = false;
    recipe.scale_output = "";
    recipe.scale_input = kScaleSlot;
    const Ops forward = OpsWithoutWords(text_->forward.ops);
    const OpDesc& quantize = QuantizeOp(forward);
    const Names read = NamesReadBy(text_->forward.ops);
    for (const QuantizerText::State& declared : text_->states) {
      QuantizerState state;
      state.name = declared.name;
      state.is_trained = declared.is_trained;
      state.is_scale = declared.name == NameInSlot(quantize, kScaleSlot);
      if (state.is_scale) {
        state.input = kScaleSlot;
      } else if (declared.name == NameInSlot(quantize, kZeroPointSlot)) {
        state.input = kZeroPointSlot;
      } else if (declared.is_trained) {
        state.decides = kScaleSlot;
      }
      state.training_only = !read.contains(declared.name);
      if (declared.extent == Extent::kRanges && per_channel()) {
        state.extent = QuantizerState::Extent::kChannels;
      } else if (declared.extent == Extent::kElements) {
        state.extent = QuantizerState::Extent::kElements;
      }
      recipe.state.push_back(std::move(state));
    }
    return recipe;
  }

  const std::shared_ptr<const QuantizerText> text_;
  const QuantSpec::Granularity granularity_;
  const std::string name_;
  const std::string doc_;
  const std::vector<QuantizerRecipe> recipes_;
};

using Quantizers = std::vector<std::unique_ptr<TextQuantizer>>;

void AddQuantizersOf(std::shared_ptr<const QuantizerText> text, Quantizers* quantizers) {
  if (!text->is_per_channel) {
    quantizers->push_back(std::make_unique<TextQuantizer>(text, QuantSpec::PER_TENSOR));
  }
  if (!text->can_be_per_channel) return;
  quantizers->push_back(std::make_unique<TextQuantizer>(text, QuantSpec::PER_CHANNEL));
}

Quantizers QuantizersOf(std::vector<QuantizerText> texts) {
  Quantizers quantizers;
  for (QuantizerText& text : texts) {
    AddQuantizersOf(std::make_shared<const QuantizerText>(std::move(text)), &quantizers);
  }
  return quantizers;
}

QuantSpec SpecToCheck(const Quantizer& quantizer) {
  QuantSpec spec;
  spec.set_quantizer(std::string(quantizer.name()));
  spec.set_bits(std::clamp(4, quantizer.least_bits(), quantizer.most_bits()));
  spec.set_signedness(QuantSpec::SIGNED);
  spec.set_granularity(quantizer.granularity());
  spec.set_scheme(quantizer.scheme());
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  if (quantizer.granularity() == QuantSpec::PER_CHANNEL) spec.set_axis(0);
  return spec;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Quantizer>>> ReadQuantizers(
    absl::string_view text, absl::string_view file_name,
    const std::function<bool(absl::string_view)>& is_taken) {
  ASSIGN_OR_RETURN(std::vector<QuantizerText> texts,
                   ParseQuantizerTexts(text, file_name, FindBuiltInText));
  std::vector<std::unique_ptr<Quantizer>> quantizers;
  for (std::unique_ptr<TextQuantizer>& quantizer : QuantizersOf(std::move(texts))) {
    if (is_taken != nullptr && is_taken(quantizer->name())) return quantizer->NameIsTaken();
    const QuantSpec spec = SpecToCheck(*quantizer);
    for (const Era era : {Era::kFluid, Era::kPaddle2}) {
      RETURN_IF_ERROR(quantizer->Check(
          {spec, SlotRole::WEIGHT, Dims(kStandInDims.begin(), kStandInDims.end()), era}));
      if (spec.granularity() == QuantSpec::PER_CHANNEL) continue;
      RETURN_IF_ERROR(quantizer->Check({spec, SlotRole::ACTIVATION, std::nullopt, era}));
    }
    RETURN_IF_ERROR(quantizer->CheckText());
    quantizers.push_back(std::move(quantizer));
  }
  return quantizers;
}

std::vector<std::unique_ptr<Quantizer>> BuiltInTextQuantizers() {
  Quantizers built_in;
  for (const auto& text : BuiltInTexts()) AddQuantizersOf(text, &built_in);
  return {std::make_move_iterator(built_in.begin()), std::make_move_iterator(built_in.end())};
}

}  // namespace fixpoint
