#include "ops/op_schema.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

// Prefers an entry of `era` to one of the other.
template <typename Entry>
const Entry* FindEntry(const std::vector<Entry>& entries, absl::string_view name, Era era) {
  const Entry* of_other_era = nullptr;
  for (const Entry& entry : entries) {
    if (entry.name != name) continue;
    if (Includes(entry.eras, era)) return &entry;
    of_other_era = &entry;
  }
  return of_other_era;
}

class Registry {
 public:
  Registry() {
    ForEachFamily([this](std::vector<OpSchema> family) { Add(std::move(family)); });
  }

  void Add(std::vector<OpSchema> family) {
    families_.push_back(std::make_unique<const std::vector<OpSchema>>(std::move(family)));
    for (const OpSchema& schema : *families_.back()) {
      CHECK(by_type_.emplace(schema.type(), &schema).second)
          << schema.type() << " is defined twice";
    }
  }

  const OpSchema* Find(absl::string_view type) const {
    const auto found = by_type_.find(type);
    return found != by_type_.end() ? found->second : nullptr;
  }

  std::vector<const OpSchema*> All() const {
    std::vector<const OpSchema*> all;
    for (const auto& [type, schema] : by_type_) all.push_back(schema);
    std::sort(all.begin(), all.end(),
              [](const OpSchema* a, const OpSchema* b) { return a->type() < b->type(); });
    return all;
  }

 private:
  // Handles of schemas stay as they are when others are added.
  std::vector<std::unique_ptr<const std::vector<OpSchema>>> families_;
  absl::flat_hash_map<absl::string_view, const OpSchema*> by_type_;
};

Registry& GetRegistry() {
  static Registry* const registry = new Registry();
  return *registry;
}

// Whether an op has a trait.
bool Has(const OpSchema::TraitFunction& trait, bool depends, const OpDesc& op,
         const OpSchema& schema, Era era) {
  if (trait == nullptr || !depends) return trait != nullptr;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op, schema, era);
  return attributes && trait(*attributes);
}

// Fills a slot of a gradient op from the forward op's arguments.
void AddGradientSlot(const GradientSchema::Slot& slot, const OpDesc& forward,
                     google::protobuf::RepeatedPtrField<OpDesc::Var>* slots) {
  OpDesc::Var* made = slots->Add();
  made->set_parameter(slot.name);
  const OpDesc::Var* source =
      FindSlot(slot.source_is_output ? forward.outputs() : forward.inputs(), slot.source);
  if (source == nullptr) return;
  for (const std::string& argument : source->arguments()) {
    made->add_arguments(slot.is_gradient && argument != kEmptyArgument
                            ? absl::StrCat(argument, kGradientSuffix)
                            : argument);
  }
}

OpDesc MakeGradientOp(const GradientSchema& gradient, const OpDesc& forward, Era era) {
  OpDesc op;
  op.set_type(gradient.type);
  for (const GradientSchema::Slot& slot : gradient.inputs) {
    if (Includes(slot.eras, era)) AddGradientSlot(slot, forward, op.mutable_inputs());
  }
  for (const GradientSchema::Slot& slot : gradient.outputs) {
    if (Includes(slot.eras, era)) AddGradientSlot(slot, forward, op.mutable_outputs());
  }
  // The reference writes slots by name.
  const auto by_name = [](const OpDesc::Var& a, const OpDesc::Var& b) {
    return a.parameter() < b.parameter();
  };
  std::sort(op.mutable_inputs()->begin(), op.mutable_inputs()->end(), by_name);
  std::sort(op.mutable_outputs()->begin(), op.mutable_outputs()->end(), by_name);
  return op;
}

// Copies the forward op's attributes: op_role and op_role_var are the gradient op's own.
void CopyAttrs(const OpDesc& forward, OpDesc* gradient) {
  for (const OpDesc::Attr& attr : forward.attrs()) {
    if (attr.name() == "op_role") continue;
    *gradient->add_attrs() =
        attr.name() == "op_role_var" ? MakeStringsAttr("op_role_var", {}) : attr;
  }
}

}  // namespace

OpSchema::OpSchema() : traits_(std::make_shared<const OpTraits>()) {}

bool OpSchema::KeepsRange(const OpDesc& op, Era era) const {
  return Has(keeps_range_, keeps_range_depends_, op, *this, era);
}

bool OpSchema::NeverNegative(const OpDesc& op, Era era) const {
  return Has(never_negative_, never_negative_depends_, op, *this, era);
}

bool OpSchema::KeepsSign(const OpDesc& op, Era era) const {
  return Has(keeps_sign_, keeps_sign_depends_, op, *this, era);
}

const SlotSchema* OpSchema::FindInput(absl::string_view name, Era era) const {
  return FindEntry(inputs_, name, era);
}

