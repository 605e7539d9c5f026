// What a pattern's sums are worth for a match.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_SUM_VALUES_H_
#define FIXPOINT_TRANSPILER_PATTERNS_SUM_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/pattern_sum.h"

namespace fixpoint {

// Of a term; a member that is not of its type means nothing.
struct TermValue {
  bool is_known = true;
  // Why it is not known, unless that is so of its operands: "not known before a run" of what has a
  // name, "it divides by 0" of arithmetic.
  std::string reason;
  // Whether a number was computed as an integer of 64 bits: a quotient of integers may be, whatever
  // the term says; a sum of doubles never is, even if it has no fraction.
  bool is_integer = false;
  int64_t integer = 0;
  double number = 0;  // the integer too
  std::string text;
  bool truth = false;
};

// A number rounded to a float once, which is infinite beyond the range of floats.
float AsFloat(double number);
float AsFloat(const TermValue& value);

// By the term. Integers are exact, and have no value where 64 bits do not hold them; other numbers
// are doubles. REQUIRES: the match is complete.
std::vector<TermValue> ValuesOf(const PatternSum& sum, const Match& match);

// What the names of sums stand for, each once: "; $a is 1.0, extent(x, 1) is 12"; and why a sum has
// no value. "" if there is nothing to say.
std::string NamedValues(absl::Span<const PatternSum* const> sums, const Match& match);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_SUM_VALUES_H_
