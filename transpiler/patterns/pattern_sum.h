// A sum over what the names of a pattern stand for: one side of a condition of `where`, or an
// attribute of `after` that is computed. docs/patterns.md has the grammar.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_SUM_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_SUM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fixpoint {

struct SumTerm {
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
  // Of a number of the file, the one of both that `is_integer` says.
  int64_t integer = 0;
  double number = 0;
  std::string text;  // for kText
  bool truth = false;
  // For $c, its position in Pattern::variables; for a value's properties, in Pattern::values. With
  // it, how the file names it: "$c", "extent(x, 1)".
  int named = -1;
  std::string written;
  int axis = 0;               // counted from the last one if it is negative
  char operation = '+';       // or - * / %
  int left = -1, right = -1;  // positions of the operands in PatternSum::terms
};

struct PatternSum {
  // Each after its operands; the last is the whole. Never empty.
  std::vector<SumTerm> terms;

  const SumTerm& whole() const { return terms.back(); }
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_SUM_H_
