// Values of which a plan holds some rows of a table: gradients of sparse embeddings, and what ops
// make of them. Any op may read such a value as it reads others: its whole table is then computed
// (PlanBuilder::Defer). Ops that know of rows touch nothing else.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_SELECTED_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_SELECTED_ROWS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/selected_rows.h"

namespace fixpoint::executor {

struct TableRows {
  Buffer ids;     // INT64
  Buffer values;  // FP32 [ids, width]
  int64_t width;
  // INT64 [1], of merged rows: how many ids there are in a run, ascending; those after them mean
  // nothing, and their values are 0. Nothing: all, in any order, some of them perhaps equal.
  std::optional<Buffer> count = std::nullopt;

  std::vector<Buffer> buffers() const;
  kernels::SelectedRows In(const StepContext& run) const;
};

// The rows that an input is held as; nothing: it is held as a whole.
std::optional<TableRows> FindRows(const OpPlanner& op, absl::string_view slot, int index = 0);
// The same rows merged, by a step of their own unless an op did so before.
TableRows Merged(OpPlanner& op, absl::string_view slot, const TableRows& rows);

// Declares that an output is the table of those rows.
void WriteTable(OpPlanner& op, absl::string_view slot, const TensorType& table,
                const TableRows& rows);

// Plans Out as rows of X's ids whose values a function computes from all of X's; it reads `others`.
using RowsFunction = std::function<void(const StepContext& run, absl::Span<const float> values,
                                        absl::Span<float> results)>;
void PlanFunctionOfRows(OpPlanner& op, const TableRows& x, const std::vector<Buffer>& others,
                        const RowsFunction& function);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_SELECTED_ROWS_H_
