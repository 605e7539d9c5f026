#include "transpiler/patterns/attribute_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/written_op.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "transpiler/patterns/pattern_checks.h"
#include "transpiler/patterns/pattern_sum.h"

namespace fixpoint {
namespace {

template <typename... Parts>
absl::Status Error(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// "$c": letters, digits and "_", so that a sum can name it.
bool IsVariable(absl::string_view text) {
  return text.size() > 1 && text[0] == '$' && std::all_of(text.begin() + 1, text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_';
         });
}

bool IsInteger(AttrType type) { return type == AttrType::INT || type == AttrType::LONG; }

}  // namespace

absl::Status AttributeReader::Read(const OpDesc& desc, bool is_after, absl::string_view place,
                                   std::vector<PatternAttribute>* attributes) {
  for (const OpDesc::Attr& attr : desc.attrs()) {
    PatternAttribute one;
    one.name = attr.name();
    one.value = attr;
    if (attr.type() == AttrType::STRING) {
      RETURN_IF_ERROR(is_after ? ReadComputed(desc.type(), place, &one) : ReadBound(place, &one));
    }
    attributes->push_back(std::move(one));
  }
  return absl::OkStatus();
}

absl::Status AttributeReader::ReadBound(absl::string_view place, PatternAttribute* attribute) {
  const std::string& text = attribute->value.s();
  if (!absl::StartsWith(text, "$")) return absl::OkStatus();
  if (!IsVariable(text)) {
    return Error(place, "attribute ", attribute->name, " is \"", text,
                 "\"; want \"$NAME\", of letters, digits and _, and where: for what it has to be");
  }
  std::vector<std::string>& variables = pattern_.variables;
  const auto known = std::find(variables.begin(), variables.end(), text);
  attribute->variable = static_cast<int>(known - variables.begin());
  if (known == variables.end()) variables.push_back(text);
  return absl::OkStatus();
}

absl::Status AttributeReader::ReadComputed(absl::string_view op_type, absl::string_view place,
                                           PatternAttribute* attribute) const {
  const std::string& text = attribute->value.s();
  if (IsVariable(text)) {
    const std::optional<SumNames::Attribute> known = Find(text);
    if (!known) {
      return Error(place, "no attribute of `before` is \"", text,
                   "\"; give it there, or a value here");
    }
    attribute->variable = known->variable;
    return absl::OkStatus();
  }
  const std::optional<AttrType> type = TypeOfAttribute(op_type, attribute->name);
  if (!type || !IsNumber(*type)) {
    if (!type || !absl::StartsWith(text, "$")) return absl::OkStatus();
    return Error(place, "attribute ", attribute->name, " is \"", text, "\", and of type ",
                 AttrTypeName(*type), "; want \"$NAME\" of `before`: numbers are computed");
  }
  const std::string named = absl::StrCat(place, "attribute ", attribute->name, ", \"", text, "\"");
  ASSIGN_OR_RETURN(PatternSum sum, ParseSum(text, absl::StrCat(named, ", "), Names()));
  if (sum.whole().type != SumTerm::Type::kNumber) {
    return Error(named, ", is ", TypeOfTerm(sum.whole().type), "; want a number");
  }
  if (sum.whole().is_float && IsInteger(*type)) {
    return Error(named, ", is a float; want an integer");
  }
  attribute->sum = std::move(sum);
  attribute->type = *type;
  return absl::OkStatus();
}

absl::Status AttributeReader::NoteTypes(const PatternOp& op, absl::string_view place) {
  for (const PatternAttribute& attribute : op.attributes) {
    if (attribute.variable < 0) continue;
    const AttrType type = *TypeOfAttribute(op.type, attribute.name);
    // Variables are numbered in the order of the attributes that have them.
    const size_t variable = attribute.variable;
    if (variable == types_.size()) types_.push_back(type);
    if (types_[variable] != type) {
      return Error(place, "\"", pattern_.variables[variable], "\" is of type ",
                   AttrTypeName(types_[variable]), ", and attribute ", attribute.name, " of type ",
                   AttrTypeName(type), "; want one type");
    }
  }
  return absl::OkStatus();
}

SumNames AttributeReader::Names() const {
  SumNames names;
  names.attribute = [this](absl::string_view name) { return Find(name); };
  names.value = [this](absl::string_view name) -> std::optional<int> {
    const std::vector<PatternValue>& values = pattern_.values;
    const auto known =
        std::find_if(values.begin(), values.end(), [name](const PatternValue& value) {
          return value.name == name && value.kind != PatternValue::Kind::kMade;
        });
    if (known == values.end()) return std::nullopt;
    return static_cast<int>(known - values.begin());
  };
  return names;
}

std::optional<SumNames::Attribute> AttributeReader::Find(absl::string_view variable) const {
  const std::vector<std::string>& variables = pattern_.variables;
  const auto known = std::find(variables.begin(), variables.end(), variable);
  if (known == variables.end()) return std::nullopt;
  const int index = static_cast<int>(known - variables.begin());
  return SumNames::Attribute{index, types_[index]};
}

}  // namespace fixpoint
