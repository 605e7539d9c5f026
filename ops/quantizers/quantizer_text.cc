#include "ops/quantizers/quantizer_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "ops/quantizers/formula_ops.h"
#include "ops/quantizers/formula_words.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/slots.h"
#include "proto/text/program_text.h"
#include "proto/text/sectioned_text.h"

namespace fixpoint {
namespace {

constexpr char kNumber[] = "number";
constexpr char kNumberPerRange[] = "number_per_range";
constexpr char kNumberPerElement[] = "number_per_element";
constexpr int kLargestGroup = 65536;

// Reads a line that declares a number: `number() -> (Out=name) {attributes}`.
class Declaration {
 public:
  Declaration(const QuantizerText& text, const OpDesc& op, int line)
      : text_(text), op_(op), line_(line) {}

  // `may_be_several`: not one number alone.
  absl::Status Check(absl::string_view section, bool may_be_several,
                     const std::vector<std::string>& attributes) const {
    const bool is_several = op_.type() == kNumberPerRange || op_.type() == kNumberPerElement;
    if (is_several && !may_be_several) {
      return text_.Error(line_, absl::StrCat(op_.type(), " in ", section,
                                             ":; it declares a state, which is done in states:"));
    }
    if ((op_.type() != kNumber && !is_several) || !HasForm()) {
      const std::vector<std::string> words =
          may_be_several ? std::vector<std::string>{kNumber, kNumberPerRange, kNumberPerElement}
                         : std::vector<std::string>{kNumber};
      const bool is_word = std::count(words.begin(), words.end(), op_.type()) > 0;
      return text_.Error(
          line_, absl::StrCat("found ", PrintOp(op_), is_word ? "" : DidYouMean(op_.type(), words),
                              "; want ", absl::StrJoin(words, " or "), "() -> (Out=NAME) in ",
                              section, ":"));
    }
    if (IsNumberOfSpec(name()) || name() == Quantizer::kValue || name() == Quantizer::kResult ||
        name() == Quantizer::kLearningRate) {
      return Wrong("the name stands for something else; want another");
    }
    return CheckAttributes(section, attributes);
  }

  absl::Status CheckAttributes(absl::string_view section,
                               const std::vector<std::string>& attributes) const {
    for (const OpDesc::Attr& attr : op_.attrs()) {
      if (std::count(attributes.begin(), attributes.end(), attr.name()) == 0) {
        return Wrong(absl::StrCat("a number of ", section, ": has no attribute ", attr.name(),
                                  OfferNames(attr.name(), attributes, attributes.size())));
      }
      if (FindAttr(op_, attr.name()) != &attr) {
        return Wrong(absl::StrCat("attribute ", attr.name(), " is given twice; want it once"));
      }
    }
    return absl::OkStatus();
  }

  // Whether it declares the number that a spec says.
  bool IsOfBits() const { return op_.type() == kNumber && HasForm() && name() == kBits; }

  std::string name() const { return op_.outputs(0).arguments(0); }
  QuantizerText::State::Extent extent() const {
    using Extent = QuantizerText::State::Extent;
    if (op_.type() == kNumberPerRange) return Extent::kRanges;
    return op_.type() == kNumberPerElement ? Extent::kElements : Extent::kOne;
  }

  absl::StatusOr<double> Number(absl::string_view attribute,
                                std::optional<double> otherwise) const {
    const OpDesc::Attr* const attr = FindAttr(op_, attribute);
    if (attr == nullptr && otherwise.has_value()) return *otherwise;
    const std::optional<double> value = attr != nullptr ? FloatValue(*attr) : std::nullopt;
    if (value.has_value() && std::isfinite(*value)) return *value;
    return Wrong(absl::StrCat("want a number ", attribute, ", like ", attribute, "=0.5"));
  }
  absl::StatusOr<bool> Bool(absl::string_view attribute) const {
    const OpDesc::Attr* const attr = FindAttr(op_, attribute);
    if (attr == nullptr) return false;
    const std::optional<bool> value = BoolValue(*attr);
    if (value.has_value()) return *value;
    return Wrong(absl::StrCat(attribute, " is true or false"));
  }
  absl::StatusOr<std::string> String(absl::string_view attribute) const {
    const OpDesc::Attr* const attr = FindAttr(op_, attribute);
    if (attr != nullptr && attr->type() == STRING && !attr->s().empty()) return attr->s();
    return Wrong(absl::StrCat("want a sentence ", attribute, "=\"...\""));
  }
  absl::Status Wrong(absl::string_view message) const {
    return text_.Error(line_, absl::StrCat(name(), ": ", message));
  }

 private:
  // "TYPE() -> (Out=NAME)".
  bool HasForm() const {
    return op_.inputs_size() == 0 && op_.outputs_size() == 1 &&
           op_.outputs(0).parameter() == "Out" && op_.outputs(0).arguments_size() == 1;
  }

