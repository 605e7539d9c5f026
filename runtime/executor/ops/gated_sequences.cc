// Recurrent networks over sequences, whose input holds the projections of the gates. Sequences step
// together: they are taken in the order of their lengths, the longest first, so that those that
// take a step are the first of those that took the one before.

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/gate_function.h"
#include "ops/lod.h"
#include "ops/op_traits.h"
#include "ops/recurrent_shape.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/ops/recurrence.h"
#include "runtime/executor/ops/row_moves.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;
using kernels::RecurrenceShape;
using kernels::RecurrentCell;

// How sequences step together.
struct StepOrder {
  RowMap sequences;             // those with rows, the longest first
  RowMap rows;                  // of all steps, one after the other
  std::vector<int64_t> counts;  // of rows, in each step
  int64_t sequence_count = 0;   // with those that have no rows
};

StepOrder OrderOf(const std::vector<Sequence>& sequences, bool is_reversed) {
  std::vector<int64_t> order;
  for (size_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].length() > 0) order.push_back(static_cast<int64_t>(s));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return sequences[a].length() > sequences[b].length();
  });
  StepOrder steps;
  steps.sequence_count = static_cast<int64_t>(sequences.size());
  std::vector<int64_t> rows;
  for (int64_t t = 0; t < sequences[order.front()].length(); ++t) {
    int64_t count = 0;
    for (const int64_t s : order) {
      const Sequence& sequence = sequences[s];
      if (sequence.length() <= t) break;
      rows.push_back(is_reversed ? sequence.end - 1 - t : sequence.begin + t);
      ++count;
    }
    steps.counts.push_back(count);
  }
  steps.sequences = ShareRows(std::move(order));
  steps.rows = ShareRows(std::move(rows));
  return steps;
}

// What an op is, and how it steps.
struct GatedOp {
  GatedShape shape;
  RecurrentCell cell;
  StepOrder order;
  std::string first_hidden;  // the slots of states before the first step
  std::string first_cell;    // "": there is none
  int state_bits = 0;
  int weight_axis = -1;  // of its columns; -1: its numbers are no matrix

  RecurrenceShape recurrence() const {
    RecurrenceShape recurrence;
    recurrence.cell = cell;
    recurrence.rows = order.counts;
    recurrence.state_bits = state_bits;
    return recurrence;
  }
  int64_t columns() const { return cell.columns(); }
  Dims state_dims() const { return {shape.rows, cell.width}; }
};

std::optional<Dims> DimsOf(const OpPlanner& op, absl::string_view slot) {
  return op.HasInput(slot) ? std::optional(op.InputDims(slot)) : std::nullopt;
}

absl::Status ReadOrder(const OpPlanner& op, GatedOp* gated) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("Input", op.InputDims("Input"), op.InputLod("Input")));
  gated->order = OrderOf(sequences, op.attributes().Bool("is_reverse"));
  for (const std::string& slot : {gated->first_hidden, gated->first_cell}) {
    if (slot.empty() || !op.HasInput(slot)) continue;
    RETURN_IF_ERROR(op.CheckDims(slot, {gated->order.sequence_count, gated->cell.width}));
  }
  return absl::OkStatus();
}

absl::StatusOr<GateFunction> FunctionNamed(const OpPlanner& op, const char* attribute) {
  return GateFunctionOf(attribute, op.attributes().String(attribute));
}

absl::StatusOr<GatedOp> LstmOf(const OpPlanner& op) {
  GatedOp lstm;
  RecurrentCell& cell = lstm.cell;
  cell.type = RecurrentCell::Type::kLstm;
  cell.has_peepholes = op.attributes().Bool("use_peepholes");
  ASSIGN_OR_RETURN(lstm.shape, GatedShapeOf(4, op.InputDims("Input"), op.InputDims("Weight"),
                                            op.InputDims("Bias"), cell.has_peepholes ? 3 : 0));
  cell.width = lstm.shape.width;
  cell.places = {/*input=*/1, /*forget=*/2, /*candidate=*/0, /*output=*/3};
  ASSIGN_OR_RETURN(cell.gate, FunctionNamed(op, "gate_activation"));
  ASSIGN_OR_RETURN(cell.cell, FunctionNamed(op, "cell_activation"));
  ASSIGN_OR_RETURN(cell.candidate, FunctionNamed(op, "candidate_activation"));
  lstm.first_hidden = "H0";
  lstm.first_cell = "C0";
  lstm.weight_axis = 1;
  ASSIGN_OR_RETURN(lstm.state_bits, StateBitsOf(op.attributes()));
  RETURN_IF_ERROR(ReadOrder(op, &lstm));
  return lstm;
}

