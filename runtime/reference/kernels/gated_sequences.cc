// Recurrent networks over sequences, whose input holds the projections of the gates, and single
// steps of them.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gate_function.h"
#include "ops/lod.h"
#include "ops/recurrent_shape.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/gated_rows.h"
#include "runtime/reference/kernels/recurrence.h"

namespace fixpoint::reference {
namespace {

std::optional<Dims> DimsOf(const Array* array) {
  return array != nullptr ? std::optional(array->dims) : std::nullopt;
}

// A cell over sequences, with its bias.
struct GatedInput {
  GatedShape shape;
  Paths paths;
  Numbers x;
  int64_t columns;
};

template <typename CellOf>
struct GatedCell : GatedInput {
  std::unique_ptr<CellOf> cell;
};

// How an op multiplies its state by a matrix, whose columns begin at `first` of its scales.
absl::Status ReadStateCodes(const OpRun& op, int64_t first, WeightMatrix* matrix) {
  ASSIGN_OR_RETURN(matrix->state_bits, StateBitsOf(op.attributes()));
  if (!op.HasInputSlot("Scales")) return absl::OkStatus();
  // Of a lowered program.
  RETURN_IF_ERROR(CheckStateBits(matrix->state_bits));
  matrix->is_of_codes = true;
  const Array& scales = op.Input("Scales");
  if (scales.size() != op.Input("Input").dims[1]) {
    return absl::InvalidArgumentError(absl::StrCat("Scales 0 is ", DimsText(scales.dims), "; want ",
                                                   op.Input("Input").dims[1], " elements"));
  }
  for (size_t i = 0; i < matrix->values.size(); ++i) {
    matrix->values[i] *= scales[first + static_cast<int64_t>(i) % matrix->columns];
  }
  return absl::OkStatus();
}

// All steps, sequence by sequence, from the states in these slots; null: from 0.
std::vector<std::vector<CellStep>> WalkAll(const GatedInput& gated, const Cell& cell,
                                           const Array* hidden, const Array* first_cell) {
  std::vector<std::vector<CellStep>> steps;
  for (size_t s = 0; s < gated.paths.size(); ++s) {
    CellState state(gated.shape.width);
    ReadRow(hidden, static_cast<int64_t>(s), &state.hidden);
    ReadRow(first_cell, static_cast<int64_t>(s), &state.cell);
    steps.push_back(Walk(cell, gated.x, gated.columns, gated.paths[s], &state));
  }
  return steps;
}

struct GatedGradient {
  Array dinput;
  Array dhidden;  // of the states before the first step
  Array dcell;
};

GatedGradient WalkAllBack(const GatedInput& gated, Cell& cell,
                          const std::vector<std::vector<CellStep>>& steps, const Array& dout,
                          VarType::Type dtype) {
  const int64_t width = gated.shape.width;
  const Dims states = {static_cast<int64_t>(gated.paths.size()), width};
  GatedGradient gradient{Array(dtype, Dims{gated.shape.rows, gated.columns}), Array(dtype, states),
                         Array(dtype, states)};
  for (size_t s = 0; s < gated.paths.size(); ++s) {
    CellState state(width);
    const auto add = [&](int64_t row, Numbers* dhidden) {
      for (int64_t j = 0; j < width; ++j) (*dhidden)[j] += dout[row * width + j];
    };
    WalkBack(cell, steps[s], gated.paths[s], add, &state, &gradient.dinput.values, gated.columns);
    WriteRow(state.hidden, static_cast<int64_t>(s), &gradient.dhidden);
    WriteRow(state.cell, static_cast<int64_t>(s), &gradient.dcell);
  }
  return gradient;
}

absl::StatusOr<GatedCell<LstmCell>> LstmOf(const OpRun& op) {
  const Array& input = op.Input("Input");
  const Array& bias = op.Input("Bias");
  GatedCell<LstmCell> lstm;
  ASSIGN_OR_RETURN(lstm.shape, GatedShapeOf(4, input.dims, op.Input("Weight").dims, bias.dims,
                                            op.Bool("use_peepholes") ? 3 : 0));
  ASSIGN_OR_RETURN(lstm.paths, PathsOf(op));
  for (const char* slot : {"H0", "C0"}) {
    RETURN_IF_ERROR(CheckFirstState(op, slot, lstm.paths, lstm.shape.width));
  }
  ASSIGN_OR_RETURN(const LstmCell::Functions functions, FunctionsOf(op));
  lstm.cell = std::make_unique<LstmCell>(lstm.shape.width, kLstmPlaces, functions);
  lstm.cell->weight = WeightMatrix(lstm.shape.width, 4 * lstm.shape.width);
  lstm.cell->weight.values = op.Input("Weight").values;
  RETURN_IF_ERROR(ReadStateCodes(op, 0, &lstm.cell->weight));
  lstm.cell->peepholes = PeepholesOf(op, lstm.shape.width);
  lstm.x = BiasedInput(input, &bias);
  lstm.columns = input.dims[1];
  return lstm;
}

absl::Status Lstm(OpRun& op) {
  ASSIGN_OR_RETURN(const GatedCell<LstmCell> lstm, LstmOf(op));
  const Array& input = op.Input("Input");
  const Dims dims = {lstm.shape.rows, lstm.shape.width};
  Array hidden(input.dtype, dims);
  Array cell(input.dtype, dims);
  const auto steps = WalkAll(lstm, *lstm.cell, op.FindInput("H0"), op.FindInput("C0"));
  for (size_t s = 0; s < steps.size(); ++s) {
    for (size_t i = 0; i < steps[s].size(); ++i) {
      WriteRow(steps[s][i].after.hidden, lstm.paths[s][i], &hidden);
      WriteRow(steps[s][i].after.cell, lstm.paths[s][i], &cell);
    }
  }
  op.SetOutput("Hidden", std::move(hidden));
  op.SetOutput("Cell", std::move(cell));
  if (op.HasInputSlot("Scales")) return absl::OkStatus();
  // What the reference keeps for its gradient kernel; ours computes it again.
  op.SetOutput("BatchGate", Array(input.dtype, input.dims));
  op.SetOutput("BatchCellPreAct", Array(input.dtype, dims));
  return absl::OkStatus();
}

absl::Status LstmGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const GatedCell<LstmCell> lstm, LstmOf(op));
  const Array& bias = op.Input("Bias");
  const int64_t width = lstm.shape.width;
  RETURN_IF_ERROR(op.CheckDims("Hidden@GRAD", Dims{lstm.shape.rows, width}));
  const auto steps = WalkAll(lstm, *lstm.cell, op.FindInput("H0"), op.FindInput("C0"));
  GatedGradient gradient =
      WalkAllBack(lstm, *lstm.cell, steps, op.Input("Hidden@GRAD"), op.Input("Input").dtype);
  Array dbias = BiasGradient(gradient.dinput, bias);
  std::copy(lstm.cell->dpeepholes.begin(), lstm.cell->dpeepholes.end(),
            dbias.values.begin() + 4 * width);
  Array dweight(op.Input("Weight").dtype, op.Input("Weight").dims);
  dweight.values = lstm.cell->weight.gradient;
  op.SetOutput("Input@GRAD", std::move(gradient.dinput));
  op.SetOutput("Weight@GRAD", std::move(dweight));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  op.SetOutput("H0@GRAD", std::move(gradient.dhidden));
  op.SetOutput("C0@GRAD", std::move(gradient.dcell));
  return absl::OkStatus();
}

