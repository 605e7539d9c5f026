// lstmp: an LSTM over sequences whose hidden state is projected. Of 1.x, and rare: plain loops.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gate_function.h"
#include "ops/lod.h"
#include "ops/recurrent_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/recurrence.h"

namespace fixpoint::executor {
namespace {

float Gated(GateFunction function, float x) {
  switch (function) {
    case GateFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kRelu:
      return x > 0 ? x : 0;
    case GateFunction::kIdentity:
      break;
  }
  return x;
}

// The derivative where the function is y.
float SlopeAt(GateFunction function, float y) {
  switch (function) {
    case GateFunction::kSigmoid:
      return y * (1 - y);
    case GateFunction::kTanh:
      return 1 - y * y;
    case GateFunction::kRelu:
      return y > 0 ? 1 : 0;
    case GateFunction::kIdentity:
      break;
  }
  return 1;
}

// What is at the bound has no gradient.
bool IsAtBound(float clipped, float bound) { return bound > 0 && std::fabs(clipped) >= bound; }

float Clipped(float x, float bound) { return bound > 0 ? std::clamp(x, -bound, bound) : x; }

// to += row * matrix
void AddProduct(const std::vector<float>& row, const float* matrix, int64_t columns, float* to) {
  for (const float factor : row) {
    for (int64_t j = 0; j < columns; ++j) to[j] += factor * *matrix++;
  }
}

// drow = dsums * matrix^T, and dmatrix += row^T * dsums
void ProductBack(const std::vector<float>& row, const float* dsums, const float* matrix,
                 int64_t columns, std::vector<float>* drow, float* dmatrix) {
  for (size_t i = 0; i < row.size(); ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      sum += dsums[j] * *matrix++;
      *dmatrix++ += row[i] * dsums[j];
    }
    (*drow)[i] = sum;
  }
}

struct ProjectedLstm {
  int64_t width;   // of the cell
  int64_t states;  // of the projection
  GateFunction gate;
  GateFunction cell;
  GateFunction candidate;
  GateFunction projection;
  float cell_clip;
  float projection_clip;
  const float* weight = nullptr;      // [states, 4 * width]
  const float* projecting = nullptr;  // [width, states]
  const float* bias = nullptr;        // [4 * width]
  const float* peepholes = nullptr;   // [3 * width]; null: none
  // Gradients, to which each step back adds.
  float* dweight = nullptr;
  float* dprojecting = nullptr;
  float* dbias = nullptr;
  float* dpeepholes = nullptr;

  // One step: `hidden` is the projection, and `gates` their sums, in the order candidate, input,
  // forget, output, without the bias; then what their functions give.
  void Step(float* gates, std::vector<float>* hidden, std::vector<float>* cells) const {
    for (int64_t j = 0; j < 4 * width; ++j) gates[j] += bias[j];
    AddProduct(*hidden, weight, 4 * width, gates);
    std::vector<float> shown(width);
    for (int64_t j = 0; j < width; ++j) {
      float& c = (*cells)[j];
      float i = gates[width + j];
      float f = gates[2 * width + j];
      float o = gates[3 * width + j];
      if (peepholes != nullptr) {
        i += peepholes[j] * c;
        f += peepholes[width + j] * c;
      }
      gates[j] = Gated(candidate, gates[j]);
      gates[width + j] = Gated(gate, i);
      gates[2 * width + j] = Gated(gate, f);
      c = Clipped(gates[2 * width + j] * c + gates[width + j] * gates[j], cell_clip);
      if (peepholes != nullptr) o += peepholes[2 * width + j] * c;
      gates[3 * width + j] = Gated(gate, o);
      shown[j] = gates[3 * width + j] * Gated(cell, c);
    }
    std::fill(hidden->begin(), hidden->end(), 0.0f);
    AddProduct(shown, projecting, states, hidden->data());
    for (float& h : *hidden) h = Clipped(Gated(projection, h), projection_clip);
  }

