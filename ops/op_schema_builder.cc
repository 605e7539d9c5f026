#include "ops/op_schema_builder.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/infer_rules.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

// One entry of a signature: `name`, `name=source`, with its marks.
struct Entry {
  std::string name;
  std::string source;
  bool list = false;
  bool optional = false;
  bool shape_only = false;
  Eras eras = Eras::kAll;
};

struct Signature {
  std::string type;
  std::vector<Entry> inputs;
  std::vector<Entry> outputs;
};

Eras ConsumeEras(absl::string_view* text) {
  if (absl::ConsumeSuffix(text, "@1")) return Eras::kFluid;
  if (absl::ConsumeSuffix(text, "@2")) return Eras::kPaddle2;
  return Eras::kAll;
}

std::vector<Entry> ParseEntries(absl::string_view text) {
  std::vector<Entry> entries;
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    item = absl::StripAsciiWhitespace(item);
    Entry entry;
    entry.eras = ConsumeEras(&item);
    entry.optional = absl::ConsumeSuffix(&item, "?");
    entry.list = absl::ConsumeSuffix(&item, "*");
    entry.shape_only = absl::ConsumeSuffix(&item, "#");
    const std::vector<std::string> names = absl::StrSplit(item, '=');
    entry.name = names.front();
    entry.source = names.back();
    entries.push_back(std::move(entry));
  }
  return entries;
}

Signature ParseSignature(absl::string_view text) {
  const size_t open = text.find('(');
  const size_t arrow = text.find(") -> (");
  CHECK(open != absl::string_view::npos && arrow != absl::string_view::npos &&
        absl::EndsWith(text, ")"))
      << text;
  Signature signature;
  signature.type = std::string(text.substr(0, open));
  signature.inputs = ParseEntries(text.substr(open + 1, arrow - open - 1));
  text = text.substr(arrow + 6);
  signature.outputs = ParseEntries(text.substr(0, text.size() - 1));
  return signature;
}

std::vector<SlotSchema> SlotsOf(const std::vector<Entry>& entries) {
  std::vector<SlotSchema> slots;
  slots.reserve(entries.size());
  for (const Entry& entry : entries) {
    slots.push_back({entry.name, entry.list, entry.optional, entry.shape_only, entry.eras});
  }
  return slots;
}

const SlotSchema* FindSlot(const std::vector<SlotSchema>& slots, absl::string_view name) {
  for (const SlotSchema& slot : slots) {
    if (slot.name == name) return &slot;
  }
  return nullptr;
}

std::vector<GradientSchema::Slot> GradientSlots(const OpSchema& forward,
                                                const std::vector<Entry>& entries) {
  std::vector<GradientSchema::Slot> slots;
  for (const Entry& entry : entries) {
    absl::string_view source = entry.source;
    GradientSchema::Slot slot;
    slot.name = entry.name;
    slot.is_gradient = absl::ConsumeSuffix(&source, kGradientSuffix);
    slot.source = std::string(source);
    slot.eras = entry.eras;
    slot.optional = entry.optional;
    slot.shape_only = entry.shape_only;
    slot.source_is_output = forward.FindOutput(source, Era::kFluid) != nullptr;
    CHECK(slot.source_is_output || forward.FindInput(source, Era::kFluid) != nullptr)
        << forward.type() << " has no slot " << source;
    slots.push_back(std::move(slot));
  }
  return slots;
}

Eras Both(Eras a, Eras b) { return a == Eras::kAll ? b : a; }

// Adds what a gradient's line declares to the slots of its op.
void AddSlots(const OpSchema& forward, const std::vector<GradientSchema::Slot>& gradient_slots,
              Eras eras, bool outputs, std::vector<SlotSchema>* slots) {
  for (const GradientSchema::Slot& slot : gradient_slots) {
    const SlotSchema* source = slot.source_is_output ? forward.FindOutput(slot.source, Era::kFluid)
                                                     : forward.FindInput(slot.source, Era::kFluid);
    // An unneeded gradient is left out.
    const bool optional = outputs || slot.optional || source->optional;
    if (FindSlot(*slots, slot.name) == nullptr) {
      slots->push_back({slot.name, source->list, optional, slot.shape_only, Both(eras, slot.eras)});
    } else {
      for (SlotSchema& known : *slots) {
        if (known.name == slot.name) known.eras = Eras::kAll;
      }
    }
  }
}

