// Steps that move rows: what ops over sequences are made of.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_MOVES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_MOVES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// A row of another tensor for each row of one. Shared by the steps that move them.
using RowMap = std::shared_ptr<const std::vector<int64_t>>;
inline RowMap ShareRows(std::vector<int64_t> rows) {
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}

// Adds the step that gathers rows of `width` elements: row i of `to` is row rows[i] of `from`, or,
// below 0, `filling`, a row or a single element. Error (kUnimplemented): that of
// WithElementOfSizeOf. REQUIRES: a filling where there are such rows.
absl::Status AddRowGather(OpPlanner& op, VarType::Type dtype, const RowMap& rows, int64_t width,
                          Buffer from, Buffer to, std::string name,
                          std::optional<Buffer> filling = std::nullopt);

// Adds the step that puts floats back: to[rows[i]] is the sum of all such from[i], or 0. Rows below
// 0 go nowhere.
void AddRowSum(OpPlanner& op, const RowMap& rows, int64_t width, Buffer from, Buffer to,
               std::string name);

// The elements of an input that are known when it is planned. Error (kUnimplemented): they are not.
absl::StatusOr<std::vector<int64_t>> KnownIntegers(const OpPlanner& op, absl::string_view slot);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_MOVES_H_