  const QuantizerText& text_;
  const OpDesc& op_;
  const int line_;
};

class TextReader {
 public:
  // `base`: the text that it builds on; null for none.
  TextReader(absl::string_view file_name, const TextItem& item, const QuantizerText* base)
      : item_(item) {
    if (base != nullptr) Inherit(*base);
    text_.file = std::string(file_name);
    text_.name = item.name;
    text_.doc = item.doc;
    text_.line = item.line;
  }

  absl::StatusOr<QuantizerText> Read() {
    RETURN_IF_ERROR(ReadSettings());
    RETURN_IF_ERROR(ReadStates());
    if (item_.Find("forward") != nullptr || item_.Find("surrogate") != nullptr ||
        item_.Find("gradient") != nullptr) {
      text_.surrogate = {};
      text_.gradient = {};
    }
    RETURN_IF_ERROR(Replace("initial", kNoGradient, &text_.initial));
    RETURN_IF_ERROR(Extend("more_initial", &text_.initial));
    RETURN_IF_ERROR(Replace("forward", kGradient, &text_.forward));
    RETURN_IF_ERROR(Replace("surrogate", kGradient, &text_.surrogate));
    RETURN_IF_ERROR(Replace("gradient", kGradient, &text_.gradient));
    if (!text_.surrogate.ops.empty() && !text_.gradient.ops.empty()) {
      return text_.Error(text_.gradient.lines.front(),
                         "a gradient, and a surrogate that it would be derived from; want one");
    }
    RETURN_IF_ERROR(Replace("update", kNoGradient, &text_.update));
    RETURN_IF_ERROR(Extend("more_update", &text_.update));
    RETURN_IF_ERROR(CheckQuantizes());
    RETURN_IF_ERROR(CheckSurrogate());
    const QuantSpec spec;
    const QuantizerUse use{spec, SlotRole::WEIGHT, std::nullopt, Era::kPaddle2};
    FormulaOps forward(text_, use);
    RETURN_IF_ERROR(forward.Fill(text_.forward).status());
    text_.can_be_per_channel = forward.HasRangesPerChannel();
    text_.is_per_channel = std::any_of(text_.forward.ops.begin(), text_.forward.ops.end(),
                                       [](const OpDesc& op) { return op.type() == kSplitGroups; });
    if (text_.is_per_channel && !text_.can_be_per_channel) {
      return text_.Error(text_.line,
                         "it has groups, which are those of channels, and a range that "
                         "is not found for each channel; reduce to it twice");
    }
    return std::move(text_);
  }

 private:
  // Whether a gradient goes through the ops of a section.
  static constexpr bool kGradient = true;
  static constexpr bool kNoGradient = false;

  void Inherit(const QuantizerText& base) {
    text_ = base;
    std::fill(text_.setting_lines.begin(), text_.setting_lines.end(), item_.line);
    for (QuantizerText::State& state : text_.states) state.line = item_.line;
    for (QuantizerText::Section* section :
         {&text_.initial, &text_.forward, &text_.surrogate, &text_.gradient, &text_.update}) {
      std::fill(section->lines.begin(), section->lines.end(), item_.line);
    }
    for (const QuantizerParameter& setting : base.settings) names_.insert(setting.name);
    for (const QuantizerText::State& state : base.states) names_.insert(state.name);
  }

