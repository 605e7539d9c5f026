// Rewrites a program by patterns (docs/patterns.md).

#ifndef FIXPOINT_TRANSPILER_PATTERNS_REWRITE_H_
#define FIXPOINT_TRANSPILER_PATTERNS_REWRITE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/pattern_pass.h"
#include "transpiler/patterns/pattern_rewriter.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

struct RewriteOptions {
  // A user's own quantizers; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  // The same for passes, with those of the patterns; null: those of RewritePasses.
  const PassTable* passes = nullptr;
  // The passes to run: names of patterns, kApplyPatterns, and other passes of the table.
  std::string pipeline = kApplyPatterns;
  // Whether near matches are reported.
  bool explain = false;
  // The composite op types that raise_composites gives back; nothing: all of them.
  std::optional<std::vector<std::string>> raised_types;
  PipelineOptions pipeline_options;
};

// The passes that such a pipeline can name. Error: that of AddPatternPasses. REQUIRES: the patterns
// outlive them.
absl::StatusOr<PassTable> RewritePasses(absl::Span<const Pattern> patterns);

// Applies the patterns to all blocks until none matches, with the gradient ops of what they
// replace. The program has an edit log then, if anything was replaced: Untranspile gives the same
// bytes again. Programs can be quantized after that, as after Prepare.
//
// Errors, after which the program is as before:
//   kInvalidArgument     those of Pipeline::Parse; the program is wrong, and an edit ran into it
//   kFailedPrecondition  those of ApplyPatterns
//   kInternal            a pass failed
absl::StatusOr<RewriteReport> Rewrite(Program* program, absl::Span<const Pattern> patterns,
                                      const RewriteOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_REWRITE_H_