  // A step as it was: its state before and after, and the gates.
  struct Done {
    const std::vector<float>& hidden_before;
    const std::vector<float>& cells_before;
    const float* hidden;
    const float* cells;
    const float* gates;
  };
  // The gradients of the state after a step become those of the state before it.
  void StepBack(const Done& step, std::vector<float>* dhidden, std::vector<float>* dcells,
                float* dgates) const {
    std::vector<float> shown(width);
    for (int64_t j = 0; j < width; ++j) {
      shown[j] = step.gates[3 * width + j] * Gated(cell, step.cells[j]);
    }
    for (int64_t j = 0; j < states; ++j) {
      (*dhidden)[j] *=
          IsAtBound(step.hidden[j], projection_clip) ? 0 : SlopeAt(projection, step.hidden[j]);
    }
    std::vector<float> dshown(width);
    ProductBack(shown, dhidden->data(), projecting, states, &dshown, dprojecting);
    for (int64_t j = 0; j < width; ++j) {
      const float n = step.gates[j];
      const float i = step.gates[width + j];
      const float f = step.gates[2 * width + j];
      const float o = step.gates[3 * width + j];
      const float c = step.cells[j];
      const float before = step.cells_before[j];
      const float of_cell = Gated(cell, c);
      const float d_o = dshown[j] * of_cell * SlopeAt(gate, o);
      float dc = (*dcells)[j] + dshown[j] * o * SlopeAt(cell, of_cell);
      if (peepholes != nullptr) dc += d_o * peepholes[2 * width + j];
      if (IsAtBound(c, cell_clip)) dc = 0;
      const float di = dc * n * SlopeAt(gate, i);
      const float df = dc * before * SlopeAt(gate, f);
      (*dcells)[j] = dc * f;
      if (peepholes != nullptr) {
        (*dcells)[j] += di * peepholes[j] + df * peepholes[width + j];
        dpeepholes[j] += di * before;
        dpeepholes[width + j] += df * before;
        dpeepholes[2 * width + j] += d_o * c;
      }
      dgates[j] = dc * i * SlopeAt(candidate, n);
      dgates[width + j] = di;
      dgates[2 * width + j] = df;
      dgates[3 * width + j] = d_o;
    }
    for (int64_t j = 0; j < 4 * width; ++j) dbias[j] += dgates[j];
    ProductBack(step.hidden_before, dgates, weight, 4 * width, dhidden, dweight);
  }
};

// `gates`: the slot of the gates' projections.
absl::StatusOr<ProjectedLstm> ProjectedLstmOf(const OpPlanner& op, absl::string_view gates) {
  const OpAttributes& attributes = op.attributes();
  const auto function = [&](const char* name) {
    return GateFunctionOf(name, attributes.String(name));
  };
  ProjectedLstm lstm;
  ASSIGN_OR_RETURN(lstm.gate, function("gate_activation"));
  ASSIGN_OR_RETURN(lstm.cell, function("cell_activation"));
  ASSIGN_OR_RETURN(lstm.candidate, function("candidate_activation"));
  ASSIGN_OR_RETURN(lstm.projection, function("proj_activation"));
  lstm.cell_clip = op.Number("cell_clip");
  lstm.projection_clip = op.Number("proj_clip");
  const Dims& projecting = op.InputDims("ProjWeight");
  if (projecting.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("ProjWeight is ", DimsText(projecting), "; want 2 dimensions"));
  }
  const bool has_peepholes = attributes.Bool("use_peepholes");
  // Weight is [states, 4 * width]; the rest is as in an lstm.
  ASSIGN_OR_RETURN(const GatedShape shape,
                   GatedShapeOf(4, op.InputDims(gates), Dims{projecting[0], 4 * projecting[0]},
                                op.InputDims("Bias"), has_peepholes ? 3 : 0));
  lstm.width = shape.width;
  lstm.states = projecting[1];
  RETURN_IF_ERROR(op.CheckDims("Weight", {lstm.states, 4 * lstm.width}));
  return lstm;
}

// The state before the first step of each sequence; none: zeros.
absl::StatusOr<std::vector<Buffer>> ReadFirst(OpPlanner& op, const char* slot, int64_t sequences,
                                              int64_t width) {
  if (!op.HasInput(slot)) return std::vector<Buffer>();
  RETURN_IF_ERROR(op.CheckDims(slot, {sequences, width}));
  ASSIGN_OR_RETURN(const Buffer states, op.ReadFloats(slot));
  return std::vector<Buffer>{states};
}

std::vector<float> RowOf(const StepContext& run, const std::vector<Buffer>& states, size_t row,
                         int64_t width) {
  if (states.empty()) return std::vector<float>(width);
  const float* const begin = run.Floats(states[0]).data() + static_cast<int64_t>(row) * width;
  return {begin, begin + width};
}