// W_ur [D, 2D] and W_c [D, D] lie one after the other in the numbers of Weight.
void ReadGruWeight(const Array& weight, GruCell* cell) {
  const auto middle = weight.values.begin() + static_cast<int64_t>(cell->of_gates.values.size());
  cell->of_gates.values.assign(weight.values.begin(), middle);
  cell->of_candidate.values.assign(middle, weight.values.end());
}

Array GruWeightGradient(const GruCell& cell, const Array& weight) {
  Array gradient(weight.dtype, weight.dims);
  std::copy(cell.of_gates.gradient.begin(), cell.of_gates.gradient.end(), gradient.values.begin());
  std::copy(cell.of_candidate.gradient.begin(), cell.of_candidate.gradient.end(),
            gradient.values.begin() + static_cast<int64_t>(cell.of_gates.gradient.size()));
  return gradient;
}

absl::StatusOr<GatedCell<GruCell>> GruOf(const OpRun& op) {
  const Array& input = op.Input("Input");
  const Array* const bias = op.FindInput("Bias");
  GatedCell<GruCell> gru;
  ASSIGN_OR_RETURN(gru.shape, GatedShapeOf(3, input.dims, op.Input("Weight").dims, DimsOf(bias)));
  const bool is_unit = op.HasInputSlot("HiddenPrev");
  GateFunction gate;
  GateFunction candidate;
  if (is_unit) {
    ASSIGN_OR_RETURN(gate, GateFunctionOf("gate_activation", op.Int("gate_activation")));
    ASSIGN_OR_RETURN(candidate, GateFunctionOf("activation", op.Int("activation")));
    RETURN_IF_ERROR(op.CheckDims("HiddenPrev", Dims{gru.shape.rows, gru.shape.width}));
    for (int64_t row = 0; row < gru.shape.rows; ++row) gru.paths.push_back({row});
  } else {
    ASSIGN_OR_RETURN(gate, GateFunctionOf("gate_activation", op.String("gate_activation")));
    ASSIGN_OR_RETURN(candidate, GateFunctionOf("activation", op.String("activation")));
    ASSIGN_OR_RETURN(gru.paths, PathsOf(op));
    RETURN_IF_ERROR(CheckFirstState(op, "H0", gru.paths, gru.shape.width));
  }
  gru.cell = std::make_unique<GruCell>(gru.shape.width, gate, candidate, op.Bool("origin_mode"));
  ReadGruWeight(op.Input("Weight"), gru.cell.get());
  if (!is_unit) {
    RETURN_IF_ERROR(ReadStateCodes(op, 0, &gru.cell->of_gates));
    RETURN_IF_ERROR(ReadStateCodes(op, 2 * gru.shape.width, &gru.cell->of_candidate));
  }
  gru.x = BiasedInput(input, bias);
  gru.columns = input.dims[1];
  return gru;
}

