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
#include "ops/op_signature.h"

namespace fixpoint {
namespace {

const SlotSchema* FindSlot(const std::vector<SlotSchema>& slots, absl::string_view name) {
  for (const SlotSchema& slot : slots) {
    if (slot.name == name) return &slot;
  }
  return nullptr;
}

std::vector<GradientSchema::Slot> GradientSlots(const OpSchema& forward,
                                                const std::vector<OpSignature::Slot>& written) {
  std::vector<GradientSchema::Slot> slots;
  for (const OpSignature::Slot& entry : written) {
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

}  // namespace

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
  const OpSignature signature = ParseOpSignature(text);
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
    schema_.attrs_.push_back(HintAttr(name));
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

OpSchemaBuilder& OpSchemaBuilder::JoinsValues(std::initializer_list<const char*> slots) {
  return JoinsValuesIf(slots, [](const OpAttributes&) { return true; });
}

OpSchemaBuilder& OpSchemaBuilder::JoinsValuesIf(std::initializer_list<const char*> slots,
                                                OpSchema::TraitFunction joins_values) {
  traits().joins_values = std::move(joins_values);
  traits().moved.assign(slots.begin(), slots.end());
  return *this;
}

OpSchemaBuilder& OpSchemaBuilder::Copies() {
  traits().copies = true;
  return KeepsRange();
}

OpSchemaBuilder& OpSchemaBuilder::Moves(absl::string_view slot) {
  traits().moved = {std::string(slot)};
  return KeepsRange();
}

OpSchemaBuilder& OpSchemaBuilder::MovesTo(std::initializer_list<const char*> slots) {
  traits().moved_to.assign(slots.begin(), slots.end());
  return KeepsRange();
}

OpSchemaBuilder& OpSchemaBuilder::FillsWith(absl::string_view attribute) {
  traits().filling = std::string(attribute);
  return *this;
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
  const OpSignature signature = ParseOpSignature(text);
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