AttrDefault Default(OpDesc::Attr attr) {
  const AttrType type = attr.type();
  return {type, std::move(attr)};
}

AttrSchema MakeAttr(absl::string_view name, AttrDefault value, Eras eras = Eras::kAll) {
  AttrSchema attr{std::string(name), value.type, nullptr, eras};
  if (value.value) {
    value.value->set_name(attr.name);
    attr.default_value = std::make_shared<const OpDesc::Attr>(*std::move(value.value));
  }
  return attr;
}

// The attributes that OpSchemaBuilder::Hints names, with the one default they have everywhere.
const absl::flat_hash_map<std::string, AttrSchema>& HintAttrs() {
  static const auto* const attrs = [] {
    auto* const by_name = new absl::flat_hash_map<std::string, AttrSchema>();
    for (const AttrSchema& attr : std::vector<AttrSchema>{
             MakeAttr("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", Bool(true)),
             MakeAttr("Scale_in", Float(1)),
             MakeAttr("Scale_in_eltwise", Float(1)),
             MakeAttr("Scale_out", Float(1)),
             MakeAttr("Scale_weights", Floats({1})),
             MakeAttr("Scale_x", Float(1)),
             MakeAttr("Scale_y", Float(1)),
             MakeAttr("exhaustive_search", Bool(false)),
             MakeAttr("force_cpu", Bool(false)),
             MakeAttr("force_fp32_output", Bool(false)),
             MakeAttr("is_test", Bool(false)),
             MakeAttr("mkldnn_data_type", String("float32")),
             MakeAttr("skip_eager_deletion_vars", Strings({})),
             MakeAttr("use_addto", Bool(false)),
             MakeAttr("use_cudnn", Bool(false)),
             MakeAttr("use_mkldnn", Bool(false)),
             MakeAttr("use_quantizer", Bool(false)),
             MakeAttr("workspace_size_MB", Int(512)),
             MakeAttr("x_data_format", String("")),
             MakeAttr("y_data_format", String("")),
         }) {
      by_name->emplace(attr.name, attr);
    }
    return by_name;
  }();
  return *attrs;
}

}  // namespace

AttrDefault Int(int32_t value) { return Default(MakeIntAttr("", value)); }
AttrDefault Long(int64_t value) { return Default(MakeLongAttr("", value)); }
AttrDefault Float(float value) { return Default(MakeFloatAttr("", value)); }
AttrDefault Bool(bool value) { return Default(MakeBoolAttr("", value)); }
AttrDefault String(absl::string_view value) { return Default(MakeStringAttr("", value)); }
AttrDefault Ints(const std::vector<int32_t>& values) { return Default(MakeIntsAttr("", values)); }
AttrDefault Longs(const std::vector<int64_t>& values) { return Default(MakeLongsAttr("", values)); }
AttrDefault Floats(const std::vector<float>& values) { return Default(MakeFloatsAttr("", values)); }
AttrDefault Strings(const std::vector<std::string>& values) {
  return Default(MakeStringsAttr("", values));
}

AttrDefault EmptyList(AttrType type) {
  OpDesc::Attr attr;
  attr.set_type(type);
  return Default(std::move(attr));
}

AttrDefault Required(AttrType type) { return {type, std::nullopt}; }

void ClearGradientAttrs(const OpDesc&, Era, std::vector<OpDesc>* gradients) {
  for (OpDesc& op : *gradients) op.clear_attrs();
}

void DropGradientInput(absl::string_view slot, std::vector<OpDesc>* gradients) {
  for (OpDesc& op : *gradients) {
    auto* inputs = op.mutable_inputs();
    inputs->erase(
        std::remove_if(inputs->begin(), inputs->end(),
                       [slot](const OpDesc::Var& input) { return input.parameter() == slot; }),
        inputs->end());
  }
}

OpSchemaBuilder::OpSchemaBuilder(absl::string_view text)
    : traits_(std::make_shared<OpTraits>()), gradient_infer_(InferGradients) {
  schema_.traits_ = traits_;
  const Signature signature = ParseSignature(text);
  schema_.type_ = signature.type;
  schema_.inputs_ = SlotsOf(signature.inputs);
  schema_.outputs_ = SlotsOf(signature.outputs);
  if (!schema_.outputs_.empty()) schema_.take_lod_ = {schema_.outputs_.front().name};
}

