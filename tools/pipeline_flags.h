// --print_after and --stop_after, for the modes that run a pipeline of passes.

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
// standard error. A usage error for a pass that does not exist, or that the pipeline does not run.
absl::StatusOr<PipelineOptions> MakePipelineOptions(const PipelineFlags& flags,
                                                    absl::string_view pipeline);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PIPELINE_FLAGS_H_
