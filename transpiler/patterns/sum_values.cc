#include "transpiler/patterns/sum_values.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/forward_ops.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Kind = SumTerm::Kind;
using Type = SumTerm::Type;

TermValue Unknown(absl::string_view reason) {
  TermValue value;
  value.is_known = false;
  value.reason = std::string(reason);
  return value;
}
TermValue Number(double number) {
  TermValue value;
  value.number = number;
  return value;
}
TermValue Integer(int64_t integer) {
  TermValue value = Number(static_cast<double>(integer));
  value.is_integer = true;
  value.integer = integer;
  return value;
}

TermValue OfAttribute(const SumTerm& term, const OpDesc::Attr& attr) {
  TermValue value = Unknown("");
  switch (term.type) {
    case Type::kNumber: {
      if (term.is_integer) {
        const std::optional<int64_t> integer = IntValue(attr);
        return integer ? Integer(*integer) : value;
      }
      const std::optional<double> number = FloatValue(attr);
      return number ? Number(*number) : value;
    }
    case Type::kText: {
      std::optional<std::string> text = StringValue(attr);
      value.is_known = text.has_value();
      value.text = std::move(text).value_or("");
      return value;
    }
    case Type::kTruth: {
      const std::optional<bool> truth = BoolValue(attr);
      value.is_known = truth.has_value();
      value.truth = truth.value_or(false);
      return value;
    }
  }
  return value;
}

constexpr char kOfARun[] = "not known before a run";

TermValue ExtentOf(const Variable& variable, int axis, absl::string_view name) {
  const VarType::TensorDesc* const tensor = variable.tensor();
  const int rank = tensor == nullptr ? 0 : tensor->dims_size();
  if (rank == 0) return Unknown(kOfARun);
  if (axis < -rank || axis >= rank) {
    return Unknown(
        absl::StrCat("none, as ", name, " has ", rank, rank == 1 ? " dimension" : " dimensions"));
  }
  const int64_t extent = tensor->dims(axis < 0 ? axis + rank : axis);
  return extent < 0 ? Unknown(kOfARun) : Integer(extent);
}

TermValue RankOf(const Variable& variable) {
  const VarType::TensorDesc* const tensor = variable.tensor();
  return tensor == nullptr || tensor->dims_size() == 0 ? Unknown(kOfARun)
                                                       : Integer(tensor->dims_size());
}

TermValue ReadersOf(const Value& value) {
  const auto& readers = value.readers();
  return Integer(std::count_if(readers.begin(), readers.end(),
                               [](const Argument* reader) { return IsForward(reader->op()); }));
}

TermValue OfIntegers(char operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case '+':
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case '/':
      // The least integer has no quotient by -1.
      if (b == -1) return OfIntegers('-', 0, a);
      if (a % b != 0) return Number(static_cast<double>(a) / static_cast<double>(b));
      result = a / b;
      break;
    default:
      result = b == -1 ? 0 : a % b;
      break;
  }
  return overflows ? Unknown("it exceeds 64 bits") : Integer(result);
}

TermValue Calculated(char operation, const TermValue& a, const TermValue& b) {
  if (!a.is_known || !b.is_known) return Unknown("");
  if ((operation == '/' || operation == '%') && b.number == 0) return Unknown("it divides by 0");
  if (a.is_integer && b.is_integer) return OfIntegers(operation, a.integer, b.integer);
  switch (operation) {
    case '+':
      return Number(a.number + b.number);
    case '-':
      return Number(a.number - b.number);
    case '*':
      return Number(a.number * b.number);
    default:
      return Number(a.number / b.number);
  }
}

TermValue Literal(const SumTerm& term) {
  TermValue value = term.is_integer ? Integer(term.integer) : Number(term.number);
  value.text = term.text;
  value.truth = term.truth;
  return value;
}

TermValue ValueOf(const SumTerm& term, const std::vector<TermValue>& values, const Match& match) {
  switch (term.kind) {
    case Kind::kNumber:
    case Kind::kText:
    case Kind::kTruth:
      return Literal(term);
    case Kind::kAttribute:
      return OfAttribute(term, match.attributes[term.named]);
    case Kind::kExtent:
      return ExtentOf(match.values[term.named]->variable(), term.axis,
                      match.pattern->values[term.named].name);
    case Kind::kRank:
      return RankOf(match.values[term.named]->variable());
    case Kind::kReaders:
      return ReadersOf(*match.values[term.named]);
    case Kind::kArithmetic:
      return Calculated(term.operation, values[term.left], values[term.right]);
  }
  return {};
}

// What is told of a term; "" if nothing is.
std::string Told(const SumTerm& term, const TermValue& value, const Match& match) {
  if (term.named < 0) return value.reason;
  return absl::StrCat(term.written, " is ",
                      term.kind == Kind::kAttribute ? PrintAttrValue(match.attributes[term.named])
                      : value.is_known              ? absl::StrCat(value.integer)
                                                    : value.reason);
}

}  // namespace

float AsFloat(double number) {
  using Limits = std::numeric_limits<float>;
  if (number > Limits::max()) return Limits::infinity();
  if (number < Limits::lowest()) return -Limits::infinity();
  return static_cast<float>(number);
}

float AsFloat(const TermValue& value) {
  return value.is_integer ? static_cast<float>(value.integer) : AsFloat(value.number);
}

std::vector<TermValue> ValuesOf(const PatternSum& sum, const Match& match) {
  std::vector<TermValue> values;
  values.reserve(sum.terms.size());
  for (const SumTerm& term : sum.terms) values.push_back(ValueOf(term, values, match));
  return values;
}

std::string NamedValues(absl::Span<const PatternSum* const> sums, const Match& match) {
  std::vector<std::string> told;
  for (const PatternSum* sum : sums) {
    const std::vector<TermValue> values = ValuesOf(*sum, match);
    for (size_t i = 0; i < values.size(); ++i) {
      std::string one = Told(sum->terms[i], values[i], match);
      if (!one.empty() && std::find(told.begin(), told.end(), one) == told.end()) {
        told.push_back(std::move(one));
      }
    }
  }
  return absl::StrCat(told.empty() ? "" : "; ", absl::StrJoin(told, ", "));
}

}  // namespace fixpoint
