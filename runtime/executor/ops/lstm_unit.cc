// A step of an LSTM whose sums are given.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/recurrence.h"
#include "runtime/kernels/recurrent_cells.h"

namespace fixpoint::executor {
namespace {

// What the cell needs besides the sums, and what it gives.
struct Unit {
  kernels::RecurrentCell cell;
  int64_t rows = 0;
  Buffer x;
  Buffer before;
  Buffer products;  // zeros
  Buffer bias;      // forget_bias at its gate
  Buffer gates;
  Buffer hidden;

  Dims dims() const { return {rows, cell.width}; }
};

absl::StatusOr<Unit> UnitOf(OpPlanner& op) {
  const Dims& dims = op.InputDims("C_prev");
  if (dims.size() != 2 || dims[0] < 1 || dims[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("C_prev is ", DimsText(dims), "; want rows with elements"));
  }
  RETURN_IF_ERROR(ElementCount({16, dims[0], dims[1]}).status());
  RETURN_IF_ERROR(op.CheckDims("X", {dims[0], 4 * dims[1]}));
  Unit unit;
  unit.rows = dims[0];
  unit.cell.width = dims[1];
  unit.cell.places = {/*input=*/0, /*forget=*/1, /*candidate=*/3, /*output=*/2};
  ASSIGN_OR_RETURN(unit.x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(unit.before, op.ReadFloats("C_prev"));
  const auto scratch = [&](absl::string_view what, int64_t size) {
    return op.Scratch(what, VarType::FP32, size);
  };
  unit.products = scratch("products", unit.rows * unit.cell.columns());
  unit.bias = scratch("bias", unit.cell.columns());
  unit.gates = scratch("gates", unit.rows * unit.cell.columns());
  unit.hidden = scratch("hidden", unit.rows * unit.cell.width);
  AddZeros(op, unit.products);
  op.AddStep({{},
              {unit.bias},
              [bias = unit.bias, width = unit.cell.width,
               forget = op.Number("forget_bias")](const StepContext& run) {
                float* const to = run.Floats(bias).data();
                std::fill_n(to, 4 * width, 0.0f);
                std::fill_n(to + width, width, forget);
                return absl::OkStatus();
              },
              "",
              0,
              "forget_bias"});
  return unit;
}

void AddForward(OpPlanner& op, const Unit& unit, Buffer c, Buffer h) {
  op.AddStep({{unit.x, unit.before, unit.products, unit.bias},
              {unit.gates, unit.hidden, c, h},
              [=](const StepContext& run) {
                kernels::CellStep step;
                step.rows = unit.rows;
                step.sums = run.Floats(unit.x).data();
                step.products = run.Floats(unit.products).data();
                step.bias = run.Floats(unit.bias).data();
                step.hidden = run.Floats(unit.hidden).data();
                step.cell_before = run.Floats(unit.before).data();
                step.gates = run.Floats(unit.gates).data();
                step.states = run.Floats(h).data();
                step.cells = run.Floats(c).data();
                kernels::RunCell(unit.cell, step);
                return absl::OkStatus();
              }});
}

absl::Status PlanUnit(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unit unit, UnitOf(op));
  const TensorType type{VarType::FP32, unit.dims()};
  const Buffer c = op.WriteAs("C", type);
  AddForward(op, unit, c, op.WriteAs("H", type));
  return absl::OkStatus();
}

// The forward step is run again.
absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unit unit, UnitOf(op));
  for (const char* slot : {"C@GRAD", "H@GRAD"}) RETURN_IF_ERROR(op.CheckDims(slot, unit.dims()));
  ASSIGN_OR_RETURN(const Buffer dc, op.ReadFloats("C@GRAD"));
  ASSIGN_OR_RETURN(const Buffer dh, op.ReadFloats("H@GRAD"));
  const Buffer c = op.Scratch("c", VarType::FP32, unit.hidden.size);
  AddForward(op, unit, c, op.Scratch("h", VarType::FP32, unit.hidden.size));
  const Buffer dproducts = op.Scratch("dproducts", VarType::FP32, unit.gates.size);
  const Buffer dhidden = op.Scratch("dhidden", VarType::FP32, unit.hidden.size);
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  const Buffer dbefore = op.WriteAs("C_prev@GRAD", op.InputType("C_prev"));
  op.AddStep({{unit.before, unit.gates, c, dc, dh},
              {dx, dbefore, dproducts, dhidden},
              [=](const StepContext& run) {
                const absl::Span<float> from = run.Floats(dc);
                std::copy(from.begin(), from.end(), run.Floats(dbefore).begin());
                const absl::Span<float> hidden = run.Floats(dhidden);
                std::fill(hidden.begin(), hidden.end(), 0.0f);
                kernels::CellStepBack step;
                step.rows = unit.rows;
                step.gates = run.Floats(unit.gates).data();
                step.cells = run.Floats(c).data();
                step.cell_before = run.Floats(unit.before).data();
                step.dstates = run.Floats(dh).data();
                step.dhidden = hidden.data();
                step.dcell = run.Floats(dbefore).data();
                step.dproducts = run.Floats(dproducts).data();
                step.dsums = run.Floats(dx).data();
                kernels::RunCellBack(unit.cell, step);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans LstmUnitPlans() { return {{"lstm_unit", PlanUnit}, {"lstm_unit_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