// What lstmp and its gradient op both read.
struct LstmpInputs {
  ProjectedLstm lstm;
  std::vector<Sequence> sequences;
  bool is_reversed;
  bool has_peepholes;
  int64_t rows;
  Buffer weight;
  Buffer projecting;
  Buffer bias;
  std::vector<Buffer> first_hidden;
  std::vector<Buffer> first_cell;

  std::vector<Buffer> With(std::vector<Buffer> buffers) const {
    buffers.insert(buffers.end(), {weight, projecting, bias});
    buffers.insert(buffers.end(), first_hidden.begin(), first_hidden.end());
    buffers.insert(buffers.end(), first_cell.begin(), first_cell.end());
    return buffers;
  }
  // The row of step t of a sequence.
  int64_t RowAt(const Sequence& sequence, int64_t t) const {
    return is_reversed ? sequence.end - 1 - t : sequence.begin + t;
  }
  ProjectedLstm In(const StepContext& run) const {
    ProjectedLstm in = lstm;
    in.weight = run.Floats(weight).data();
    in.projecting = run.Floats(projecting).data();
    in.bias = run.Floats(bias).data();
    if (has_peepholes) in.peepholes = in.bias + 4 * lstm.width;
    return in;
  }
};

// `gates` as above; `rows`: the slot of rows with sequences.
absl::StatusOr<LstmpInputs> ReadLstmp(OpPlanner& op, absl::string_view gates,
                                      absl::string_view rows) {
  LstmpInputs inputs;
  ASSIGN_OR_RETURN(inputs.lstm, ProjectedLstmOf(op, gates));
  inputs.rows = op.InputDims(gates)[0];
  ASSIGN_OR_RETURN(inputs.sequences, SequencesOf(rows, op.InputDims(rows), op.InputLod(rows)));
  inputs.is_reversed = op.attributes().Bool("is_reverse");
  inputs.has_peepholes = op.attributes().Bool("use_peepholes");
  ASSIGN_OR_RETURN(inputs.weight, op.ReadFloats("Weight"));
  ASSIGN_OR_RETURN(inputs.projecting, op.ReadFloats("ProjWeight"));
  ASSIGN_OR_RETURN(inputs.bias, op.ReadFloats("Bias"));
  const auto count = static_cast<int64_t>(inputs.sequences.size());
  ASSIGN_OR_RETURN(inputs.first_hidden, ReadFirst(op, "H0", count, inputs.lstm.states));
  ASSIGN_OR_RETURN(inputs.first_cell, ReadFirst(op, "C0", count, inputs.lstm.width));
  return inputs;
}

float* RowIn(const StepContext& run, Buffer buffer, int64_t row, int64_t width) {
  return run.Floats(buffer).data() + row * width;
}

