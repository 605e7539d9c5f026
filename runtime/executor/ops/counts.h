// Integers of an input that a step reads, of 4 or 8 bytes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_COUNTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_COUNTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

struct Counts {
  Buffer buffer;
  bool is_long = false;

  std::vector<int64_t> In(const StepContext& run) const {
    if (is_long) {
      const auto values = run.Of<int64_t>(buffer);
      return {values.begin(), values.end()};
    }
    const auto values = run.Of<int32_t>(buffer);
    return {values.begin(), values.end()};
  }
};

// Error (kUnimplemented): elements of another type.
inline absl::StatusOr<Counts> ReadCounts(OpPlanner& op, absl::string_view slot, int index = 0) {
  const VarType::Type dtype = op.InputType(slot, index).dtype;
  if (dtype != VarType::INT32 && dtype != VarType::INT64) {
    return absl::UnimplementedError(
        absl::StrCat("input ", slot, " is ", TypeName(dtype), "; want i32 or i64"));
  }
  Counts counts;
  ASSIGN_OR_RETURN(counts.buffer, op.Read(slot, dtype, Layout::kRowMajor, index));
  counts.is_long = dtype == VarType::INT64;
  return counts;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_COUNTS_H_
