#include "transpiler/patterns/condition_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/forward_ops.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Kind = ConditionTerm::Kind;
using Type = ConditionTerm::Type;

// What a term is worth; a member that is not of the term's type means nothing.
struct TermValue {
  bool is_known = true;
  double number = 0;
  std::string text;
  bool truth = false;
};

TermValue Unknown() { return {false, 0, {}, false}; }
TermValue Number(double number) { return {true, number, {}, false}; }

TermValue OfAttribute(const ConditionTerm& term, const OpDesc::Attr& attr) {
  TermValue value;
  switch (term.type) {
    case Type::kNumber: {
      const std::optional<double> number = FloatValue(attr);
      return number ? Number(*number) : Unknown();
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
  return Unknown();
}

TermValue ExtentOf(const Variable& variable, int axis) {
  const VarType::TensorDesc* const tensor = variable.tensor();
  const int rank = tensor == nullptr ? 0 : tensor->dims_size();
  if (axis < -rank || axis >= rank) return Unknown();
  const int64_t extent = tensor->dims(axis < 0 ? axis + rank : axis);
  return extent < 0 ? Unknown() : Number(static_cast<double>(extent));
}

TermValue RankOf(const Variable& variable) {
  const VarType::TensorDesc* const tensor = variable.tensor();
  return tensor == nullptr || tensor->dims_size() == 0 ? Unknown() : Number(tensor->dims_size());
}

TermValue ReadersOf(const Value& value) {
  const auto& readers = value.readers();
  return Number(
      static_cast<double>(std::count_if(readers.begin(), readers.end(), [](const Argument* reader) {
        return IsForward(reader->op());
      })));
}

TermValue Calculated(char operation, const TermValue& a, const TermValue& b) {
  const bool divides = operation == '/' || operation == '%';
  if (!a.is_known || !b.is_known || (divides && b.number == 0)) return Unknown();
  switch (operation) {
    case '+':
      return Number(a.number + b.number);
    case '-':
      return Number(a.number - b.number);
    case '*':
      return Number(a.number * b.number);
    case '/':
      return Number(a.number / b.number);
    default:
      return Number(std::fmod(a.number, b.number));
  }
}

std::vector<TermValue> ValuesOf(const PatternCondition& condition, const Match& match) {
  std::vector<TermValue> values;
  values.reserve(condition.terms.size());
  for (const ConditionTerm& term : condition.terms) {
    switch (term.kind) {
      case Kind::kNumber:
      case Kind::kText:
      case Kind::kTruth:
        values.push_back({true, term.number, term.text, term.truth});
        break;
      case Kind::kAttribute:
        values.push_back(OfAttribute(term, match.attributes[term.named]));
        break;
      case Kind::kExtent:
        values.push_back(ExtentOf(match.values[term.named]->variable(), term.axis));
        break;
      case Kind::kRank:
        values.push_back(RankOf(match.values[term.named]->variable()));
        break;
      case Kind::kReaders:
        values.push_back(ReadersOf(*match.values[term.named]));
        break;
      case Kind::kArithmetic:
        values.push_back(Calculated(term.operation, values[term.left], values[term.right]));
        break;
    }
  }
  return values;
}

template <typename T>
bool Compares(Comparison comparison, const T& a, const T& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kUnequal:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kAtMost:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kAtLeast:
      return a >= b;
  }
  return false;
}

std::string Shown(const ConditionTerm& term, const TermValue& value, const Match& match) {
  if (term.kind == Kind::kAttribute) return PrintAttrValue(match.attributes[term.named]);
  if (value.is_known) return absl::StrCat(value.number);
  return "not known before a run";
}

}  // namespace

bool Holds(const PatternCondition& condition, const Match& match) {
  const std::vector<TermValue> values = ValuesOf(condition, match);
  const TermValue& a = values[condition.left];
  const TermValue& b = values[condition.right];
  if (!a.is_known || !b.is_known) return false;
  const ConditionTerm& left = condition.terms[condition.left];
  switch (left.type) {
    case Type::kText:
      return Compares(condition.comparison, a.text, b.text);
    case Type::kTruth:
      return Compares(condition.comparison, a.truth, b.truth);
    case Type::kNumber:
      break;
  }
  if (left.is_float || condition.terms[condition.right].is_float) {
    return Compares(condition.comparison, static_cast<float>(a.number),
                    static_cast<float>(b.number));
  }
  return Compares(condition.comparison, a.number, b.number);
}

std::string WhyNot(const PatternCondition& condition, const Match& match) {
  const std::vector<TermValue> values = ValuesOf(condition, match);
  std::vector<std::string> seen;
  for (size_t i = 0; i < values.size(); ++i) {
    const ConditionTerm& term = condition.terms[i];
    if (term.named < 0) continue;
    std::string one = absl::StrCat(term.text, " is ", Shown(term, values[i], match));
    if (std::find(seen.begin(), seen.end(), one) == seen.end()) seen.push_back(std::move(one));
  }
  return absl::StrCat(condition.text, " does not hold", seen.empty() ? "" : "; ",
                      absl::StrJoin(seen, ", "));
}

}  // namespace fixpoint
