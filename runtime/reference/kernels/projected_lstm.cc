// lstmp: an LSTM over sequences whose hidden state is projected.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/gate_function.h"
#include "ops/recurrent_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/gated_rows.h"
#include "runtime/reference/kernels/recurrence.h"

namespace fixpoint::reference {
namespace {

// A cell as that of an lstm, whose state is what is projected from h'.
struct ProjectedLstm {
  ProjectedLstm(int64_t width, int64_t states, const LstmCell::Functions& functions)
      : of_state(states, 4 * width),
        of_hidden(width, states),
        cell(width, kLstmPlaces, functions) {}

  Paths paths;
  int64_t rows = 0;
  WeightMatrix of_state;
  WeightMatrix of_hidden;
  // What comes from the state is added to the projections, so that the cell has no product.
  LstmCell cell;
  GateFunction project = GateFunction::kIdentity;
  double clip = 0;  // of the state

  int64_t width() const { return of_hidden.rows; }
  int64_t states() const { return of_hidden.columns; }
};

// `gates`: the slot of the gates' projections; `rows`: that of rows with sequences.
absl::StatusOr<ProjectedLstm> ProjectedLstmOf(const OpRun& op, const char* gates,
                                              const char* rows) {
  RETURN_IF_ERROR(op.CheckRank("ProjWeight", 2));
  const Dims& projected = op.Input("ProjWeight").dims;
  // Weight is [P, 4D]; the rest is as in an lstm.
  ASSIGN_OR_RETURN(const GatedShape shape,
                   GatedShapeOf(4, op.Input(gates).dims, Dims{projected[0], 4 * projected[0]},
                                op.Input("Bias").dims, op.Bool("use_peepholes") ? 3 : 0));
  RETURN_IF_ERROR(op.CheckDims("Weight", Dims{projected[1], 4 * shape.width}));
  ASSIGN_OR_RETURN(const LstmCell::Functions functions, FunctionsOf(op));
  ProjectedLstm lstm(shape.width, projected[1], functions);
  lstm.rows = shape.rows;
  ASSIGN_OR_RETURN(lstm.project, GateFunctionOf("proj_activation", op.String("proj_activation")));
  ASSIGN_OR_RETURN(lstm.paths, PathsOf(op, rows));
  RETURN_IF_ERROR(CheckFirstState(op, "H0", lstm.paths, lstm.states()));
  RETURN_IF_ERROR(CheckFirstState(op, "C0", lstm.paths, lstm.width()));
  lstm.of_state.values = op.Input("Weight").values;
  lstm.of_hidden.values = op.Input("ProjWeight").values;
  lstm.cell.peepholes = PeepholesOf(op, shape.width);
  lstm.cell.clip = op.Float("cell_clip");
  lstm.clip = op.Float("proj_clip");
  return lstm;
}

// BatchGate, for the gradient op, which is not given Input: the gates after their functions.
absl::Status Lstmp(OpRun& op) {
  ASSIGN_OR_RETURN(const ProjectedLstm lstm, ProjectedLstmOf(op, "Input", "Input"));
  const Array& input = op.Input("Input");
  const int64_t width = lstm.width();
  const Numbers x = BiasedInput(input, &op.Input("Bias"));
  Array projection(input.dtype, Dims{lstm.rows, lstm.states()});
  Array cells(input.dtype, Dims{lstm.rows, width});
  Array gates(input.dtype, input.dims);
  for (size_t s = 0; s < lstm.paths.size(); ++s) {
    Numbers hidden(lstm.states());
    CellState state(width);
    ReadRow(op.FindInput("H0"), static_cast<int64_t>(s), &hidden);
    ReadRow(op.FindInput("C0"), static_cast<int64_t>(s), &state.cell);
    for (const int64_t row : lstm.paths[s]) {
      Numbers sums(x.begin() + row * 4 * width, x.begin() + (row + 1) * 4 * width);
      lstm.of_state.AddProduct(hidden, sums.data());
      const CellStep step = lstm.cell.Step(sums.data(), state);
      state = step.after;
      hidden.assign(lstm.states(), 0);
      lstm.of_hidden.AddProduct(state.hidden, hidden.data());
      for (double& h : hidden) h = Clipped(Gated(lstm.project, h), lstm.clip);
      WriteRow(hidden, row, &projection);
      WriteRow(state.cell, row, &cells);
      WriteRow(step.gates, row, &gates);
    }
  }
  op.SetOutput("Projection", std::move(projection));
  op.SetOutput("Cell", std::move(cells));
  op.SetOutput("BatchGate", std::move(gates));
  for (const char* slot : {"BatchCellPreAct", "BatchHidden"}) {
    op.SetOutput(slot, Array(input.dtype, Dims{lstm.rows, width}));
  }
  return absl::OkStatus();
}

// A step of a path, as the outputs of lstmp tell it; `projected` is the state before it.
CellStep StepOfLstmp(const OpRun& op, const ProjectedLstm& lstm, size_t sequence, size_t i,
                     Numbers* projected) {
  const std::vector<int64_t>& path = lstm.paths[sequence];
  const bool is_first = i == 0;
  const int64_t before = is_first ? static_cast<int64_t>(sequence) : path[i - 1];
  CellStep step;
  step.before = CellState(lstm.width());
  step.after = CellState(lstm.width());
  step.gates.resize(4 * lstm.width());
  projected->assign(lstm.states(), 0);
  ReadRow(op.FindInput(is_first ? "H0" : "Projection"), before, projected);
  ReadRow(op.FindInput(is_first ? "C0" : "Cell"), before, &step.before.cell);
  ReadRow(&op.Input("BatchGate"), path[i], &step.gates);
  ReadRow(&op.Input("Cell"), path[i], &step.after.cell);
  lstm.cell.Show(&step);
  return step;
}

absl::Status LstmpGradient(OpRun& op) {
  ASSIGN_OR_RETURN(ProjectedLstm lstm, ProjectedLstmOf(op, "BatchGate", "Projection"));
  const int64_t width = lstm.width();
  const int64_t states = lstm.states();
  for (const char* slot : {"Projection", "Projection@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, Dims{lstm.rows, states}));
  }
  RETURN_IF_ERROR(op.CheckDims("Cell", Dims{lstm.rows, width}));
  const VarType::Type dtype = op.Input("BatchGate").dtype;
  const auto sequences = static_cast<int64_t>(lstm.paths.size());
  Array dinput(dtype, op.Input("BatchGate").dims);
  Array dprojected(dtype, Dims{sequences, states});
  Array dcell(dtype, Dims{sequences, width});
  for (size_t s = 0; s < lstm.paths.size(); ++s) {
    CellState gradient(width);
    Numbers dstate(states);  // of the steps after the one that is walked back
    for (size_t i = lstm.paths[s].size(); i-- > 0;) {
      const int64_t row = lstm.paths[s][i];
      Numbers before;
      const CellStep step = StepOfLstmp(op, lstm, s, i, &before);
      for (int64_t j = 0; j < states; ++j) {
        const double state = op.Input("Projection")[row * states + j];
        dstate[j] += op.Input("Projection@GRAD")[row * states + j];
        dstate[j] *= IsAtBound(state, lstm.clip) ? 0 : SlopeAt(lstm.project, state);
      }
      lstm.of_hidden.AddProductBack(step.after.hidden, dstate.data(), &gradient.hidden);
      double* const dgates = dinput.values.data() + row * 4 * width;
      lstm.cell.StepBack(step, &gradient, dgates);
      dstate.assign(states, 0);
      lstm.of_state.AddProductBack(before, dgates, &dstate);
    }
    WriteRow(dstate, static_cast<int64_t>(s), &dprojected);
    WriteRow(gradient.cell, static_cast<int64_t>(s), &dcell);
  }
  Array dbias = BiasGradient(dinput, op.Input("Bias"));
  std::copy(lstm.cell.dpeepholes.begin(), lstm.cell.dpeepholes.end(),
            dbias.values.begin() + 4 * width);
  Array dweight(dtype, op.Input("Weight").dims);
  dweight.values = lstm.of_state.gradient;
  Array dprojecting(dtype, op.Input("ProjWeight").dims);
  dprojecting.values = lstm.of_hidden.gradient;
  op.SetOutput("Input@GRAD", std::move(dinput));
  op.SetOutput("Weight@GRAD", std::move(dweight));
  op.SetOutput("ProjWeight@GRAD", std::move(dprojecting));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  op.SetOutput("H0@GRAD", std::move(dprojected));
  op.SetOutput("C0@GRAD", std::move(dcell));
  return absl::OkStatus();
}

}  // namespace

Kernels ProjectedLstmKernels() { return {{"lstmp", Lstmp}, {"lstmp_grad", LstmpGradient}}; }

}  // namespace fixpoint::reference
