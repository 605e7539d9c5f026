#include "ops/quantizers/text_quantizer.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/formula_gradient.h"
#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/formula_ops.h"
#include "ops/quantizers/formula_states.h"
#include "ops/quantizers/formula_types.h"
#include "ops/quantizers/formula_words.h"
#include "ops/quantizers/quantizer_text.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/slots.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Names = absl::flat_hash_set<std::string>;
using Ops = std::vector<OpDesc>;

constexpr char kSurrogateResult[] = "surrogate_out";

struct BuiltIn {
  const char* name;
  const char* text;
};
constexpr BuiltIn kBuiltIn[] = {
#include "ops/quantizers/builtin_texts.inc"
};

bool Says(const OpDesc& op, absl::string_view attribute) {
  const OpDesc::Attr* const attr = FindAttr(op, attribute);
  return attr != nullptr && BoolValue(*attr) == true;
}

std::string TheInput(const OpDesc& op, absl::string_view slot) {
  const OpDesc::Var* const found = FindSlot(op.inputs(), slot);
  return found == nullptr || found->arguments_size() == 0 ? "" : found->arguments(0);
}

std::string TheOutput(const OpDesc& op) {
  return op.outputs_size() == 0 || op.outputs(0).arguments_size() == 0 ? ""
                                                                       : op.outputs(0).arguments(0);
}

// The ops of a program: without scale_gradient, whose result is its input.
Ops WithoutFormulaWords(const Ops& ops) {
  absl::flat_hash_map<std::string, std::string> same_as;
  Ops plain;
  for (const OpDesc& op : ops) {
    OpDesc renamed = WithoutWords(op);
    for (OpDesc::Var& slot : *renamed.mutable_inputs()) {
      for (std::string& name : *slot.mutable_arguments()) {
        const auto same = same_as.find(name);
        if (same != same_as.end()) name = same->second;
      }
    }
    if (op.type() == kScaleGradient) {
      same_as[TheOutput(op)] = TheInput(renamed, "X");
    } else {
      plain.push_back(std::move(renamed));
    }
  }
  return plain;
}

