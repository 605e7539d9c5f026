// Replaces what forward ops read, together with the gradient ops that repeat it: else the gradient
// would be that of another computation.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_READ_REPLACER_H_
#define FIXPOINT_TRANSPILER_PIPELINE_READ_REPLACER_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/gradient_links.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"

namespace fixpoint {

class ReadReplacer {
 public:
  // Finds the gradient ops of the program's ops; those that are inserted later have none. Linear in
  // the program. REQUIRES: both outlive this object.
  ReadReplacer(const Program& program, Rewriter* rewriter);

  // Makes `reads`, inputs of forward ops, and the slots of gradient ops that repeat them read
  // `value`. Error (kFailedPrecondition), and nothing is changed: an op is no forward op; a
  // gradient op may be that of the op or of another one, or an op computes it again for gradients,
  // or the op runs a block that has gradients; the value is not what its variable holds at one of
  // these ops; an op is in another block than the variable, of which ops list what they read from
  // outside.
  absl::Status Replace(absl::Span<const Argument* const> reads, const Value& value);

 private:
  const GradientLinks links_;
  Rewriter& rewriter_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_READ_REPLACER_H_
