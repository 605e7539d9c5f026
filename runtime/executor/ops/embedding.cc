// Rows of a table by their ids. The gradient is dense, is_sparse or not.

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/lookup.h"

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

absl::Status PlanLookup(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
  ASSIGN_OR_RETURN(const Buffer table, op.ReadFloats("W"));
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  op.AddStep({{table, ids}, {out}, [=](const StepContext& run) {
                RETURN_IF_ERROR(kernels::CheckIds(shape, run.Of<int64_t>(ids)));
                kernels::LookUp(shape, run.Floats(table), run.Of<int64_t>(ids), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TableShape shape, TableShapeOf(op));
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
          {"lookup_table_v2", PlanLookup},
          {"lookup_table_v2_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