void Rename(const std::string& from, const std::string& to, OpDesc* op) {
  for (auto* slots : {op->mutable_inputs(), op->mutable_outputs()}) {
    for (OpDesc::Var& slot : *slots) {
      std::replace(slot.mutable_arguments()->begin(), slot.mutable_arguments()->end(), from, to);
    }
  }
}

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
    const Ops ops = WithoutFormulaWords(*filled);
    QuantizerForward forward;
    const OpDesc& quantize = QuantizeOp(ops);
    forward.quantized = TheInput(quantize, "X");
    Names wanted = {forward.quantized};
    for (const char* slot : {kScaleSlot, kZeroPointSlot}) {
      const std::string read = TheInput(quantize, slot);
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
    const auto ops = DeriveGradient(use);
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

  // Whether the formula can be used: what the functions above need.
  absl::Status Check(const QuantizerUse& use) const {
    ASSIGN_OR_RETURN(const Ops forward, FillForward(use));
    ASSIGN_OR_RETURN(const Ops initial, FormulaOps(*text_, use).Fill(text_->initial));
    ASSIGN_OR_RETURN(const Ops update, FormulaOps(*text_, use).Fill(text_->update));
    RETURN_IF_ERROR(CheckUpdates(update));
    ASSIGN_OR_RETURN(const Ops gradient, DeriveGradient(use));
    const QuantizerRecipe& recipe = recipes_.front();
    RETURN_IF_ERROR(FormulaTypes(*text_, recipe, use).Take(initial, text_->initial));
    RETURN_IF_ERROR(FormulaTypes(*text_, recipe, use).Take(update, text_->update));
    FormulaTypes types(*text_, recipe, use);
    RETURN_IF_ERROR(types.Take(forward, text_->forward));
    RETURN_IF_ERROR(types.Take(gradient, text_->gradient));
    return CheckStates(*text_);
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

  // The gradient ops, after those of the forward section that they read and no program has.
  absl::StatusOr<Ops> DeriveGradient(const QuantizerUse& use) const {
    FormulaOps filler(*text_, use);
    ASSIGN_OR_RETURN(const Ops forward, filler.Fill(text_->forward));
    Ops ops;
    if (!text_->surrogate.ops.empty()) {
      ASSIGN_OR_RETURN(const Ops surrogate, FormulaOps(*text_, use).Fill(text_->surrogate));
      ASSIGN_OR_RETURN(ops, Derive(surrogate, use.era));
    } else if (text_->gradient.ops.empty()) {
      ASSIGN_OR_RETURN(ops, Derive(forward, use.era));
    } else {
      ASSIGN_OR_RETURN(const Ops given, filler.Fill(text_->gradient));
      Names read;
      for (const OpDesc& op : given) {
        for (const OpDesc::Var& slot : op.inputs()) {
          read.insert(slot.arguments().begin(), slot.arguments().end());
        }
      }
      ops = OpsThatWrite(forward, read);
      ops.insert(ops.end(), given.begin(), given.end());
    }
    RETURN_IF_ERROR(CheckGradients(ops));
    return WithoutOpsOf(Forward(use), WithoutFormulaWords(ops));
  }

  // Leaves out the ops that a program has already: those of the forward section. Error: an op
  // writes a name of theirs, and is another.
  absl::StatusOr<Ops> WithoutOpsOf(const QuantizerForward& forward, Ops ops) const {
    absl::flat_hash_map<std::string, const OpDesc*> in_program;
    for (const OpDesc& op : forward.ops) in_program[TheOutput(op)] = &op;
    Ops others;
    for (OpDesc& op : ops) {
      if (TheOutput(op) == kResult && QuantizesFormula(op)) continue;
      // What a surrogate ends with is not the program's result, but close to it.
      if (!text_->surrogate.ops.empty()) Rename(kResult, kSurrogateResult, &op);
      const auto found = in_program.find(TheOutput(op));
      if (found == in_program.end()) {
        others.push_back(std::move(op));
      } else if (PrintOp(*found->second) != PrintOp(op)) {
        return text_->Error(text_->line, absl::StrCat("the surrogate computes \"", TheOutput(op),
                                                      "\" in another way than forward; want "
                                                      "another name"));
      }
    }
    return others;
  }

  // By AppendBackward, for which rounding that is passed straight through is a copy.
  absl::StatusOr<Ops> Derive(const Ops& forward, Era era) const {
    Formula formula;
    formula.result = kResult;
    formula.inputs = {kValue};
    for (const QuantizerText::State& state : text_->states) {
      if (state.is_trained) formula.inputs.push_back(state.name);
    }
    absl::flat_hash_map<std::string, OpDesc> rounding;
    for (const OpDesc& op : forward) {
      if (Says(op, kStopGradientAttr)) {
        for (const OpDesc::Var& slot : op.outputs()) {
          formula.constants.insert(formula.constants.end(), slot.arguments().begin(),
                                   slot.arguments().end());
        }
      }
      if (Says(op, kStraightThroughAttr)) {
        rounding.emplace(TheOutput(op), op);
        formula.ops.push_back(
            OpBuilder("assign").Input("X", TheInput(op, "X")).Output("Out", TheOutput(op)).Build());
      } else {
        formula.ops.push_back(WithoutWords(op));
      }
    }
    for (const QuantizerText::State& state : text_->states) {
      if (!state.is_trained) formula.constants.push_back(state.name);
    }
    for (const absl::string_view number : NumbersOfSpec()) formula.constants.emplace_back(number);
    for (const QuantizerParameter& setting : text_->settings) {
      formula.constants.push_back(setting.name);
    }
    absl::StatusOr<Ops> ops = GradientOpsOf(formula, era);
    if (!ops.ok()) return WhyNotDerived(formula, ops.status());
    for (OpDesc& op : *ops) {
      const auto found = rounding.find(TheOutput(op));
      if (found != rounding.end()) op = found->second;
    }
    return ops;
  }

  // The error of a gradient that cannot be derived, at the op that hinders.
  absl::Status WhyNotDerived(const Formula& formula, const absl::Status& status) const {
    const OpDesc* const op = FindOpWithoutGradient(formula);
    if (op == nullptr) {
      return text_->Error(text_->line,
                          absl::StrCat("its gradient cannot be derived: ", status.message()));
    }
    const auto& section = text_->surrogate.ops.empty() ? text_->forward : text_->surrogate;
    int line = text_->line;
    for (size_t i = 0; i < section.ops.size(); ++i) {
      if (TheOutput(section.ops[i]) == TheOutput(*op)) line = section.lines[i];
    }
    return text_->Error(
        line,
        absl::StrCat("the gradient of ", op->type(), " is not known, so that that of ", kResult,
                     " cannot be derived; ", kStraightThroughAttr, "=true passes it on unchanged, ",
                     kStopGradientAttr, "=true passes none"));
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

  absl::Status CheckGradients(const Ops& ops) const {
    Names written;
    for (const OpDesc& op : ops) {
      for (const OpDesc::Var& slot : op.outputs()) {
        written.insert(slot.arguments().begin(), slot.arguments().end());
      }
    }
    std::vector<std::string> wanted = {kValueGradient};
    for (const QuantizerText::State& state : text_->states) {
      if (state.is_trained) wanted.push_back(absl::StrCat(state.name, kGradientSuffix));
    }
    for (const std::string& name : wanted) {
      if (written.contains(name)) continue;
      return text_->Error(text_->line, absl::StrCat("nothing computes ", name,
                                                    ": no path with a gradient leads "
                                                    "from ",
                                                    kResult, " to it"));
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
    const Ops forward = WithoutFormulaWords(text_->forward.ops);
    const OpDesc& quantize = QuantizeOp(forward);
    Names read;
    for (const OpDesc& op : text_->forward.ops) {
      for (const OpDesc::Var& slot : op.inputs()) {
        read.insert(slot.arguments().begin(), slot.arguments().end());
      }
    }
    for (const QuantizerText::State& declared : text_->states) {
      QuantizerState state;
      state.name = declared.name;
      state.is_trained = declared.is_trained;
      state.is_scale = declared.name == TheInput(quantize, kScaleSlot);
      if (state.is_scale) {
        state.input = kScaleSlot;
      } else if (declared.name == TheInput(quantize, kZeroPointSlot)) {
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

using Texts = std::vector<std::shared_ptr<const QuantizerText>>;

const QuantizerText* FindText(const Texts& texts, absl::string_view name) {
  for (const auto& text : texts) {
    if (text->name == name) return text.get();
  }
  return nullptr;
}

// Reads a built-in text, after the one that it builds on.
void ReadBuiltIn(const BuiltIn& built_in, Texts* texts) {
  if (FindText(*texts, built_in.name) != nullptr) return;
  const auto find = [texts](absl::string_view name) {
    for (const BuiltIn& other : kBuiltIn) {
      if (other.name == name) ReadBuiltIn(other, texts);
    }
    return FindText(*texts, name);
  };
  auto parsed = ParseQuantizerTexts(built_in.text, absl::StrCat(built_in.name, ".txt"), find);
  CHECK(parsed.ok()) << parsed.status();
  for (QuantizerText& text : *parsed) {
    texts->push_back(std::make_shared<const QuantizerText>(std::move(text)));
  }
}

// By name. Parsed once: tables of quantizers are made often.
const Texts& BuiltInTexts() {
  static const auto* const kTexts = [] {
    auto* texts = new Texts;
    for (const BuiltIn& built_in : kBuiltIn) ReadBuiltIn(built_in, texts);
    std::sort(texts->begin(), texts->end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
    return texts;
  }();
  return *kTexts;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Quantizer>>> ReadQuantizers(
    absl::string_view text, absl::string_view file_name) {
  ASSIGN_OR_RETURN(std::vector<QuantizerText> texts,
                   ParseQuantizerTexts(text, file_name, [](absl::string_view name) {
                     return FindText(BuiltInTexts(), name);
                   }));
  std::vector<std::unique_ptr<Quantizer>> quantizers;
  for (std::unique_ptr<TextQuantizer>& quantizer : QuantizersOf(std::move(texts))) {
    const QuantSpec spec = SpecToCheck(*quantizer);
    for (const Era era : {Era::kFluid, Era::kPaddle2}) {
      RETURN_IF_ERROR(quantizer->Check({spec, SlotRole::WEIGHT, Dims{4, 3}, era}));
      if (spec.granularity() == QuantSpec::PER_CHANNEL) continue;
      RETURN_IF_ERROR(quantizer->Check({spec, SlotRole::ACTIVATION, std::nullopt, era}));
    }
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