absl::Status Gru(OpRun& op) {
  ASSIGN_OR_RETURN(const GatedCell<GruCell> gru, GruOf(op));
  const Array& input = op.Input("Input");
  const Dims dims = {gru.shape.rows, gru.shape.width};
  Array hidden(input.dtype, dims);
  const auto steps = WalkAll(gru, *gru.cell, op.FindInput("H0"), nullptr);
  for (size_t s = 0; s < steps.size(); ++s) {
    for (size_t i = 0; i < steps[s].size(); ++i) {
      WriteRow(steps[s][i].after.hidden, gru.paths[s][i], &hidden);
    }
  }
  op.SetOutput("Hidden", std::move(hidden));
  if (op.HasInputSlot("Scales")) return absl::OkStatus();
  op.SetOutput("BatchGate", Array(input.dtype, input.dims));
  for (const char* slot : {"BatchResetHiddenPrev", "BatchHidden"}) {
    op.SetOutput(slot, Array(input.dtype, dims));
  }
  return absl::OkStatus();
}

// Also of a gru_unit, whose state before the only step is HiddenPrev.
absl::Status GruGradient(OpRun& op, const char* first_slot) {
  ASSIGN_OR_RETURN(const GatedCell<GruCell> gru, GruOf(op));
  RETURN_IF_ERROR(op.CheckDims("Hidden@GRAD", Dims{gru.shape.rows, gru.shape.width}));
  const auto steps = WalkAll(gru, *gru.cell, op.FindInput(first_slot), nullptr);
  GatedGradient gradient =
      WalkAllBack(gru, *gru.cell, steps, op.Input("Hidden@GRAD"), op.Input("Input").dtype);
  if (const Array* bias = op.FindInput("Bias"); bias != nullptr) {
    op.SetOutput("Bias@GRAD", BiasGradient(gradient.dinput, *bias));
  }
  op.SetOutput("Weight@GRAD", GruWeightGradient(*gru.cell, op.Input("Weight")));
  op.SetOutput("Input@GRAD", std::move(gradient.dinput));
  op.SetOutput(absl::StrCat(first_slot, "@GRAD"), std::move(gradient.dhidden));
  return absl::OkStatus();
}

