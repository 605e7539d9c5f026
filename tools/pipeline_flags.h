// --print_after and --stop_after, of the modes that run a pipeline of passes.

#ifndef FIXPOINT_TOOLS_PIPELINE_FLAGS_H_
#define FIXPOINT_TOOLS_PIPELINE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

struct PipelineFlags {
  std::string print_after;  // passes, comma separated, or "all"
  std::string stop_after;
};

// What the flags ask of `pipeline`, passes by name, comma separated; programs are printed on
// standard error. Error (of usage): a pass that there is not, or that the pipeline does not run.
absl::StatusOr<PipelineOptions> MakePipelineOptions(const PipelineFlags& flags,
                                                    absl::string_view pipeline);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PIPELINE_FLAGS_H_
