#include "ops/op_form.h"

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "proto/program/role_variables.h"
#include "proto/program/type_names.h"

namespace fixpoint {
namespace {

// Whether a typed reader of OpAttributes reads the attribute; attributes of other types are never
// read.
bool IsReadable(const OpDesc::Attr& attr, AttrType type) {
  switch (type) {
    case AttrType::INT:
    case AttrType::LONG:
      return IntValue(attr).has_value();
    case AttrType::FLOAT:
    case AttrType::FLOAT64:
      return FloatValue(attr).has_value();
    case AttrType::BOOLEAN:
      return BoolValue(attr).has_value();
    case AttrType::STRING:
      return StringValue(attr).has_value();
    case AttrType::INTS:
    case AttrType::LONGS:
      return IntsValue(attr).has_value();
    case AttrType::FLOATS:
    case AttrType::FLOAT64S:
      return FloatsValue(attr).has_value();
    default:
      return true;
  }
}

// An attribute, or the default that its absence means; null if it is required and missing.
const OpDesc::Attr* Effective(const OpDesc& op, const AttrSchema& attr) {
  const OpDesc::Attr* found = FindAttr(op, attr.name);
  if (found != nullptr) return found;
  return attr.default_value ? &*attr.default_value : nullptr;
}

absl::Status CheckSlots(const Op& op, absl::Span<const SlotSchema> slots, Era era) {
  for (const SlotSchema& slot : slots) {
    const auto arguments = op.Inputs(slot.name);
    if (slot.list) continue;
    if (arguments.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", slot.name, " has ", arguments.size(), " arguments; want one"));
    }
    const bool is_there = !arguments.empty() && arguments[0]->variable() != nullptr;
    if (!is_there && !slot.optional && Includes(slot.eras, era)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", slot.name, " is absent; want a variable"));
    }
  }
  return absl::OkStatus();
}

// No kernel reads or writes a slot that the op type has in no era.
absl::Status CheckNoUnknownSlots(const Op& op, const OpSchema& schema, Era era) {
  const auto unknown = [](absl::string_view kind, const Argument& argument) {
    return absl::InvalidArgumentError(absl::StrCat("the op has no ", kind, " ",
                                                   argument.slot_name(), "; want no \"",
                                                   argument.name(), "\" there"));
  };
  for (const Argument* input : op.inputs()) {
    const absl::string_view slot = input->slot_name();
    if (schema.FindInput(slot, era) == nullptr && !IsStepCounter(op, slot)) {
      return unknown("input", *input);
    }
  }
  for (const Argument* output : op.outputs()) {
    if (schema.FindOutput(output->slot_name(), era) == nullptr) return unknown("output", *output);
  }
  return absl::OkStatus();
}

// `fuse_relu is true` for an attribute that declares the work of other ops; nothing for any other.
// Parameters beside it, such as fuse_alpha, declare none.
std::optional<std::string> FusedText(const OpDesc::Attr& attr) {
  if (!absl::StartsWith(attr.name(), "fuse")) return std::nullopt;
  if (const auto text = StringValue(attr); text && !text->empty()) {
    return absl::StrCat(attr.name(), " is \"", *text, "\"");
  }
  if (attr.type() == AttrType::BOOLEAN && BoolValue(attr).value_or(false)) {
    return absl::StrCat(attr.name(), " is true");
  }
  if (const auto list = IntsValue(attr); list && !list->empty()) {
    return absl::StrCat(attr.name(), " is [", absl::StrJoin(*list, ", "), "]");
  }
  return std::nullopt;
}

bool IsElementType(int64_t type) {
  switch (type) {
    case VarType::BOOL:
    case VarType::INT8:
    case VarType::UINT8:
    case VarType::INT16:
    case VarType::INT32:
    case VarType::INT64:
    case VarType::SIZE_T:
    case VarType::FP32:
    case VarType::FP64:
      return true;
    default:
      return false;
  }
}

absl::Status CheckAttributes(const OpDesc& op, const OpSchema& schema, Era era) {
  for (const AttrSchema& attr : schema.attrs()) {
    // For an attribute that differs between eras, the entry that the schema's FindAttr returns.
    if (schema.FindAttr(attr.name, era) != &attr) continue;
    const OpDesc::Attr* value = Effective(op, attr);
    if (value == nullptr && !Includes(attr.eras, era)) continue;
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", attr.name, " is absent; want ", AttrTypeName(attr.type)));
    }
    if (value->type() == AttrType::VAR || value->type() == AttrType::VARS) {
      return absl::UnimplementedError(absl::StrCat(
          "attribute ", attr.name, " comes from a variable; want ", AttrTypeName(attr.type)));
    }
    if (!IsReadable(*value, attr.type)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attr.name, " is ",
                                                     AttrTypeName(value->type()), "; want ",
                                                     AttrTypeName(attr.type)));
    }
  }
  return absl::OkStatus();
}