// BatchGate, for the gradient op, which is not given Input: the gates after their functions.
absl::Status PlanLstmp(OpPlanner& op) {
  ASSIGN_OR_RETURN(const LstmpInputs inputs, ReadLstmp(op, "Input", "Input"));
  const int64_t rows = inputs.rows;
  const int64_t width = inputs.lstm.width;
  const int64_t states = inputs.lstm.states;
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  const Buffer projection = op.WriteAs("Projection", {VarType::FP32, {rows, states}});
  const Buffer cells = op.WriteAs("Cell", {VarType::FP32, {rows, width}});
  const Buffer gates = op.WriteAs("BatchGate", {VarType::FP32, {rows, 4 * width}});
  for (const char* slot : {"BatchCellPreAct", "BatchHidden"}) {
    DeferZeros(op, slot, {VarType::FP32, {rows, width}});
  }
  StepKernel step;
  step.reads = inputs.With({input});
  step.writes = {projection, cells, gates};
  step.operations = rows * states * (8 * width + 2 * width);
  step.run = [=](const StepContext& run) {
    const ProjectedLstm lstm = inputs.In(run);
    std::copy(run.Floats(input).begin(), run.Floats(input).end(), run.Floats(gates).begin());
    for (size_t s = 0; s < inputs.sequences.size(); ++s) {
      std::vector<float> hidden = RowOf(run, inputs.first_hidden, s, states);
      std::vector<float> cell = RowOf(run, inputs.first_cell, s, width);
      for (int64_t t = 0; t < inputs.sequences[s].length(); ++t) {
        const int64_t row = inputs.RowAt(inputs.sequences[s], t);
        lstm.Step(RowIn(run, gates, row, 4 * width), &hidden, &cell);
        std::copy(hidden.begin(), hidden.end(), RowIn(run, projection, row, states));
        std::copy(cell.begin(), cell.end(), RowIn(run, cells, row, width));
      }
    }
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// An output, or memory for it where nothing reads it.
Buffer GradientOf(OpPlanner& op, const char* slot, const Dims& dims) {
  const TensorType type{VarType::FP32, dims};
  return op.Wants(slot) ? op.WriteAs(slot, type) : op.Scratch(slot, type.dtype, type.size());
}

absl::Status PlanLstmpGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const LstmpInputs inputs, ReadLstmp(op, "BatchGate", "Projection"));
  const int64_t width = inputs.lstm.width;
  const int64_t states = inputs.lstm.states;
  for (const char* slot : {"Projection", "Projection@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, {inputs.rows, states}));
  }
  RETURN_IF_ERROR(op.CheckDims("Cell", {inputs.rows, width}));
  ASSIGN_OR_RETURN(const Buffer gates, op.ReadFloats("BatchGate"));
  ASSIGN_OR_RETURN(const Buffer projection, op.ReadFloats("Projection"));
  ASSIGN_OR_RETURN(const Buffer cells, op.ReadFloats("Cell"));
  ASSIGN_OR_RETURN(const Buffer dprojection, op.ReadFloats("Projection@GRAD"));
  const auto count = static_cast<int64_t>(inputs.sequences.size());
  const Buffer dinput = GradientOf(op, "Input@GRAD", op.InputDims("BatchGate"));
  const Buffer dweight = GradientOf(op, "Weight@GRAD", op.InputDims("Weight"));
  const Buffer dprojecting = GradientOf(op, "ProjWeight@GRAD", op.InputDims("ProjWeight"));
  const Buffer dbias = GradientOf(op, "Bias@GRAD", op.InputDims("Bias"));
  const Buffer dhidden = GradientOf(op, "H0@GRAD", {count, states});
  const Buffer dcell = GradientOf(op, "C0@GRAD", {count, width});
  StepKernel step;
  step.reads = inputs.With({gates, projection, cells, dprojection});
  step.writes = {dinput, dweight, dprojecting, dbias, dhidden, dcell};
  step.operations = 2 * inputs.rows * states * (8 * width + 2 * width);
  step.run = [=](const StepContext& run) {
    ProjectedLstm lstm = inputs.In(run);
    for (const Buffer sums : {dinput, dweight, dprojecting, dbias}) {
      std::fill(run.Floats(sums).begin(), run.Floats(sums).end(), 0.0f);
    }
    lstm.dweight = run.Floats(dweight).data();
    lstm.dprojecting = run.Floats(dprojecting).data();
    lstm.dbias = run.Floats(dbias).data();
    if (lstm.peepholes != nullptr) lstm.dpeepholes = lstm.dbias + 4 * width;
    const auto row_of = [&](Buffer buffer, int64_t row, int64_t columns) {
      const float* const begin = RowIn(run, buffer, row, columns);
      return std::vector<float>(begin, begin + columns);
    };
    for (size_t s = 0; s < inputs.sequences.size(); ++s) {
      const Sequence& sequence = inputs.sequences[s];
      std::vector<float> dstate(states);
      std::vector<float> dcells(width);
      for (int64_t t = sequence.length(); t-- > 0;) {
        const int64_t row = inputs.RowAt(sequence, t);
        const int64_t before = t > 0 ? inputs.RowAt(sequence, t - 1) : 0;
        const std::vector<float> hidden_before =
            t > 0 ? row_of(projection, before, states) : RowOf(run, inputs.first_hidden, s, states);
        const std::vector<float> cells_before =
            t > 0 ? row_of(cells, before, width) : RowOf(run, inputs.first_cell, s, width);
        const float* const added = RowIn(run, dprojection, row, states);
        for (int64_t j = 0; j < states; ++j) dstate[j] += added[j];
        lstm.StepBack({hidden_before, cells_before, RowIn(run, projection, row, states),
                       RowIn(run, cells, row, width), RowIn(run, gates, row, 4 * width)},
                      &dstate, &dcells, RowIn(run, dinput, row, 4 * width));
      }
      const auto at = static_cast<int64_t>(s);
      std::copy(dstate.begin(), dstate.end(), RowIn(run, dhidden, at, states));
      std::copy(dcells.begin(), dcells.end(), RowIn(run, dcell, at, width));
    }
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

OpPlans ProjectedLstmPlans() { return {{"lstmp", PlanLstmp}, {"lstmp_grad", PlanLstmpGradient}}; }

}  // namespace fixpoint::executor