  absl::Status Replace(const std::string& name, bool has_gradient,
                       QuantizerText::Section* section) const {
    const TextSection* const found = item_.Find(name);
    if (found == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(*section, ReadOps(name, has_gradient));
    // An empty section stands for none in place of that of the text that this one builds on.
    if (!section->ops.empty() || !item_.base.empty()) return absl::OkStatus();
    return text_.Error(found->first_line - 1, absl::StrCat(name, ": has no op; leave it out"));
  }

  // Adds ops, which have no gradient, to a section of the text that this one builds on.
  absl::Status Extend(const std::string& name, QuantizerText::Section* section) const {
    const TextSection* const found = item_.Find(name);
    if (found == nullptr) return absl::OkStatus();
    if (item_.base.empty()) {
      return text_.Error(found->first_line - 1,
                         absl::StrCat(name, ": is for a quantizer that builds on another; want ",
                                      "quantizer ", text_.name, " of NAME"));
    }
    ASSIGN_OR_RETURN(const QuantizerText::Section more, ReadOps(name, kNoGradient));
    section->ops.insert(section->ops.end(), more.ops.begin(), more.ops.end());
    section->lines.insert(section->lines.end(), more.lines.begin(), more.lines.end());
    return absl::OkStatus();
  }

  absl::StatusOr<QuantizerText::Section> ReadSection(const std::string& name) const {
    QuantizerText::Section section;
    const TextSection* const found = item_.Find(name);
    if (found == nullptr) return section;
    ASSIGN_OR_RETURN(ProgramPart part,
                     ParseProgramPart(found->text, text_.file, found->first_line));
    if (!part.var_lines.empty()) {
      return text_.Error(part.var_lines.front(), "a variable; want ops, whose names need none");
    }
    section.ops.assign(part.block.ops().begin(), part.block.ops().end());
    section.lines = std::move(part.op_lines);
    return section;
  }

  // A section whose ops compute.
  absl::StatusOr<QuantizerText::Section> ReadOps(const std::string& name, bool has_gradient) const {
    ASSIGN_OR_RETURN(QuantizerText::Section section, ReadSection(name));
    for (size_t i = 0; i < section.ops.size(); ++i) {
      absl::StatusOr<OpDesc> op = ReadFormulaOp(section.ops[i], has_gradient);
      if (!op.ok()) return text_.Error(section.lines[i], op.status().message());
      section.ops[i] = *std::move(op);
    }
    return section;
  }

  absl::Status ReadSettings() {
    ASSIGN_OR_RETURN(const QuantizerText::Section section, ReadSection("settings"));
    for (size_t i = 0; i < section.ops.size(); ++i) {
      const Declaration declared(text_, section.ops[i], section.lines[i]);
      if (declared.IsOfBits()) {
        RETURN_IF_ERROR(ReadBits(declared));
        continue;
      }
      RETURN_IF_ERROR(
          declared.Check("settings", /*may_be_several=*/false, {"default", "min", "max", "doc"}));
      QuantizerParameter setting;
      setting.name = declared.name();
      setting.reference_has_it = false;
      ASSIGN_OR_RETURN(setting.default_value, declared.Number("default", std::nullopt));
      ASSIGN_OR_RETURN(setting.min, declared.Number("min", std::nullopt));
      ASSIGN_OR_RETURN(setting.max, declared.Number("max", std::nullopt));
      ASSIGN_OR_RETURN(setting.doc, declared.String("doc"));
      if (setting.default_value < setting.min || setting.default_value > setting.max) {
        return declared.Wrong("default is not between min and max");
      }
      if (setting.name == kGroupSize) {
        setting.is_integer = true;
        for (const double size : {setting.min, setting.max, setting.default_value}) {
          if (size == std::floor(size) && size >= 1 && size <= kLargestGroup) continue;
          return declared.Wrong(absl::StrCat("a group has ", size,
                                             " inputs; want integers from 1 to ", kLargestGroup));
        }
      }
      RETURN_IF_ERROR(TakeName(declared));
      text_.settings.push_back(std::move(setting));
      text_.setting_lines.push_back(section.lines[i]);
    }
    return absl::OkStatus();
  }

  // `number() -> (Out=bits) {min=1.0, max=4.0}`: the bits that a spec may ask for.
  absl::Status ReadBits(const Declaration& declared) {
    RETURN_IF_ERROR(declared.CheckAttributes("settings", {"min", "max"}));
    ASSIGN_OR_RETURN(const double least, declared.Number("min", kLeastBits));
    ASSIGN_OR_RETURN(const double most, declared.Number("max", kMostBits));
    if (least != std::floor(least) || most != std::floor(most) || least < 1 || most > kMostBits ||
        least > most) {
      return declared.Wrong(absl::StrCat("they go from ", least, " to ", most,
                                         "; want integers from 1 to ", kMostBits));
    }
    RETURN_IF_ERROR(TakeName(declared));
    text_.least_bits = static_cast<int>(least);
    text_.most_bits = static_cast<int>(most);
    return absl::OkStatus();
  }

  absl::Status ReadStates() {
    ASSIGN_OR_RETURN(const QuantizerText::Section section, ReadSection("states"));
    for (size_t i = 0; i < section.ops.size(); ++i) {
      const Declaration declared(text_, section.ops[i], section.lines[i]);
      RETURN_IF_ERROR(declared.Check("states", /*may_be_several=*/true, {"trained", "initial"}));
      QuantizerText::State state;
      state.name = declared.name();
      state.line = section.lines[i];
      state.extent = declared.extent();
      ASSIGN_OR_RETURN(state.is_trained, declared.Bool("trained"));
      if (FindAttr(section.ops[i], "initial") != nullptr) {
        ASSIGN_OR_RETURN(state.initial_value, declared.Number("initial", std::nullopt));
      }
      RETURN_IF_ERROR(TakeName(declared));
      text_.states.push_back(std::move(state));
    }
    return absl::OkStatus();
  }

  absl::Status TakeName(const Declaration& declared) {
    if (names_.insert(declared.name()).second) return absl::OkStatus();
    return declared.Wrong("the name is given twice");
  }

  absl::Status CheckQuantizes() const {
    int quantize_line = 0;
    for (size_t i = 0; i < text_.forward.ops.size(); ++i) {
      const OpSchema* const schema = FindOpSchema(text_.forward.ops[i].type());
      if (schema == nullptr || schema->quant_op() == QuantOp::kNone) continue;
      if (!QuantizesFormula(text_.forward.ops[i])) {
        return text_.Error(text_.forward.lines[i],
                           absl::StrCat("is ", schema->type(), "; formulas quantize by ",
                                        kQuantizeAtRange, " or ", kQuantizeAffine));
      }
      if (quantize_line != 0) {
        return text_.Error(
            text_.forward.lines[i],
            absl::StrCat("another op that quantizes; the first is on line ", quantize_line));
      }
      quantize_line = text_.forward.lines[i];
    }
    if (quantize_line != 0) return CheckQuantizeOp(text_.forward.ops.back(), quantize_line);
    return text_.Error(
        text_.line, absl::StrCat("no op of forward: quantizes; want one ", kQuantizeAtRange, " or ",
                                 kQuantizeAffine, ", which says what is stored"));
  }

  // Its gradient would be taken for that of the program's op.
  absl::Status CheckSurrogate() const {
    for (size_t i = 0; i < text_.surrogate.ops.size(); ++i) {
      if (!QuantizesFormula(text_.surrogate.ops[i])) continue;
      return text_.Error(text_.surrogate.lines[i],
                         absl::StrCat("surrogate: has ", text_.surrogate.ops[i].type(),
                                      ", whose gradient is that of forward:; want ops that have "
                                      "the gradient, such as clip, or a section gradient:"));
    }
    return absl::OkStatus();
  }

  // What it reads is what is stored, and what it writes is the result.
  absl::Status CheckQuantizeOp(const OpDesc& last, int line) const {
    const auto is_one = [](const auto& slots, absl::string_view slot) {
      const OpDesc::Var* const found = FindSlot(slots, slot);
      return found != nullptr && found->arguments_size() == 1;
    };
    const bool is_affine = last.type() == kQuantizeAffine;
    const bool is_right =
        QuantizesFormula(last) && is_one(last.inputs(), "X") && is_one(last.inputs(), kScaleSlot) &&
        is_one(last.inputs(), kZeroPointSlot) == is_affine &&
        last.inputs_size() == (is_affine ? 3 : 2) && is_one(last.outputs(), "Out") &&
        last.outputs(0).arguments(0) == Quantizer::kResult;
    if (is_right) return absl::OkStatus();
    return text_.Error(
        line, absl::StrCat("want ", is_affine ? kQuantizeAffine : kQuantizeAtRange, "(X=..., ",
                           kScaleSlot, "=...", is_affine ? ", InZeroPoint=..." : "",
                           ") -> (Out=", Quantizer::kResult, ") as the last op of forward:"));
  }

  const TextItem& item_;
  QuantizerText text_;
  absl::flat_hash_set<std::string> names_;
};

}  // namespace

const QuantizerText::State* QuantizerText::FindState(absl::string_view name) const {
  for (const State& state : states) {
    if (state.name == name) return &state;
  }
  return nullptr;
}

absl::Status QuantizerText::Error(int line, absl::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", message));
}

const OpDesc& QuantizeOpOf(const QuantizerText& text) {
  return *std::find_if(text.forward.ops.begin(), text.forward.ops.end(), QuantizesFormula);
}

absl::StatusOr<std::vector<QuantizerText>> ParseQuantizerTexts(absl::string_view text,
                                                               absl::string_view file_name,
                                                               const FindQuantizerText& find) {
  ASSIGN_OR_RETURN(const std::vector<TextItem> items,
                   ParseSectionedText(text, file_name, "quantizer",
                                      {"settings", "states", "initial", "more_initial", "forward",
                                       "surrogate", "gradient", "update", "more_update"},
                                      Bases::kAllowed));
  std::vector<QuantizerText> texts;
  for (const TextItem& item : items) {
    const QuantizerText* base = nullptr;
    if (!item.base.empty()) {
      const auto earlier =
          std::find_if(texts.begin(), texts.end(),
                       [&item](const QuantizerText& other) { return other.name == item.base; });
      base = earlier != texts.end() ? &*earlier : find(item.base);
      if (base == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            file_name, ":", item.line, ": ", item.name, " builds on ", item.base,
            ", which is no quantizer before it in the file, and no built-in one that is a text"));
      }
    }
    ASSIGN_OR_RETURN(QuantizerText read, TextReader(file_name, item, base).Read());
    texts.push_back(std::move(read));
  }
  return texts;
}

}  // namespace fixpoint
