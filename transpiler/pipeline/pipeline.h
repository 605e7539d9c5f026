// Runs passes in order: checks the order first, verifies after each, and undoes everything if one
// fails. A program may have errors before: it is rewritten as far as possible. If a pass fails
// because of them, the error is the program's, not the pass's.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_PIPELINE_H_
#define FIXPOINT_TRANSPILER_PIPELINE_PIPELINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class Pass;
class PassContext;
class PassTable;

struct PipelineOptions {
  // Verify after each pass what it inserted and changed, and the gradient ops of what it changed: a
  // new error there is a defect of the pass (kInternal).
  bool verify = true;
  // End after the pass of this name; "" for the last one.
  std::string stop_after;
  // Called after the last pass, after the caller's own checks; an error undoes everything.
  std::function<absl::Status()> check_at_end;
  // Called after each pass with the program at that point.
  std::function<void(const Pass& pass, Program& program, double seconds)> after_pass;
};

class Pipeline {
 public:
  // Passes by name, separated by commas. `given`: the facts that hold before the first one because
  // of what the caller puts into the context. Errors (kInvalidArgument): there is no such pass; a
  // pass requires a fact that is neither given nor established before it, or was consumed since.
  static absl::StatusOr<Pipeline> Parse(absl::string_view text, const PassTable& passes,
                                        const std::vector<std::string>& given = {});

  // The text that Parse reads.
  std::string ToText() const;

  // In the order in which they run.
  absl::Span<const Pass* const> passes() const { return passes_; }

  // Runs the passes. If one fails, `program` and the startup program are as they were before, and
  // the error names the pass. An error is kInternal only if both verified before the first pass;
  // else it is kInvalidArgument, and names what was wrong with them.
  absl::Status Run(Program& program, PassContext& context, const PipelineOptions& options) const;

 private:
  absl::Status RunPasses(Program& program, PassContext& context,
                         const PipelineOptions& options) const;

  std::vector<const Pass*> passes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_PIPELINE_H_
