// Patterns as passes of any pipeline.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_PASS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_PASS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/pattern_rewriter.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// The pass of all patterns together, in their order.
inline constexpr char kApplyPatterns[] = "apply_patterns";

// The context of a pipeline that reports what patterns did. In one of another stage, a pattern
// leaves a note.
class RewriteContext : public PassContext {
 public:
  RewriteContext(const QuantizerTable& quantizers, bool explain)
      : PassContext(quantizers), explain(explain) {}

  const bool explain;  // whether near matches are wanted
  // The composite op types that raise_composites gives back; nothing: all of them.
  std::optional<std::vector<std::string>> raised_types;
  RewriteReport report;
};

// Adds a pass for each pattern, which has its name, and kApplyPatterns if there are any. A pass
// applies its patterns until none matches. Error (kInvalidArgument): there is a pass of that name.
// REQUIRES: the patterns outlive the passes.
absl::Status AddPatternPasses(absl::Span<const Pattern> patterns, PassTable* passes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_PASS_H_