absl::StatusOr<GatedOp> GruOf(const OpPlanner& op) {
  GatedOp gru;
  RecurrentCell& cell = gru.cell;
  cell.type = RecurrentCell::Type::kGru;
  ASSIGN_OR_RETURN(gru.shape, GatedShapeOf(3, op.InputDims("Input"), op.InputDims("Weight"),
                                           DimsOf(op, "Bias")));
  cell.width = gru.shape.width;
  cell.is_origin_mode = op.attributes().Bool("origin_mode");
  ASSIGN_OR_RETURN(cell.gate, FunctionNamed(op, "gate_activation"));
  ASSIGN_OR_RETURN(cell.candidate, FunctionNamed(op, "activation"));
  gru.first_hidden = "H0";
  ASSIGN_OR_RETURN(gru.state_bits, StateBitsOf(op.attributes()));
  RETURN_IF_ERROR(ReadOrder(op, &gru));
  return gru;
}

// Each row of Input is a sequence of its own.
absl::StatusOr<GatedOp> GruUnitOf(const OpPlanner& op) {
  GatedOp gru;
  RecurrentCell& cell = gru.cell;
  cell.type = RecurrentCell::Type::kGru;
  ASSIGN_OR_RETURN(gru.shape, GatedShapeOf(3, op.InputDims("Input"), op.InputDims("Weight"),
                                           DimsOf(op, "Bias")));
  cell.width = gru.shape.width;
  cell.is_origin_mode = op.attributes().Bool("origin_mode");
  const OpAttributes& attributes = op.attributes();
  ASSIGN_OR_RETURN(cell.gate, GateFunctionOf("gate_activation", attributes.Int("gate_activation")));
  ASSIGN_OR_RETURN(cell.candidate, GateFunctionOf("activation", attributes.Int("activation")));
  gru.first_hidden = "HiddenPrev";
  RETURN_IF_ERROR(op.CheckDims("HiddenPrev", gru.state_dims()));
  std::vector<int64_t> rows(gru.shape.rows);
  std::iota(rows.begin(), rows.end(), 0);
  gru.order.counts = {gru.shape.rows};
  gru.order.sequence_count = gru.shape.rows;
  gru.order.rows = gru.order.sequences = ShareRows(std::move(rows));
  return gru;
}

bool IsInOrder(const RowMap& rows, int64_t count) {
  return static_cast<int64_t>(rows->size()) == count && std::is_sorted(rows->begin(), rows->end());
}

// Rows in the order of the steps: the buffer itself where they are.
absl::StatusOr<Buffer> Gathered(OpPlanner& op, const RowMap& rows, int64_t width, Buffer from) {
  if (IsInOrder(rows, from.size / width)) return from;
  const Buffer to = op.Scratch("rows", VarType::FP32, static_cast<int64_t>(rows->size()) * width);
  RETURN_IF_ERROR(AddRowGather(op, VarType::FP32, rows, width, from, to, "rows by steps"));
  return to;
}

absl::StatusOr<std::optional<BufferPart>> ReadFirst(OpPlanner& op, const GatedOp& gated,
                                                    const std::string& slot) {
  if (slot.empty() || !op.HasInput(slot)) return std::nullopt;
  ASSIGN_OR_RETURN(const Buffer states, op.ReadFloats(slot));
  ASSIGN_OR_RETURN(const Buffer in_order,
                   Gathered(op, gated.order.sequences, gated.cell.width, states));
  return WholeOf(in_order);
}

