// A condition of a pattern's `where`: two terms, over what the pattern's names stand for, and how
// they compare. docs/patterns.md has the grammar.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_

#include <string>
#include <vector>

namespace fixpoint {

struct ConditionTerm {
  enum class Kind {
    kNumber,
    kText,
    kTruth,
    kAttribute,   // $c: the value of a "$c" of `before`
    kExtent,      // extent(x, 1)
    kRank,        // rank(x): how many dimensions its variable declares
    kReaders,     // readers(x): how many inputs of ops of the forward part read it
    kArithmetic,  // of two terms
  };
  enum class Type { kNumber, kText, kTruth };

  Kind kind = Kind::kNumber;
  Type type = Type::kNumber;
  // Of a number: whether it is an integer for certain; else whether it has a float's precision.
  bool is_integer = false;
  bool is_float = false;
  std::string text;  // as the file has it; for kText, what is between the quotes
  double number = 0;
  bool truth = false;
  // For $c, its position in Pattern::variables; for a value's properties, in Pattern::values.
  int named = -1;
  int axis = 0;               // counted from the last one if it is negative
  char operation = '+';       // or - * / %
  int left = -1, right = -1;  // positions of the operands in PatternCondition::terms
};

enum class Comparison { kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast };

struct PatternCondition {
  std::string text;  // "extent(x, 1) % 8 == 0"
  int line = 0;      // of the file
  // Each after its operands.
  std::vector<ConditionTerm> terms;
  int left = -1, right = -1;  // positions in `terms`
  Comparison comparison = Comparison::kEqual;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_
