// Which image each region belongs to: known, or read in a run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_OF_REGION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_OF_REGION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/counts.h"

namespace fixpoint::executor {

struct ImageOfRegion {
  std::string slot;  // of the regions
  int64_t most;      // regions
  int64_t image_count = 0;
  // One of these tells.
  std::optional<Counts> counts;         // of each image
  std::optional<Counts> offset_tensor;  // RoisLod
  std::vector<int64_t> offsets;         // of the rows
  std::optional<RunShape> shape;        // the rows, if a run decides how many; and their offsets

  // How many regions there are in the run.
  int64_t CountIn(const StepContext& run) const;
  // Error (kInvalidArgument): what tells does not fit the regions.
  absl::StatusOr<std::vector<int64_t>> In(const StepContext& run) const;
};

// From RoisNum or RoisLod where the op has them, or another slot of counts; otherwise from the
// offsets of the regions. Adds what is read.
absl::StatusOr<ImageOfRegion> ReadImageOfRegion(OpPlanner& op, absl::string_view regions_slot,
                                                std::vector<Buffer>* reads, int index = 0,
                                                absl::string_view counts_slot = "RoisNum");

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_OF_REGION_H_