// The codes of Weight, where the products with it are of codes.
absl::StatusOr<std::optional<WeightCodes>> ReadWeightCodes(OpPlanner& op, const GatedOp& gated) {
  if (TraitsOf(op.op()).is_on_integers) {
    RETURN_IF_ERROR(CheckStateBits(gated.state_bits));
    if (!StateSumsFit(gated.state_bits, gated.cell.width)) {
      return absl::InvalidArgumentError("sums of so many products of codes do not fit in integers");
    }
    ASSIGN_OR_RETURN(WeightCodes lowered, ReadLoweredWeights(op, "Weight", 0, 0, gated.columns()));
    return lowered;
  }
  if (gated.state_bits == 0 || !StateSumsFit(gated.state_bits, gated.cell.width)) {
    return std::nullopt;
  }
  const std::optional<Codes> held = FindWeightCodes(op, "Weight", 0, gated.weight_axis);
  if (!held) return std::nullopt;
  return AddScales(op, *held, gated.columns(), StepOfStates(gated.state_bits));
}

absl::StatusOr<PlannedRecurrence> AddForward(OpPlanner& op, const GatedOp& gated) {
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer sums, Gathered(op, gated.order.rows, gated.columns(), input));
  RecurrenceOperands operands;
  ASSIGN_OR_RETURN(operands.codes, ReadWeightCodes(op, gated));
  if (!operands.codes) {
    ASSIGN_OR_RETURN(operands.weights, op.ReadFloats("Weight"));
  }
  if (op.HasInput("Bias")) {
    ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
    operands.bias = {bias, 0, gated.columns()};
    if (gated.cell.has_peepholes) {
      operands.peepholes = {bias, gated.columns(), 3 * gated.cell.width};
    }
  }
  ASSIGN_OR_RETURN(operands.first_hidden, ReadFirst(op, gated, gated.first_hidden));
  ASSIGN_OR_RETURN(operands.first_cell, ReadFirst(op, gated, gated.first_cell));
  return AddRecurrence(op, gated.recurrence(), std::move(operands), sums);
}

// The states of all steps go to the rows of the sequences.
void WriteStates(OpPlanner& op, const GatedOp& gated, absl::string_view slot, Buffer states) {
  if (!op.Wants(slot)) return;
  AddRowSum(op, gated.order.rows, gated.cell.width, states,
            op.WriteAs(slot, {VarType::FP32, gated.state_dims()}), "rows by sequences");
}

absl::Status PlanLstm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const GatedOp lstm, LstmOf(op));
  ASSIGN_OR_RETURN(PlannedRecurrence planned, AddForward(op, lstm));
  WriteStates(op, lstm, "Hidden", planned.hidden);
  WriteStates(op, lstm, "Cell", *planned.cells);
  if (!TraitsOf(op.op()).is_on_integers) {
    DeferZeros(op, "BatchGate", {VarType::FP32, {lstm.shape.rows, lstm.columns()}});
    DeferZeros(op, "BatchCellPreAct", {VarType::FP32, lstm.state_dims()});
  }
  if (op.Wants("Hidden")) op.builder().Attach(op.OutputValue("Hidden"), std::move(planned));
  return absl::OkStatus();
}

absl::Status PlanGru(OpPlanner& op) {
  ASSIGN_OR_RETURN(const GatedOp gru, GruOf(op));
  ASSIGN_OR_RETURN(PlannedRecurrence planned, AddForward(op, gru));
  WriteStates(op, gru, "Hidden", planned.hidden);
  if (!TraitsOf(op.op()).is_on_integers) {
    DeferZeros(op, "BatchGate", {VarType::FP32, {gru.shape.rows, gru.columns()}});
    for (const char* slot : {"BatchResetHiddenPrev", "BatchHidden"}) {
      DeferZeros(op, slot, {VarType::FP32, gru.state_dims()});
    }
  }
  if (op.Wants("Hidden")) op.builder().Attach(op.OutputValue("Hidden"), std::move(planned));
  return absl::OkStatus();
}

