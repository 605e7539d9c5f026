#include "ops/written_op.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "proto/program/slots.h"
#include "proto/program/type_names.h"

namespace fixpoint {
namespace {

template <typename... Parts>
absl::Status Error(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

// Nothing if one of them is beyond int32.
std::optional<std::vector<int32_t>> Narrow(const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow;
  for (const int64_t value : values) {
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      return std::nullopt;
    }
    narrow.push_back(static_cast<int32_t>(value));
  }
  return narrow;
}

std::optional<OpDesc::Attr> AsInteger(const OpDesc::Attr& attr, AttrType type) {
  const std::optional<int64_t> value = IntValue(attr);
  if (!value) return std::nullopt;
  if (type == AttrType::LONG) return MakeLongAttr(attr.name(), *value);
  const auto narrow = Narrow({*value});
  if (!narrow) return std::nullopt;
  return MakeIntAttr(attr.name(), narrow->front());
}

std::optional<OpDesc::Attr> AsFloat(const OpDesc::Attr& attr, AttrType type) {
  const std::optional<double> value = FloatValue(attr);
  if (!value) return std::nullopt;
  OpDesc::Attr number = MakeFloatAttr(attr.name(), static_cast<float>(*value));
  if (type == AttrType::FLOAT64) {
    number.clear_f();
    number.set_type(type);
    number.set_float64(*value);
  }
  return number;
}

std::optional<OpDesc::Attr> AsIntegers(const OpDesc::Attr& attr, AttrType type) {
  const auto values = IntsValue(attr);
  if (!values) return std::nullopt;
  if (type == AttrType::LONGS) return MakeLongsAttr(attr.name(), *values);
  const auto narrow = Narrow(*values);
  if (!narrow) return std::nullopt;
  return MakeIntsAttr(attr.name(), *narrow);
}

std::optional<OpDesc::Attr> AsFloats(const OpDesc::Attr& attr, AttrType type) {
  const auto values = FloatsValue(attr);
  if (!values) return std::nullopt;
  OpDesc::Attr numbers =
      MakeFloatsAttr(attr.name(), std::vector<float>(values->begin(), values->end()));
  if (type == AttrType::FLOAT64S) {
    numbers.clear_floats();
    numbers.set_type(type);
    numbers.mutable_float64s()->Add(values->begin(), values->end());
  }
  return numbers;
}

// The attribute with the type of the schema; nothing if it is of another kind.
std::optional<OpDesc::Attr> AsType(const OpDesc::Attr& attr, AttrType type) {
  if (attr.type() == type) return attr;
  switch (type) {
    case AttrType::INT:
    case AttrType::LONG:
      return AsInteger(attr, type);
    case AttrType::FLOAT:
    case AttrType::FLOAT64:
      return AsFloat(attr, type);
    case AttrType::INTS:
    case AttrType::LONGS:
      return AsIntegers(attr, type);
    case AttrType::FLOATS:
    case AttrType::FLOAT64S:
      return AsFloats(attr, type);
    default:
      return std::nullopt;
  }
}

class OpReader {
 public:
  OpReader(const OpDesc& op, const OpSchema& schema, Era era, const WrittenForm& form)
      : op_(op), schema_(schema), era_(era), form_(form) {}