absl::Status GruUnit(OpRun& op) {
  ASSIGN_OR_RETURN(const GatedCell<GruCell> gru, GruOf(op));
  const Array& input = op.Input("Input");
  const Dims dims = {gru.shape.rows, gru.shape.width};
  Array gate(input.dtype, input.dims);
  Array reset(input.dtype, dims);
  Array hidden(input.dtype, dims);
  const auto steps = WalkAll(gru, *gru.cell, &op.Input("HiddenPrev"), nullptr);
  for (int64_t row = 0; row < gru.shape.rows; ++row) {
    WriteRow(steps[row][0].gates, row, &gate);
    WriteRow(steps[row][0].inner, row, &reset);
    WriteRow(steps[row][0].after.hidden, row, &hidden);
  }
  op.SetOutput("Gate", std::move(gate));
  op.SetOutput("ResetHiddenPrev", std::move(reset));
  op.SetOutput("Hidden", std::move(hidden));
  return absl::OkStatus();
}

// c' = sigmoid(f + forget_bias) c + sigmoid(i) tanh(n), h = sigmoid(o) tanh(c'), without a product:
// a step for each row.
absl::StatusOr<std::vector<CellStep>> LstmUnitSteps(const OpRun& op, const LstmCell& cell) {
  const Array& x = op.Input("X");
  const Array& before = op.Input("C_prev");
  RETURN_IF_ERROR(op.CheckRank("C_prev", 2));
  RETURN_IF_ERROR(op.CheckDims("X", Dims{before.dims[0], 4 * before.dims[1]}));
  const int64_t width = before.dims[1];
  if (width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("C_prev is ", DimsText(before.dims), "; want rows with elements"));
  }
  std::vector<CellStep> steps;
  for (int64_t row = 0; row < before.dims[0]; ++row) {
    Numbers gates(x.values.begin() + row * 4 * width, x.values.begin() + (row + 1) * 4 * width);
    for (int64_t j = 0; j < width; ++j) gates[width + j] += op.Float("forget_bias");
    CellState state(width);
    ReadRow(&before, row, &state.cell);
    steps.push_back(cell.Step(gates.data(), state));
  }
  return steps;
}

LstmCell LstmUnitCell(const OpRun& op) {
  const Dims& dims = op.Input("C_prev").dims;
  return LstmCell(dims.empty() ? 0 : dims.back(), {0, 1, 3, 2}, {});
}

absl::Status LstmUnit(OpRun& op) {
  LstmCell cell = LstmUnitCell(op);
  ASSIGN_OR_RETURN(const std::vector<CellStep> steps, LstmUnitSteps(op, cell));
  const Array& before = op.Input("C_prev");
  Array c(before.dtype, before.dims);
  Array h(before.dtype, before.dims);
  for (size_t row = 0; row < steps.size(); ++row) {
    WriteRow(steps[row].after.cell, static_cast<int64_t>(row), &c);
    WriteRow(steps[row].after.hidden, static_cast<int64_t>(row), &h);
  }
  op.SetOutput("C", std::move(c));
  op.SetOutput("H", std::move(h));
  return absl::OkStatus();
}

absl::Status LstmUnitGradient(OpRun& op) {
  LstmCell cell = LstmUnitCell(op);
  ASSIGN_OR_RETURN(const std::vector<CellStep> steps, LstmUnitSteps(op, cell));
  const Array& before = op.Input("C_prev");
  for (const char* slot : {"C@GRAD", "H@GRAD"}) RETURN_IF_ERROR(op.CheckDims(slot, before.dims));
  Array dx(before.dtype, op.Input("X").dims);
  Array dbefore(before.dtype, before.dims);
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i);
    CellState gradient(before.dims[1]);
    ReadRow(&op.Input("C@GRAD"), row, &gradient.cell);
    ReadRow(&op.Input("H@GRAD"), row, &gradient.hidden);
    cell.StepBack(steps[i], &gradient, dx.values.data() + row * dx.dims[1]);
    WriteRow(gradient.cell, row, &dbefore);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("C_prev@GRAD", std::move(dbefore));
  return absl::OkStatus();
}

}  // namespace

Kernels GatedSequenceKernels() {
  return {{"lstm", Lstm},
          {"integer_lstm", Lstm},
          {"integer_gru", Gru},
          {"lstm_grad", LstmGradient},
          {"gru", Gru},
          {"gru_grad", [](OpRun& op) { return GruGradient(op, "H0"); }},
          {"gru_unit", GruUnit},
          {"gru_unit_grad", [](OpRun& op) { return GruGradient(op, "HiddenPrev"); }},
          {"lstm_unit", LstmUnit},
          {"lstm_unit_grad", LstmUnitGradient}};
}

}  // namespace fixpoint::reference