absl::Status PlanGruUnit(OpPlanner& op) {
  ASSIGN_OR_RETURN(const GatedOp gru, GruUnitOf(op));
  ASSIGN_OR_RETURN(PlannedRecurrence planned, AddForward(op, gru));
  WriteStates(op, gru, "Hidden", planned.hidden);
  WriteStates(op, gru, "ResetHiddenPrev", *planned.inner);
  if (op.Wants("Gate")) {
    RETURN_IF_ERROR(AddRowGather(
        op, VarType::FP32, gru.order.rows, gru.columns(), planned.gates,
        op.WriteAs("Gate", {VarType::FP32, {gru.shape.rows, gru.columns()}}), "gates"));
  }
  if (op.Wants("Hidden")) op.builder().Attach(op.OutputValue("Hidden"), std::move(planned));
  return absl::OkStatus();
}

// The steps of the forward op, or, where it is not planned here, again.
absl::StatusOr<PlannedRecurrence> ForwardOf(OpPlanner& op, const GatedOp& gated) {
  if (const Op* forward = op.ForwardOp(); forward != nullptr) {
    const Argument* hidden = forward->Output("Hidden");
    const Value* value = hidden != nullptr ? hidden->value() : nullptr;
    const auto* planned =
        value != nullptr ? op.builder().Attached<PlannedRecurrence>(*value) : nullptr;
    if (planned != nullptr && planned->shape == gated.recurrence()) return *planned;
  }
  return AddForward(op, gated);
}

// The gradient of Bias: column sums, of the peepholes' terms too.
absl::Status AddBiasGradient(OpPlanner& op, const GatedOp& gated, const RecurrenceBack& back) {
  if (!op.HasInput("Bias") || !op.Wants("Bias@GRAD")) return absl::OkStatus();
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Bias"));
  if (!back.dpeepholes) {
    return AddColumnSums(op, back.dsums, gated.columns(), dbias,
                         absl::StrCat(op.type(), " of Bias"));
  }
  const Buffer of_gates = op.Scratch("dgates", VarType::FP32, gated.columns());
  const Buffer of_peepholes = op.Scratch("sums", VarType::FP32, 3 * gated.cell.width);
  RETURN_IF_ERROR(AddColumnSums(op, back.dsums, of_gates.size, of_gates, "sums of gates"));
  RETURN_IF_ERROR(
      AddColumnSums(op, *back.dpeepholes, of_peepholes.size, of_peepholes, "sums of peepholes"));
  op.AddStep({{of_gates, of_peepholes},
              {dbias},
              [=](const StepContext& run) {
                float* const to = run.Floats(dbias).data();
                std::copy_n(run.Floats(of_gates).data(), of_gates.size, to);
                std::copy_n(run.Floats(of_peepholes).data(), of_peepholes.size, to + of_gates.size);
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " of Bias")});
  return absl::OkStatus();
}

// before^T * dsums, of the whole W.
absl::Status AddWeightGradient(OpPlanner& op, const GatedOp& gated, const RecurrenceBack& back,
                               Buffer dweight) {
  return AddProduct(op,
                    {1, gated.cell.width, gated.shape.rows, gated.columns(), /*transpose_x=*/true},
                    1, back.before, back.dsums, dweight, absl::StrCat(op.type(), " of Weight"));
}