  absl::Status CheckSlots(bool is_output) const {
    const char* const kind = is_output ? "output" : "input";
    const auto& slots = is_output ? op_.outputs() : op_.inputs();
    const auto known = is_output ? schema_.outputs() : schema_.inputs();
    for (const OpDesc::Var& slot : slots) {
      const SlotSchema* const found = is_output ? schema_.FindOutput(slot.parameter(), era_)
                                                : schema_.FindInput(slot.parameter(), era_);
      if (found == nullptr) return Unknown(kind, slot.parameter(), NamesOf(known));
      if (FindSlot(slots, slot.parameter()) != &slot) {
        return Error("slot ", slot.parameter(), " is given twice; want it once");
      }
      if (!found->list && slot.arguments_size() > 1) {
        return Error(kind, " ", slot.parameter(), " of ", op_.type(), " has ",
                     slot.arguments_size(), " arguments; want one");
      }
      for (const std::string& name : slot.arguments()) {
        if (name != kEmptyArgument) continue;
        return Error(kEmptyArgument, " in ", slot.parameter(),
                     "; leave out the slot that must be empty");
      }
    }
    if (is_output && form_.leaves_out_outputs) return absl::OkStatus();
    for (const SlotSchema& slot : known) {
      if (slot.optional || slot.eras != Eras::kAll) continue;
      const OpDesc::Var* const found = FindSlot(slots, slot.name);
      if (found != nullptr && found->arguments_size() > 0) continue;
      return Error(op_.type(), " has no ", kind, " ", slot.name, " here; want ", slot.name,
                   "=NAME");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<OpDesc::Attr> ReadAttribute(const OpDesc::Attr& attr) const {
    const AttrSchema* const known = schema_.FindAttr(attr.name(), era_);
    if (known == nullptr) return Unknown("attribute", attr.name(), NamesOf(schema_.attrs()));
    if (FindAttr(op_, attr.name()) != &attr) {
      return Error("attribute ", attr.name(), " is given twice; want it once");
    }
    if (known->type == AttrType::BLOCK || known->type == AttrType::BLOCKS) {
      return Error("attribute ", attr.name(), " names a block; want ops that run none");
    }
    if (StandsForNumber(attr)) return attr;
    const bool is_sum = form_.computes_numbers && attr.type() == AttrType::STRING;
    if (is_sum && IsNumber(known->type)) return attr;
    std::optional<OpDesc::Attr> read = AsType(attr, known->type);
    if (read) return *std::move(read);
    return Error("attribute ", attr.name(), " of ", op_.type(), " is of type ",
                 AttrTypeName(known->type), "; got ", AttrTypeName(attr.type()));
  }

 private:
  absl::Status Unknown(absl::string_view what, absl::string_view name,
                       const std::vector<std::string>& known) const {
    return Error(op_.type(), " has no ", what, " ", name, OfferNames(name, known));
  }

  const OpDesc& op_;
  const OpSchema& schema_;
  const Era era_;
  const WrittenForm form_;
};

}  // namespace

bool IsNumber(AttrType type) {
  return type == AttrType::INT || type == AttrType::LONG || type == AttrType::FLOAT ||
         type == AttrType::FLOAT64;
}

bool StandsForNumber(const OpDesc::Attr& attr) {
  return attr.type() == AttrType::STRING && absl::StartsWith(attr.s(), "$");
}

absl::StatusOr<OpDesc> ReadWrittenOp(const OpDesc& op, Era era, const WrittenForm& form) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr) {
    std::vector<std::string> types;
    for (const OpSchema* known : AllOpSchemas()) types.push_back(known->type());
    return Error("there is no op ", op.type(), DidYouMean(op.type(), types));
  }
  if (!schema->traits().captures.empty()) {
    return Error(op.type(), " runs a block; want ops that do not");
  }
  const OpReader reader(op, *schema, era, form);
  for (const bool is_output : {false, true}) {
    RETURN_IF_ERROR(reader.CheckSlots(is_output));
  }
  OpDesc read = op;
  for (int i = 0; i < op.attrs_size(); ++i) {
    ASSIGN_OR_RETURN(*read.mutable_attrs(i), reader.ReadAttribute(op.attrs(i)));
  }
  return read;
}

absl::Status CheckGivenAttributes(const OpDesc& op) {
  for (const AttrSchema& attr : FindOpSchema(op.type())->attrs()) {
    if (attr.default_value != nullptr || attr.eras != Eras::kAll) continue;
    if (FindAttr(op, attr.name) != nullptr) continue;
    return Error(op.type(), " has no attribute ", attr.name,
                 " here, which has no default; give it");
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
