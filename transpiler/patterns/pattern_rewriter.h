// Applies patterns to a program until none matches any more.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_REWRITER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_REWRITER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "transpiler/patterns/derived_gradients.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/replaced_gradients.h"
#include "transpiler/patterns/replacement.h"

namespace fixpoint {

// Ops that were replaced.
struct ReplacedMatch {
  std::string pattern;
  std::string op;      // its root, by DescribeGiven
  std::string result;  // the first one
  int ops_before = 0;
  int ops_after = 0;
  int gradient_ops_before = 0;
  int gradient_ops_after = 0;
};

// Ops that look like a pattern and were left alone: some of them were found, or all.
struct NearMatch {
  std::string pattern;
  std::string op;      // its root, by DescribeGiven
  std::string reason;  // "Out is read by ...", after the op if that is not the root
  int ops_found = 0;
  int ops = 0;  // of the pattern
};

struct RewriteReport {
  std::vector<ReplacedMatch> replaced;  // in the order in which they were
  // In what is left, if that is asked for; in program order.
  std::vector<NearMatch> near_matches;
  bool is_changed = false;  // the program, by patterns or by other passes
};

// What stands in place of what, as it is about to be written.
struct WrittenMatch {
  const Match& match;
  const ReplacedGradients& gradients;
  const Replacement& replacement;
  const DerivedGradients& derived;
};

// How many rounds there may be, and to how many times its size a program may grow: patterns that
// make what others of them match go on for ever.
inline constexpr int kMostRewriteRounds = 32;
inline constexpr int kMostGrowth = 100;

struct ApplyOptions {
  // Whether near matches are reported.
  bool explain = false;
  // Whether the results of replaced ops stay declared where nothing uses them any more.
  bool keep_variables = false;
  // To how many times its size the program may grow.
  int64_t most_growth = kMostGrowth;
  // The author of the edits; "": each pattern, by its name.
  std::string author;
  // Called for each match before it is replaced, which what it returns hinders.
  std::function<std::optional<Obstacle>(const WrittenMatch&)> before_writing;
};

// Replaces what the patterns match, in all blocks, together with gradient ops: in rounds, in each
// of which every pattern in turn is applied wherever it matches. Edits bear the names of the
// patterns, or that of the author. A round is linear in the program, in the patterns that end in
// the type of an op, and in the readers of what matches. Error (kFailedPrecondition), with edits
// left to the caller to undo: something still matches after kMostRewriteRounds, or the program has
// grown too much.
absl::StatusOr<RewriteReport> ApplyPatterns(absl::Span<const Pattern* const> patterns,
                                            const ApplyOptions& options, Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_REWRITER_H_
