#include "runtime/executor/ops/selected_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// The merged rows of a value that is held as others.
struct MergedRows {
  TableRows rows;
};

// Error (kInvalidArgument): X is held as a whole.
absl::StatusOr<TableRows> RowsOfX(const OpPlanner& op) {
  if (const std::optional<TableRows> rows = FindRows(op, "X")) return *rows;
  return absl::InvalidArgumentError(
      "X is a tensor; want the gradient of a sparse embedding, or a sum, a clip or a multiple of "
      "such");
}

absl::Status PlanMerge(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableRows rows, RowsOfX(op));
  WriteTable(op, "Out", op.InputType("X"), Merged(op, "X", rows));
  return absl::OkStatus();
}

// The values alone. How many of them there are is found in a run where rows were merged.
absl::Status PlanGetTensor(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableRows rows, RowsOfX(op));
  const int64_t most = rows.ids.size;
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {most, rows.width}});
  std::vector<Buffer> writes = {out};
  std::optional<RunShape> shape;
  if (rows.count) {
    shape = op.DecideShape("Out");
    writes.push_back(shape->dims);
  }
  op.AddStep({rows.buffers(), writes, [=](const StepContext& run) {
                const absl::Span<float> values = run.Floats(rows.values);
                std::copy(values.begin(), values.end(), run.Floats(out).begin());
                if (shape) {
                  const absl::Span<int64_t> dims = run.Of<int64_t>(shape->dims);
                  dims[0] = run.Of<int64_t>(*rows.count)[0];
                  dims[1] = rows.width;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

std::vector<Buffer> TableRows::buffers() const {
  std::vector<Buffer> all = {ids, values};
  if (count) all.push_back(*count);
  return all;
}

kernels::SelectedRows TableRows::In(const StepContext& run) const {
  const auto there = static_cast<size_t>(count ? run.Of<int64_t>(*count)[0] : ids.size);
  return {run.Of<int64_t>(ids).first(there),
          run.Floats(values).first(there * static_cast<size_t>(width)), width};
}

std::optional<TableRows> FindRows(const OpPlanner& op, absl::string_view slot, int index) {
  const auto* const rows = op.builder().Attached<TableRows>(op.InputValue(slot, index));
  return rows != nullptr ? std::optional(*rows) : std::nullopt;
}

TableRows Merged(OpPlanner& op, absl::string_view slot, const TableRows& rows) {
  if (rows.count) return rows;
  const Value& value = op.InputValue(slot);
  if (const auto* const merged = op.builder().Attached<MergedRows>(value)) return merged->rows;
  TableRows merged = rows;
  merged.ids = op.Scratch("merged ids", VarType::INT64, rows.ids.size);
  merged.values = op.Scratch("merged values", VarType::FP32, rows.values.size);
  merged.count = op.Scratch("merged count", VarType::INT64, 1);
  const Buffer order = op.Scratch("order", VarType::INT64, rows.ids.size);
  op.AddStep({rows.buffers(),
              {merged.ids, merged.values, *merged.count, order},
              [=](const StepContext& run) {
                run.Of<int64_t>(*merged.count)[0] =
                    kernels::MergeRows(rows.In(run), run.Of<int64_t>(order),
                                       run.Of<int64_t>(merged.ids), run.Floats(merged.values));
                return absl::OkStatus();
              },
              "",
              0,
              "merge rows"});
  op.builder().Attach(value, MergedRows{merged});
  return merged;
}

void WriteTable(OpPlanner& op, absl::string_view slot, const TensorType& table,
                const TableRows& rows) {
  if (!op.Wants(slot)) return;
  PlanBuilder& builder = op.builder();
  const Value& value = op.OutputValue(slot);
  builder.Defer(value, table, Layout::kRowMajor, [=, &builder](Buffer out) {
    builder.AddStep(
        {"to a table", nullptr, "", rows.buffers(), {out}, 0, [=](const StepContext& run) {
           kernels::FillTable(rows.In(run), run.Floats(out));
           return absl::OkStatus();
         }});
  });
  builder.Attach(value, rows);
}

void PlanFunctionOfRows(OpPlanner& op, const TableRows& x, const std::vector<Buffer>& others,
                        const RowsFunction& function) {
  TableRows out = x;
  out.values = op.Scratch("values", VarType::FP32, x.values.size);
  op.builder().MayLieIn(out.values, x.values);
  std::vector<Buffer> reads = others;
  reads.push_back(x.values);
  if (x.count) reads.push_back(*x.count);
  op.AddStep({std::move(reads),
              {out.values},
              [=](const StepContext& run) {
                const absl::Span<float> to = run.Floats(out.values);
                const auto rows = x.count ? run.Of<int64_t>(*x.count)[0] : x.ids.size;
                const auto there = static_cast<size_t>(rows * x.width);
                function(run, run.Floats(x.values).first(there), to.first(there));
                std::fill(to.begin() + there, to.end(), 0.0f);
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " of rows")});
  WriteTable(op, "Out", op.InputType("X"), out);
}

OpPlans SelectedRowsPlans() {
  return {{"merge_selected_rows", PlanMerge}, {"get_tensor_from_selected_rows", PlanGetTensor}};
}

}  // namespace fixpoint::executor
