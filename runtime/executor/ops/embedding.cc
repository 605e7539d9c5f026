// Rows of a table by their ids; from a table that is held as codes, only the floats of those rows.
// A sparse gradient is held as the rows that were looked up.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/row_format.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/row_codes.h"
#include "runtime/executor/ops/selected_rows.h"
#include "runtime/kernels/lookup.h"
#include "runtime/row_formats.h"

namespace fixpoint::executor {
namespace {

using kernels::TableShape;

absl::StatusOr<TableShape> TableShapeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("W");
  if (dims.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("W is ", DimsText(dims), "; want [rows, width]"));
  }
  TableShape shape;
  shape.rows = dims[0];
  shape.width = dims[1];
  const int64_t padding = op.attributes().Int("padding_idx");
  if (padding != -1) shape.padding = padding < 0 ? padding + shape.rows : padding;
  return shape;
}

// A table of codes, and what each row's codes stand for.
struct CodedTable {
  Buffer codes;
  Buffer scales;
  std::optional<Buffer> offsets;
  int32_t largest_code;
};

absl::Status AddLookup(OpPlanner& op, const TableShape& shape, const CodedTable& table) {
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  op.KeepRows("Ids", "Out");
  std::vector<Buffer> reads = {table.codes, table.scales, ids};
  if (table.offsets) reads.push_back(*table.offsets);
  op.AddStep({std::move(reads),
              {out},
              [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::RowScales rows;
                rows.scales = run.Floats(table.scales);
                if (table.offsets) rows.offsets = run.Of<int32_t>(*table.offsets);
                rows.largest_code = table.largest_code;
                kernels::LookUp(shape, run.Of<int8_t>(table.codes), rows, run.Of<int64_t>(ids),
                                run.Floats(out));
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " of codes")});
  return absl::OkStatus();
}

// The codes that the floats of W are held as: INT8, with one range or one for each row, or with a
// step and a zero point for each row.
std::optional<CodedTable> FindCodedTable(const OpPlanner& op) {
  if (const RowCodes* rows = FindRowCodes(op, "W"); rows != nullptr && rows->axis == 0) {
    return CodedTable{rows->codes, rows->scales, rows->zero_points, /*largest_code=*/1};
  }
  const Codes* const held = op.builder().FindCodes(op.InputValue("W"));
  if (held == nullptr || held->type != kernels::CodeType::kInt8 || held->zero_point ||
      held->channel_axis.value_or(0) != 0) {
    return std::nullopt;
  }
  return CodedTable{held->codes, held->ranges, std::nullopt, held->largest_code};
}

absl::Status PlanLookup(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
  const std::optional<CodedTable> coded = FindCodedTable(op);
  if (coded) return AddLookup(op, shape, *coded);
  ASSIGN_OR_RETURN(const Buffer table, op.ReadFloats("W"));
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  op.KeepRows("Ids", "Out");
  op.AddStep({{table, ids}, {out}, [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::LookUp(shape, run.Floats(table), run.Of<int64_t>(ids), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The codes of a lowered program.
absl::Status PlanIntegerLookup(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
  CodedTable table;
  const auto check_rows = [&](const char* slot) {
    return op.InputType(slot).size() == 1 ? absl::OkStatus() : op.CheckSize(slot, shape.rows);
  };
  ASSIGN_OR_RETURN(table.codes, op.Read("W", VarType::INT8));
  RETURN_IF_ERROR(check_rows("Scales"));
  ASSIGN_OR_RETURN(table.scales, op.ReadFloats("Scales"));
  if (op.HasInput("Offsets")) {
    RETURN_IF_ERROR(check_rows("Offsets"));
    ASSIGN_OR_RETURN(table.offsets, op.Read("Offsets", VarType::INT32));
  }
  table.largest_code = static_cast<int32_t>(op.attributes().Int("largest_code"));
  return AddLookup(op, shape, table);
}

// Of rows of bytes, which are codes and their range.
absl::Status PlanLookupOfRows(OpPlanner& op, const TableShape& shape, RowFormat format) {
  ASSIGN_OR_RETURN(const size_t columns, MostColumns(format, static_cast<size_t>(shape.width)));
  ASSIGN_OR_RETURN(const Buffer rows, op.Read("W", VarType::UINT8));
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  Dims dims = op.InputDims("Ids");
  dims.back() = static_cast<int64_t>(columns);
  const Buffer out = op.WriteAs("Out", {VarType::FP32, dims});
  op.AddStep({{rows, ids}, {out}, [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::LookUpRows(shape, format, run.Of<uint8_t>(rows), run.Of<int64_t>(ids),
                                    run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Of packed rows, as floats of any bits.
absl::Status PlanPackedLookup(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
  ASSIGN_OR_RETURN(const RowFormat format, RowFormatOf(op.attributes().String(kRowFormatAttr)));
  if (format != RowFormat::kPaddleDequant) return PlanLookupOfRows(op, shape, format);
  ASSIGN_OR_RETURN(const Buffer table, op.ReadFloats("W"));
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  op.KeepRows("Ids", "Out");
  op.AddStep({{table, ids}, {out}, [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::LookUpPacked(shape, run.Floats(table), run.Of<int64_t>(ids),
                                      run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// A row for each id, and one for padding too, as the reference's.
absl::Status PlanSparseGradient(OpPlanner& op, TableShape shape) {
  shape.padding.reset();
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", ids.size * shape.width));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer checked = op.Scratch("ids", VarType::INT64, ids.size);
  op.AddStep({{ids}, {checked}, [=](const StepContext& run) {
                const absl::Span<int64_t> rows = run.Of<int64_t>(ids);
                RETURN_IF_ERROR(kernels::CheckIds(shape, rows));
                std::copy(rows.begin(), rows.end(), run.Of<int64_t>(checked).begin());
                return absl::OkStatus();
              }});
  WriteTable(op, "W@GRAD", op.InputType("W"), {checked, dout, shape.width});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
  if (op.attributes().Bool("is_sparse")) return PlanSparseGradient(op, shape);
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", ids.size * shape.width));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dtable = op.WriteAs("W@GRAD", op.InputType("W"));
  op.AddStep({{ids, dout}, {dtable}, [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::LookUpBackward(shape, run.Of<int64_t>(ids), run.Floats(dout),
                                        run.Floats(dtable));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans EmbeddingPlans() {
  return {{"lookup_table", PlanLookup},
          {"lookup_table_grad", PlanGradient},
          {"lookup_table_dequant", PlanPackedLookup},
          {"lookup_table_v2", PlanLookup},
          {"lookup_table_v2_grad", PlanGradient},
          {"integer_lookup_table", PlanIntegerLookup},
          {"integer_lookup_table_v2", PlanIntegerLookup}};
}

}  // namespace fixpoint::executor
