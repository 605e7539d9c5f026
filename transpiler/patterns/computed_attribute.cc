#include "transpiler/patterns/computed_attribute.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "transpiler/patterns/sum_values.h"

namespace fixpoint {
namespace {

// A double beyond it stands for several integers.
constexpr double kMostExact = 9007199254740992.0;

std::optional<int64_t> IntegerOf(const TermValue& value) {
  if (value.is_integer) return value.integer;
  if (std::abs(value.number) < kMostExact && std::trunc(value.number) == value.number) {
    return static_cast<int64_t>(value.number);
  }
  return std::nullopt;
}

// Sets the attribute's value. What it would have to be, if it cannot be that.
const char* Set(const TermValue& value, OpDesc::Attr* attr) {
  switch (attr->type()) {
    case AttrType::INT: {
      constexpr const char* kWanted = "an integer of 32 bits";
      const std::optional<int64_t> integer = IntegerOf(value);
      if (!integer || *integer < std::numeric_limits<int32_t>::min() ||
          *integer > std::numeric_limits<int32_t>::max()) {
        return kWanted;
      }
      attr->set_i(static_cast<int32_t>(*integer));
      return nullptr;
    }
    case AttrType::LONG: {
      const std::optional<int64_t> integer = IntegerOf(value);
      if (!integer) return "an integer of 64 bits";
      attr->set_l(*integer);
      return nullptr;
    }
    case AttrType::FLOAT:
      // NaN is not comparable.
      if (!(std::abs(value.number) <= std::numeric_limits<float>::max())) return "a finite float";
      attr->set_f(AsFloat(value));
      return nullptr;
    default:
      if (!std::isfinite(value.number)) return "a finite double";
      attr->set_float64(value.number);
      return nullptr;
  }
}

}  // namespace

std::variant<OpDesc::Attr, std::string> ComputedAttribute(const PatternAttribute& attribute,
                                                          const Match& match) {
  const std::string sum = absl::StrCat(attribute.name, "=\"", attribute.value.s(), "\"");
  const TermValue value = ValuesOf(*attribute.sum, match).back();
  if (!value.is_known) {
    return absl::StrCat(sum, " has no value", NamedValues({&*attribute.sum}, match));
  }
  OpDesc::Attr attr;
  attr.set_name(attribute.name);
  attr.set_type(attribute.type);
  if (const char* const wanted = Set(value, &attr)) {
    return absl::StrCat(sum, " is ",
                        value.is_integer ? absl::StrCat(value.integer) : absl::StrCat(value.number),
                        "; want ", wanted, NamedValues({&*attribute.sum}, match));
  }
  return attr;
}

}  // namespace fixpoint