// An attribute that every op may carry, or its default.
const OpDesc::Attr& CommonAttr(const OpDesc& op, absl::string_view name) {
  return *CHECK_NOTNULL(Effective(op, *CHECK_NOTNULL(FindCommonAttr(name))));
}

}  // namespace

bool IsStepCounter(const Op& op, absl::string_view input_slot) {
  return input_slot == kStepSlot && op.FindAttr(kTestFromStepAttr) != nullptr;
}

absl::Status CheckForm(const Op& op, const OpSchema& schema, Era era) {
  RETURN_IF_ERROR(CheckSlots(op, schema.inputs(), era));
  RETURN_IF_ERROR(CheckNoUnknownSlots(op, schema, era));
  RETURN_IF_ERROR(CheckAttributes(op.desc(), schema, era));
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    const std::optional<std::string> fused = FusedText(attr);
    if (fused && schema.FindAttr(attr.name(), era) == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "attribute ", *fused, ", which nothing here computes; want that as an op of its own"));
    }
  }
  return absl::OkStatus();
}

std::optional<std::string> FindFusedAttribute(const OpDesc& op) {
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (std::optional<std::string> fused = FusedText(attr); fused) return fused;
  }
  return std::nullopt;
}

std::optional<bool> IsTest(const OpDesc& op, Era era) {
  const OpDesc::Attr* const is_test = AttrOrDefault(op, kIsTest, era);
  return is_test != nullptr ? BoolValue(*is_test) : std::nullopt;
}

std::vector<std::string> RoleVariables(const OpDesc& op) {
  return StringsValue(CommonAttr(op, kRoleVarAttr)).value_or(std::vector<std::string>());
}

std::string NameScope(const OpDesc& op) {
  return StringValue(CommonAttr(op, "op_namescope")).value_or("");
}

std::optional<OpAttributes> OpAttributes::Of(const OpDesc& op, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr ? Of(op, *schema, era) : std::nullopt;
}

std::optional<OpAttributes> OpAttributes::Of(const OpDesc& op, const OpSchema& schema, Era era) {
  if (!CheckAttributes(op, schema, era).ok()) return std::nullopt;
  return OpAttributes(op, schema, era);
}

OpAttributes::OpAttributes(const Op& op, const OpSchema& schema, Era era)
    : OpAttributes(op.desc(), schema, era) {}

const OpDesc::Attr& OpAttributes::Attr(absl::string_view name) const {
  const AttrSchema* attr = schema_.FindAttr(name, era_);
  CHECK(attr != nullptr) << op_.type() << " has no attribute " << name;
  return *CHECK_NOTNULL(Effective(op_, *attr));
}

bool OpAttributes::IsGiven(absl::string_view name) const { return FindAttr(op_, name) != nullptr; }

int64_t OpAttributes::Int(absl::string_view name) const { return IntValue(Attr(name)).value(); }
double OpAttributes::Float(absl::string_view name) const { return FloatValue(Attr(name)).value(); }
bool OpAttributes::Bool(absl::string_view name) const { return BoolValue(Attr(name)).value(); }
std::string OpAttributes::String(absl::string_view name) const {
  return StringValue(Attr(name)).value();
}
std::vector<int64_t> OpAttributes::Ints(absl::string_view name) const {
  return IntsValue(Attr(name)).value();
}
std::vector<double> OpAttributes::Floats(absl::string_view name) const {
  return FloatsValue(Attr(name)).value();
}

absl::StatusOr<VarType::Type> OpAttributes::DataType(absl::string_view name) const {
  const int64_t value = Int(name);
  if (!IsElementType(value)) {
    return absl::UnimplementedError(
        absl::StrCat(name, " is ", value, "; want bool, an integer, f32 (5) or f64 (6)"));
  }
  return static_cast<VarType::Type>(value);
}

}  // namespace fixpoint
