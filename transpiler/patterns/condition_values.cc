#include "transpiler/patterns/condition_values.h"

#include "absl/strings/str_cat.h"
#include "transpiler/patterns/sum_values.h"

namespace fixpoint {
namespace {

template <typename T>
bool Compares(Relation comparison, const T& a, const T& b) {
  switch (comparison) {
    case Relation::kEqual:
      return a == b;
    case Relation::kUnequal:
      return a != b;
    case Relation::kLess:
      return a < b;
    case Relation::kAtMost:
      return a <= b;
    case Relation::kGreater:
      return a > b;
    case Relation::kAtLeast:
      return a >= b;
  }
  return false;
}

}  // namespace

bool Holds(const PatternCondition& condition, const Match& match) {
  const TermValue a = ValuesOf(condition.left, match).back();
  const TermValue b = ValuesOf(condition.right, match).back();
  if (!a.is_known || !b.is_known) return false;
  const SumTerm& left = condition.left.whole();
  const SumTerm& right = condition.right.whole();
  switch (left.type) {
    case SumTerm::Type::kText:
      return Compares(condition.comparison, a.text, b.text);
    case SumTerm::Type::kTruth:
      return Compares(condition.comparison, a.truth, b.truth);
    case SumTerm::Type::kNumber:
      break;
  }
  if (a.is_integer && b.is_integer) return Compares(condition.comparison, a.integer, b.integer);
  if (left.is_float || right.is_float) {
    return Compares(condition.comparison, AsFloat(a), AsFloat(b));
  }
  return Compares(condition.comparison, a.number, b.number);
}

std::string WhyNot(const PatternCondition& condition, const Match& match) {
  return absl::StrCat(condition.text, " does not hold",
                      NamedValues({&condition.left, &condition.right}, match));
}

}  // namespace fixpoint
