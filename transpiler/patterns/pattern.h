// A pattern: ops to look for in a program, and ops that compute the same in their place. A file of
// patterns is text (pattern_file.h); docs/patterns.md says what it means.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern_condition.h"
#include "transpiler/patterns/pattern_sum.h"

namespace fixpoint {

// What a name of a pattern stands for: one value of a program.
struct PatternValue {
  enum class Kind {
    kCapture,  // `before` reads it and does not write it
    kResult,   // both write it
    kInner,    // only `before` writes it
    kMade,     // only `after` writes it
  };
  std::string name;
  Kind kind = Kind::kCapture;
  // What its variable must declare, from a var line: a dense tensor's dtype, its rank and extents
  // (-1: any) unless it has none, and `persistable` if that is said.
  std::optional<VarDesc> declared;
};

struct PatternAttribute {
  std::string name;
  OpDesc::Attr value;  // as the file has it
  // For `"$c"`: the position of `$c` in Pattern::variables, whose value it is; else -1.
  int variable = -1;
  // For `"$c * $d"`, in `after`: what it is computed as, and the type that it gets.
  std::optional<PatternSum> sum;
  AttrType type = AttrType::INT;

  // Whether the value is the same for each match.
  bool is_fixed() const { return variable < 0 && !sum; }
};

struct PatternSlot {
  std::string name;
  std::vector<int> values;  // positions in Pattern::values
};

struct PatternOp {
  std::string type;
  std::vector<PatternSlot> inputs;
  std::vector<PatternSlot> outputs;
  // Those that the text gives.
  std::vector<PatternAttribute> attributes;
  int line = 0;  // of the file
};

// How an op of `before` is found once others are: it writes, or reads, a value that one of those
// names.
struct MatchStep {
  int op = 0;
  int value = 0;
  bool writes = false;
  // The positions of the conditions all of whose names are known once this op is, and not before.
  std::vector<int> conditions;
  // What is known once this op is and matters to later ones, or to their conditions: whether they
  // are found depends on nothing else.
  std::vector<int> kept_values;      // positions in Pattern::values
  std::vector<int> kept_attributes;  // positions in Pattern::variables
};

struct Pattern {
  std::string name;
  std::string doc;  // a sentence
  int line = 0;     // of the file
  std::vector<PatternValue> values;
  std::vector<std::string> variables;  // "$c", "$e"
  std::vector<PatternOp> before;
  std::vector<PatternCondition> conditions;
  std::vector<PatternOp> after;
  // The ops of `before` in the order in which they are looked for. The first is the last op of the
  // text, of which nothing is known but its type.
  std::vector<MatchStep> steps;

  const PatternOp& root() const { return before[steps.front().op]; }

  // The position in `before` of the op of the same type and number, from which an op of `after`
  // copies the attributes that its line leaves out; nothing if there is none.
  std::optional<size_t> CopiedFrom(size_t index_after) const {
    const std::string& type = after[index_after].type;
    int number = 0;
    for (size_t i = 0; i < index_after; ++i) number += after[i].type == type;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].type == type && number-- == 0) return i;
    }
    return std::nullopt;
  }
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_H_