// The two matrices of a GRU, one after the other: before^T * (du, dr) and (r h)^T * dn.
absl::Status AddGruWeightGradient(OpPlanner& op, const GatedOp& gru,
                                  const PlannedRecurrence& forward, const RecurrenceBack& back,
                                  Buffer dweight) {
  const int64_t width = gru.cell.width;
  const int64_t rows = gru.shape.rows;
  const Buffer of_gates = op.Scratch("dgates", VarType::FP32, rows * 2 * width);
  const Buffer of_candidate = op.Scratch("dcandidate", VarType::FP32, rows * width);
  op.AddStep({{back.dsums},
              {of_gates, of_candidate},
              [=, dsums = back.dsums](const StepContext& run) {
                const float* from = run.Floats(dsums).data();
                float* gates = run.Floats(of_gates).data();
                float* candidate = run.Floats(of_candidate).data();
                for (int64_t row = 0; row < rows; ++row, from += 3 * width) {
                  gates = std::copy_n(from, 2 * width, gates);
                  candidate = std::copy_n(from + 2 * width, width, candidate);
                }
                return absl::OkStatus();
              },
              "",
              0,
              "split gates"});
  const Buffer first = op.Scratch("dweight", VarType::FP32, 2 * width * width);
  const Buffer second = op.Scratch("dweight", VarType::FP32, width * width);
  const std::string name = absl::StrCat(op.type(), " of Weight");
  RETURN_IF_ERROR(AddProduct(op, {1, width, rows, 2 * width, /*transpose_x=*/true}, 1, back.before,
                             of_gates, first, name));
  const Buffer reset =
      gru.state_bits == 0 ? *forward.inner : AddRoundedStates(op, gru.state_bits, *forward.inner);
  RETURN_IF_ERROR(AddProduct(op, {1, width, rows, width, /*transpose_x=*/true}, 1, reset,
                             of_candidate, second, name));
  op.AddStep({{first, second},
              {dweight},
              [=](const StepContext& run) {
                float* const to = run.Floats(dweight).data();
                std::copy_n(run.Floats(first).data(), first.size, to);
                std::copy_n(run.Floats(second).data(), second.size, to + first.size);
                return absl::OkStatus();
              },
              "",
              0,
              name});
  return absl::OkStatus();
}

void WriteFirstGradient(OpPlanner& op, const GatedOp& gated, const std::string& slot, Buffer d) {
  const std::string gradient = absl::StrCat(slot, "@GRAD");
  if (slot.empty() || !op.HasInput(slot) || !op.Wants(gradient)) return;
  AddRowSum(op, gated.order.sequences, gated.cell.width, d,
            op.WriteAs(gradient, op.InputType(slot)), "rows by sequences");
}

absl::Status PlanGradient(OpPlanner& op, const GatedOp& gated) {
  RETURN_IF_ERROR(op.CheckDims("Hidden@GRAD", gated.state_dims()));
  ASSIGN_OR_RETURN(const Buffer dhidden, op.ReadFloats("Hidden@GRAD"));
  ASSIGN_OR_RETURN(PlannedRecurrence forward, ForwardOf(op, gated));
  ASSIGN_OR_RETURN(forward.operands.weights, op.ReadFloats("Weight"));
  ASSIGN_OR_RETURN(const Buffer dstates, Gathered(op, gated.order.rows, gated.cell.width, dhidden));
  ASSIGN_OR_RETURN(const RecurrenceBack back,
                   AddRecurrenceBack(op, forward, dstates, std::nullopt, std::nullopt));
  if (op.Wants("Input@GRAD")) {
    AddRowSum(op, gated.order.rows, gated.columns(), back.dsums,
              op.WriteAs("Input@GRAD", op.InputType("Input")), "rows by sequences");
  }
  RETURN_IF_ERROR(AddBiasGradient(op, gated, back));
  if (op.Wants("Weight@GRAD")) {
    const Buffer dweight = op.WriteAs("Weight@GRAD", op.InputType("Weight"));
    RETURN_IF_ERROR(gated.cell.type == RecurrentCell::Type::kGru
                        ? AddGruWeightGradient(op, gated, forward, back, dweight)
                        : AddWeightGradient(op, gated, back, dweight));
  }
  WriteFirstGradient(op, gated, gated.first_hidden, back.dhidden);
  WriteFirstGradient(op, gated, gated.first_cell, back.dcell);
  return absl::OkStatus();
}

PlanFunction GradientOf(absl::StatusOr<GatedOp> (*gated_of)(const OpPlanner&)) {
  return [gated_of](OpPlanner& op) -> absl::Status {
    ASSIGN_OR_RETURN(const GatedOp gated, gated_of(op));
    return PlanGradient(op, gated);
  };
}

}  // namespace

OpPlans GatedSequencePlans() {
  return {{"lstm", PlanLstm},         {"lstm_grad", GradientOf(LstmOf)},
          {"integer_lstm", PlanLstm}, {"integer_gru", PlanGru},
          {"gru", PlanGru},           {"gru_grad", GradientOf(GruOf)},
          {"gru_unit", PlanGruUnit},  {"gru_unit_grad", GradientOf(GruUnitOf)}};
}

}  // namespace fixpoint::executor