OpSchemaBuilder& OpSchemaBuilder::Doc(absl::string_view doc) {
  schema_.doc_ = std::string(doc);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Attr(absl::string_view name, AttrDefault value, Eras eras) {
  schema_.attrs_.push_back(MakeAttr(name, std::move(value), eras));
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Hints(absl::string_view names) {
  for (absl::string_view name : absl::StrSplit(names, ", ")) {
    const Eras eras = ConsumeEras(&name);
    const auto found = HintAttrs().find(name);
    CHECK(found != HintAttrs().end()) << name;
    schema_.attrs_.push_back(found->second);
    schema_.attrs_.back().eras = eras;
  }
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Infer(OpSchema::InferFunction infer) {
  schema_.infer_ = std::move(infer);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::QuantizableInput(absl::string_view slot, SlotRole::Role role) {
  CHECK(FindSlot(schema_.inputs_, slot) != nullptr) << schema_.type_ << " has no input " << slot;
  schema_.quantizable_inputs_.push_back({std::string(slot), role});
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::QuantizableOperands(SlotRole::Role activation,
                                                      SlotRole::Role weight) {
  const std::optional<ProductTrait>& product = traits_->product;
  CHECK(product.has_value()) << schema_.type_ << " is no product";
  return QuantizableInput(product->activation, activation)
      .QuantizableInput(product->weight, weight);
}

OpSchemaBuilder& OpSchemaBuilder::QuantizableOutputs(std::initializer_list<const char*> slots) {
  for (const char* slot : slots) {
    CHECK(FindSlot(schema_.outputs_, slot) != nullptr)
        << schema_.type_ << " has no output " << slot;
    schema_.quantizable_outputs_.emplace_back(slot);
  }
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::KeepsRange() {
  schema_.keeps_range_ = [](const OpAttributes&) { return true; };
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::KeepsRangeIf(OpSchema::TraitFunction keeps_range) {
  schema_.keeps_range_ = std::move(keeps_range);
  schema_.keeps_range_depends_ = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::NeverNegative() {
  schema_.never_negative_ = [](const OpAttributes&) { return true; };
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::NeverNegativeIf(OpSchema::TraitFunction never_negative) {
  schema_.never_negative_ = std::move(never_negative);
  schema_.never_negative_depends_ = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::KeepsSign() {
  schema_.keeps_sign_ = [](const OpAttributes&) { return true; };
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::KeepsSignIf(OpSchema::TraitFunction keeps_sign) {
  schema_.keeps_sign_ = std::move(keeps_sign);
  schema_.keeps_sign_depends_ = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Quantizes(QuantOp quant_op) {
  schema_.quant_op_ = quant_op;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::TakeLod(std::initializer_list<const char*> slots) {
  for (const char* slot : slots) {
    CHECK(FindSlot(schema_.outputs_, slot) != nullptr)
        << schema_.type_ << " has no output " << slot;
  }
  schema_.take_lod_.assign(slots.begin(), slots.end());
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::PoolsSequences() {
  schema_.pools_sequences_ = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::TrainingState(absl::string_view slots) {
  for (absl::string_view text : absl::StrSplit(slots, ", ")) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, "->");
    const StateSlots state{std::string(absl::StripAsciiWhitespace(parts.first)),
                           std::string(absl::StripAsciiWhitespace(parts.second))};
    CHECK(state.input.empty() || FindSlot(schema_.inputs_, state.input) != nullptr)
        << schema_.type_ << " has no input " << state.input;
    CHECK(state.output.empty() || FindSlot(schema_.outputs_, state.output) != nullptr)
        << schema_.type_ << " has no output " << state.output;
    schema_.training_state_.push_back(state);
  }
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Product(ProductTrait product) {
  for (const std::string& slot : {product.activation, product.weight, product.bias}) {
    CHECK(slot.empty() || FindSlot(schema_.inputs_, slot) != nullptr)
        << schema_.type_ << " has no input " << slot;
  }
  CHECK(FindSlot(schema_.outputs_, product.output) != nullptr)
      << schema_.type_ << " has no output " << product.output;
  traits().product = std::move(product);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Sum(SumTrait sum) {
  traits().sum = std::move(sum);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Stage(StageTrait stage) {
  CHECK(FindSlot(schema_.inputs_, stage.input) != nullptr) << schema_.type_;
  CHECK(FindSlot(schema_.outputs_, stage.output) != nullptr) << schema_.type_;
  traits().stage = std::move(stage);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Activates(
    std::function<Activation(const OpAttributes&)> activation) {
  traits().activation = activation;
  IsOfSamples();
  const auto read = [activation = std::move(activation)](const OpAttributes& attributes) {
    return StagesOf(activation(attributes));
  };
  return Stage({"X", "Out", /*normalizes=*/false, read});
}

OpSchemaBuilder& OpSchemaBuilder::JoinsValues() {
  traits().joins_values = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Copies() {
  traits().copies = true;
  return KeepsRange();
}

OpSchemaBuilder& OpSchemaBuilder::Moves(absl::string_view slot) {
  traits().moved = std::string(slot);
  return KeepsRange();
}

OpSchemaBuilder& OpSchemaBuilder::MultipliesElements() {
  traits().multiplies_elements = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::DrawsNumbers() {
  traits().draws_numbers = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::LooksUpRows() {
  traits().looks_up_rows = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::IsOfSamples() {
  traits().is_of_samples = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::ScalesAreSteps() {
  traits().scales_are_steps = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::MultipliesByStepInFluid() {
  traits().multiplies_by_step_in_fluid = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Captures(absl::string_view slot) {
  traits().captures = std::string(slot);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::IsOnIntegers() {
  traits().is_on_integers = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::HasEpilogue() {
  traits().has_epilogue = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::GivesImages() {
  traits().gives_images = true;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::WeightAxis(OpSchema::AxisFunction axis) {
  schema_.weight_axis_ = std::move(axis);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Gradient(absl::string_view text, Eras eras) {
  const Signature signature = ParseSignature(text);
  schema_.gradients_.push_back({signature.type, GradientSlots(schema_, signature.inputs),
                                GradientSlots(schema_, signature.outputs), eras});
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::GradientAttr(absl::string_view name, AttrDefault value) {
  gradient_attrs_.push_back(MakeAttr(name, std::move(value)));
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::GradientBy(OpSchema::GradientFunction gradient) {
  schema_.gradient_ = std::move(gradient);
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::GradientNotKnown() {
  schema_.gradient_known_ = false;
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::GradientInfer(OpSchema::InferFunction infer) {
  gradient_infer_ = std::move(infer);
  return *this;
}

std::vector<OpSchema> OpSchemaBuilder::BuildGradients(
    const absl::flat_hash_set<std::string>& defined) const {
  std::vector<OpSchema> made;
  for (const GradientSchema& gradient : schema_.gradients_) {
    if (defined.contains(gradient.type)) continue;
    if (made.empty() || made.back().type_ != gradient.type) {
      OpSchema& schema = made.emplace_back();
      schema.type_ = gradient.type;
      schema.doc_ = absl::StrCat("Gradient of ", schema_.type_, ".");
      schema.attrs_ = schema_.attrs_;
      schema.attrs_.insert(schema.attrs_.end(), gradient_attrs_.begin(), gradient_attrs_.end());
      schema.infer_ = gradient_infer_;
      schema.gradient_of_ = schema_.type_;
    }
    AddSlots(schema_, gradient.inputs, gradient.eras, /*outputs=*/false, &made.back().inputs_);
    AddSlots(schema_, gradient.outputs, gradient.eras, /*outputs=*/true, &made.back().outputs_);
  }
  return made;
}

std::vector<OpSchema> OpList::Build() {
  absl::flat_hash_set<std::string> defined;
  for (const OpSchemaBuilder& builder : builders_) defined.insert(builder.schema_.type());
  std::vector<OpSchema> gradients;
  absl::flat_hash_map<std::string, size_t> places;  // in `gradients`
  for (const OpSchemaBuilder& builder : builders_) {
    for (OpSchema& gradient : builder.BuildGradients(defined)) {
      const auto [known, is_new] = places.emplace(gradient.type(), gradients.size());
      if (is_new) {
        gradients.push_back(std::move(gradient));
      } else {
        gradients[known->second].gradient_of_.clear();
      }
    }
  }
  std::vector<OpSchema> schemas;
  schemas.reserve(builders_.size() + gradients.size());
  for (OpSchemaBuilder& builder : builders_) schemas.push_back(std::move(builder.schema_));
  std::move(gradients.begin(), gradients.end(), std::back_inserter(schemas));
  builders_.clear();
  return schemas;
}

}  // namespace fixpoint