const SlotSchema* OpSchema::FindOutput(absl::string_view name, Era era) const {
  return FindEntry(outputs_, name, era);
}

const AttrSchema* OpSchema::FindAttr(absl::string_view name, Era era) const {
  return FindEntry(attrs_, name, era);
}

bool OpSchema::TakesLod(absl::string_view output_slot) const {
  return absl::EndsWith(output_slot, kGradientSuffix) ||
         std::find(take_lod_.begin(), take_lod_.end(), output_slot) != take_lod_.end();
}

std::optional<int> OpSchema::WeightAxis(const Op& op, absl::string_view slot, Era era) const {
  if (weight_axis_ == nullptr && !traits_->product) return std::nullopt;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), *this, era);
  if (!attributes) return std::nullopt;
  return weight_axis_ != nullptr ? weight_axis_(op, slot)
                                 : traits_->product->WeightAxis(op, *attributes, slot);
}

std::vector<OpDesc> OpSchema::MakeGradient(const OpDesc& forward, Era era) const {
  std::vector<OpDesc> made;
  for (const GradientSchema& gradient : gradients_) {
    if (!Includes(gradient.eras, era)) continue;
    made.push_back(MakeGradientOp(gradient, forward, era));
    CopyAttrs(forward, &made.back());
  }
  if (gradient_ != nullptr) gradient_(forward, era, &made);
  for (OpDesc& op : made) *op.add_attrs() = MakeIntAttr("op_role", kBackward);
  return made;
}

const AttrSchema* FindCommonAttr(absl::string_view name) {
  const auto with_default = [](OpDesc::Attr value, Eras eras = Eras::kAll) {
    const auto shared = std::make_shared<const OpDesc::Attr>(std::move(value));
    return AttrSchema{shared->name(), shared->type(), shared, eras};
  };
  static const auto* const attrs = new std::vector<AttrSchema>({
      with_default(MakeIntAttr("op_role", kUnspecified)),
      with_default(MakeStringsAttr("op_role_var", {})),
      with_default(MakeStringAttr("op_namescope", "")),
      with_default(MakeStringsAttr("op_callstack", {})),
      with_default(MakeStringAttr("op_device", "")),
      {kTestFromStepAttr, LONG, nullptr},
      with_default(MakeBoolAttr("with_quant_attr", false), Eras::kPaddle2),
  });
  return FindEntry(*attrs, name, Era::kPaddle2);
}

const OpSchema* FindOpSchema(absl::string_view type) { return GetRegistry().Find(type); }

void AddOpSchemas(std::vector<OpSchema> schemas) { GetRegistry().Add(std::move(schemas)); }

QuantOp QuantOpOf(const Op& op) {
  const OpSchema* schema = FindOpSchema(op.type());
  return schema != nullptr ? schema->quant_op() : QuantOp::kNone;
}

std::vector<const OpSchema*> AllOpSchemas() { return GetRegistry().All(); }

const OpDesc::Attr* OpSchema::DefaultOf(absl::string_view name, Era era) const {
  const AttrSchema* attr = FindCommonAttr(name);
  if (attr != nullptr && !Includes(attr->eras, era)) return nullptr;
  if (attr == nullptr) attr = FindAttr(name, era);
  return attr != nullptr ? attr->default_value.get() : nullptr;
}

const OpDesc::Attr* OpSchema::AttrOf(const OpDesc& op, absl::string_view name, Era era) const {
  const OpDesc::Attr* const given = fixpoint::FindAttr(op, name);
  return given != nullptr ? given : DefaultOf(name, era);
}

const OpDesc::Attr* AttrOrDefault(const OpDesc& op, absl::string_view name, Era era) {
  static const OpSchema* const no_schema = new OpSchema();
  const OpSchema* schema = FindOpSchema(op.type());
  return (schema != nullptr ? schema : no_schema)->AttrOf(op, name, era);
}

void CompleteAttrs(Era era, OpDesc* op) {
  const OpSchema* schema = FindOpSchema(op->type());
  if (schema == nullptr) return;
  const auto add = [op](const OpDesc::Attr& attr) {
    if (FindAttr(*op, attr.name()) == nullptr) *op->add_attrs() = attr;
  };
  for (const AttrSchema& attr : schema->attrs()) {
    if (!Includes(attr.eras, era) || !attr.default_value) continue;
    add(*attr.default_value);
  }
  for (const char* name : {"op_role_var", "op_namescope", "op_device", "with_quant_attr"}) {
    const AttrSchema& attr = *FindCommonAttr(name);
    if (!Includes(attr.eras, era)) continue;
    // Absent, it is the empty name; the reference's Python names the root.
    add(attr.name == "op_namescope" ? MakeStringAttr(attr.name, "/") : *attr.default_value);
  }
}

}  // namespace fixpoint
