// Inputs of indices, which are read in each run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INDICES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INDICES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Error (kInvalidArgument): an index is not one of an axis of that size.
inline absl::Status CheckIndex(absl::string_view slot, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has ", index, "; want 0 to ", size - 1));
}

// Calls f with a value of the type of an input of indices. Error (kUnimplemented): it is not INT32
// or INT64.
template <typename F>
absl::Status WithIndexType(const OpPlanner& op, absl::string_view slot, F f) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (dtype == VarType::INT64) return f(int64_t());
  if (dtype == VarType::INT32) return f(int32_t());
  return absl::UnimplementedError(
      absl::StrCat("input ", slot, " is ", TypeName(dtype), "; want i32 or i64"));
}

inline absl::StatusOr<Buffer> ReadIndices(OpPlanner& op, absl::string_view slot) {
  return op.Read(slot, op.InputType(slot).dtype);
}

// to += from, element by element.
inline void AddRow(const float* from, int64_t size, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) to[i] += from[i];
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INDICES_H_
