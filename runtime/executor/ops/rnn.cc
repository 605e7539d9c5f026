// Layers of a recurrent network over padded steps. In each direction of a layer the product with
// the input is one of all steps, and a recurrence takes it up.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "ops/recurrent_shape.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/ops/recurrence.h"
#include "runtime/executor/ops/rnn_products.h"
#include "runtime/kernels/recurrent_cells.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;
using kernels::RecurrenceShape;
using kernels::RecurrentCell;

// An rnn whose steps are added: what its gradient op needs too. Directions lie layer by layer.
struct PlannedRnn {
  RnnShape shape;
  std::vector<Buffer> inputs;  // of the layers after the first
  std::vector<PlannedRecurrence> directions;
  Buffer out;

  std::optional<Buffer> lengths() const { return directions.front().operands.lengths; }
};

absl::StatusOr<RnnShape> ShapeOf(const OpPlanner& op) {
  ASSIGN_OR_RETURN(RnnShape shape, RnnShapeOf(op.attributes(), op.InputDims("Input"),
                                              !TraitsOf(op.op()).is_on_integers && !op.IsTest()));
  const auto dims_of = [&](absl::string_view slot) {
    std::vector<Dims> dims;
    for (int i = 0; i < op.InputCount(slot); ++i) dims.push_back(op.InputDims(slot, i));
    return dims;
  };
  std::optional<Dims> lengths;
  if (op.HasInput("SequenceLength")) lengths = op.InputDims("SequenceLength");
  RETURN_IF_ERROR(CheckRnnInputs(shape, dims_of("PreState"), dims_of("WeightList"), lengths));
  return shape;
}

RecurrenceShape RecurrenceOf(const RnnShape& shape, int direction, int state_bits) {
  RecurrenceShape recurrence;
  recurrence.state_bits = state_bits;
  recurrence.cell.width = shape.width;
  recurrence.rows.assign(shape.steps, shape.batch);
  recurrence.is_reversed = direction == 1;
  recurrence.is_transposed = true;
  switch (shape.mode) {
    case RnnMode::kLstm:
      recurrence.cell.type = RecurrentCell::Type::kLstm;
      break;
    case RnnMode::kGru:
      recurrence.cell.type = RecurrentCell::Type::kResetAfterGru;
      break;
    case RnnMode::kTanh:
    case RnnMode::kRelu:
      recurrence.cell.type = RecurrentCell::Type::kPlain;
      recurrence.cell.candidate =
          shape.mode == RnnMode::kTanh ? GateFunction::kTanh : GateFunction::kRelu;
  }
  return recurrence;
}

template <typename T>
StepKernel LengthsStep(Buffer from, Buffer to, int64_t steps) {
  return {{from},
          {to},
          [=](const StepContext& run) {
            const absl::Span<const T> given = run.Of<T>(from);
            for (size_t n = 0; n < given.size(); ++n) {
              if (given[n] < 0 || given[n] > steps) {
                return absl::InvalidArgumentError(
                    absl::StrCat("SequenceLength ", n, " is ", given[n], "; want 0 to ", steps));
              }
            }
            std::copy(given.begin(), given.end(), run.Of<int64_t>(to).begin());
            return absl::OkStatus();
          },
          "",
          0,
          "check lengths"};
}

// Adds the step that checks the lengths; nothing if all steps count.
absl::StatusOr<std::optional<Buffer>> ReadLengths(OpPlanner& op, const RnnShape& shape) {
  if (!op.HasInput("SequenceLength")) return std::nullopt;
  const VarType::Type dtype = op.InputType("SequenceLength").dtype;
  if (dtype != VarType::INT32 && dtype != VarType::INT64) {
    return absl::UnimplementedError(
        absl::StrCat("SequenceLength is of ", VarType::Type_Name(dtype), "; want INT32 or INT64"));
  }
  ASSIGN_OR_RETURN(const Buffer given, op.Read("SequenceLength", dtype));
  const Buffer lengths = op.Scratch("lengths", VarType::INT64, shape.batch);
  op.AddStep(dtype == VarType::INT32 ? LengthsStep<int32_t>(given, lengths, shape.steps)
                                     : LengthsStep<int64_t>(given, lengths, shape.steps));
  return lengths;
}

// The part of a tensor like PreState that belongs to a direction.
BufferPart StateOf(const RnnShape& shape, Buffer states, int pair) {
  const int64_t size = shape.batch * shape.width;
  return {states, pair * size, size};
}

// Adds the step that sums the biases of input and state, but for that of a GRU's candidate, which
// is multiplied by the reset gate.
absl::StatusOr<BufferPart> AddBias(OpPlanner& op, const RnnShape& shape, int pair) {
  ASSIGN_OR_RETURN(const Buffer of_input,
                   op.ReadFloats("WeightList", Layout::kRowMajor, shape.InputBias(pair)));
  ASSIGN_OR_RETURN(const Buffer of_state,
                   op.ReadFloats("WeightList", Layout::kRowMajor, shape.StateBias(pair)));
  const Buffer bias = op.Scratch("bias", VarType::FP32, of_input.size);
  const int64_t summed = shape.mode == RnnMode::kGru ? 2 * shape.width : of_input.size;
  op.AddStep({{of_input, of_state},
              {bias},
              [=](const StepContext& run) {
                const absl::Span<const float> a = run.Floats(of_input);
                const absl::Span<const float> b = run.Floats(of_state);
                const absl::Span<float> sum = run.Floats(bias);
                for (size_t i = 0; i < sum.size(); ++i) {
                  sum[i] = static_cast<int64_t>(i) < summed ? a[i] + b[i] : a[i];
                }
                return absl::OkStatus();
              },
              "",
              0,
              "sum of biases"});
  return WholeOf(bias);
}

// A direction of a layer, whose hidden states may be what the layer gives.
absl::StatusOr<PlannedRecurrence> AddDirection(OpPlanner& op, const RnnShape& shape,
                                               const RnnProducts& products, int pair,
                                               std::optional<Buffer> input,
                                               std::optional<Buffer> lengths,
                                               std::optional<Buffer> hidden) {
  const int64_t columns = shape.gates() * shape.width;
  const Buffer sums = op.Scratch("sums", VarType::FP32, shape.rows() * columns);
  RETURN_IF_ERROR(AddInputProduct(op, shape, products, pair, input, sums));

  RecurrenceOperands operands;
  if (products.is_of_codes) {
    ASSIGN_OR_RETURN(operands.codes, WeightCodesOf(op, shape, products, RnnShape::StateWeight(pair),
                                                   StepOfStates(products.state_bits)));
  } else {
    ASSIGN_OR_RETURN(operands.weights,
                     op.ReadFloats("WeightList", Layout::kRowMajor, RnnShape::StateWeight(pair)));
  }
  ASSIGN_OR_RETURN(operands.bias, AddBias(op, shape, pair));
  if (shape.mode == RnnMode::kGru) {
    ASSIGN_OR_RETURN(const Buffer bias,
                     op.ReadFloats("WeightList", Layout::kRowMajor, shape.StateBias(pair)));
    operands.inner_bias = {bias, 2 * shape.width, shape.width};
  }
  ASSIGN_OR_RETURN(const Buffer first_hidden, op.ReadFloats("PreState"));
  operands.first_hidden = StateOf(shape, first_hidden, pair);
  if (shape.mode == RnnMode::kLstm) {
    ASSIGN_OR_RETURN(const Buffer first_cell, op.ReadFloats("PreState", Layout::kRowMajor, 1));
    operands.first_cell = StateOf(shape, first_cell, pair);
  }
  operands.lengths = lengths;
  return AddRecurrence(op, RecurrenceOf(shape, pair % shape.directions, products.state_bits),
                       std::move(operands), sums, hidden);
}

// Adds the step that puts the directions' hidden states side by side, with zeros after the ends of
// shorter sequences.
void AddJoin(OpPlanner& op, const RnnShape& shape, const std::vector<Buffer>& hidden,
             std::optional<Buffer> lengths, Buffer out) {
  StepKernel step;
  step.reads = hidden;
  if (lengths) step.reads.push_back(*lengths);
  step.writes = {out};
  step.run = [=](const StepContext& run) {
    float* to = run.Floats(out).data();
    for (int64_t row = 0; row < shape.rows(); ++row) {
      const bool has_ended =
          lengths && row / shape.batch >= run.Of<int64_t>(*lengths)[row % shape.batch];
      for (const Buffer& buffer : hidden) {
        const float* const from = run.Floats(buffer).data() + row * shape.width;
        if (has_ended) {
          std::fill_n(to, shape.width, 0.0f);
        } else {
          std::copy_n(from, shape.width, to);
        }
        to += shape.width;
      }
    }
    return absl::OkStatus();
  };
  step.name = "join directions";
  op.AddStep(std::move(step));
}

// Adds the steps of all layers. `out` is where the last one's results go.
absl::StatusOr<PlannedRnn> AddLayers(OpPlanner& op, const RnnShape& shape, Buffer out) {
  PlannedRnn rnn;
  rnn.shape = shape;
  rnn.out = out;
  ASSIGN_OR_RETURN(const std::optional<Buffer> lengths, ReadLengths(op, shape));
  ASSIGN_OR_RETURN(const RnnProducts products, RnnProductsOf(op, shape));
  std::optional<Buffer> input;
  const bool is_out = shape.directions == 1 && !lengths;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const bool is_last = layer == shape.layers - 1;
    const Buffer result =
        is_last ? out
                : op.Scratch("layer", VarType::FP32, shape.rows() * shape.directions * shape.width);
    std::vector<Buffer> hidden;
    for (int d = 0; d < shape.directions; ++d) {
      ASSIGN_OR_RETURN(PlannedRecurrence direction,
                       AddDirection(op, shape, products, layer * shape.directions + d, input,
                                    lengths, is_out ? std::optional(result) : std::nullopt));
      hidden.push_back(direction.hidden);
      rnn.directions.push_back(std::move(direction));
    }
    if (!is_out) AddJoin(op, shape, hidden, lengths, result);
    if (!is_last) rnn.inputs.push_back(result);
    input = result;
  }
  return rnn;
}

// Adds the step that gathers the last states of all directions.
void AddLastStates(OpPlanner& op, const PlannedRnn& rnn) {
  const RnnShape& shape = rnn.shape;
  for (int i = 0; i < shape.states(); ++i) {
    if (!op.Wants("State", i)) continue;
    const Buffer state =
        op.WriteAs("State", {VarType::FP32, shape.state_dims()}, Layout::kRowMajor, i);
    StepKernel step;
    for (const PlannedRecurrence& direction : rnn.directions) {
      step.reads.push_back(i == 0 ? direction.hidden : *direction.cells);
    }
    step.writes = {state};
    step.run = [shape, state, from = step.reads](const StepContext& run) {
      const int64_t size = shape.batch * shape.width;
      for (size_t pair = 0; pair < from.size(); ++pair) {
        const bool is_reversed = static_cast<int>(pair) % shape.directions == 1;
        const int64_t last = is_reversed ? 0 : (shape.steps - 1) * size;
        std::copy_n(run.Floats(from[pair]).data() + last, size,
                    run.Floats(state).data() + static_cast<int64_t>(pair) * size);
      }
      return absl::OkStatus();
    };
    step.name = "last states";
    op.AddStep(std::move(step));
  }
}

absl::Status PlanForward(OpPlanner& op) {
  ASSIGN_OR_RETURN(const RnnShape shape, ShapeOf(op));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, shape.out_dims()});
  ASSIGN_OR_RETURN(PlannedRnn rnn, AddLayers(op, shape, out));
  AddLastStates(op, rnn);
  if (!TraitsOf(op.op()).is_on_integers) {
    const bool is_test = op.IsTest();
    DeferZeros(op, "Reserve", {VarType::FP32, is_test ? Dims{0} : shape.reserve_dims()});
    DeferZeros(op, "DropoutState", {VarType::UINT8, is_test ? Dims{0} : shape.out_dims()});
  }
  if (op.Wants("Out")) op.builder().Attach(op.OutputValue("Out"), std::move(rnn));
  return absl::OkStatus();
}

// The steps of the forward op, or, where it is not planned here, again.
absl::StatusOr<PlannedRnn> ForwardOf(OpPlanner& op, const RnnShape& shape) {
  ASSIGN_OR_RETURN(const int state_bits, StateBitsOf(op.attributes()));
  if (const Op* forward = op.ForwardOp(); forward != nullptr) {
    const Value* out = forward->Output("Out")->value();
    const auto* planned = out != nullptr ? op.builder().Attached<PlannedRnn>(*out) : nullptr;
    if (planned != nullptr && planned->shape == shape &&
        planned->directions.front().shape.state_bits == state_bits) {
      return *planned;
    }
  }
  const int64_t size = shape.rows() * shape.directions * shape.width;
  return AddLayers(op, shape, op.Scratch("out", VarType::FP32, size));
}

// The columns of a direction, of the gradient of a layer's results.
Buffer AddSplit(OpPlanner& op, const RnnShape& shape, int direction, Buffer dout) {
  if (shape.directions == 1) return dout;
  const Buffer part = op.Scratch("dout", VarType::FP32, shape.rows() * shape.width);
  op.AddStep({{dout},
              {part},
              [=](const StepContext& run) {
                const float* from = run.Floats(dout).data() + direction * shape.width;
                float* const to = run.Floats(part).data();
                for (int64_t row = 0; row < shape.rows(); ++row) {
                  std::copy_n(from + row * shape.directions * shape.width, shape.width,
                              to + row * shape.width);
                }
                return absl::OkStatus();
              },
              "",
              0,
              "split directions"});
  return part;
}

// Adds the steps of the gradients of a direction's weights that something reads.
absl::Status AddWeightGradients(OpPlanner& op, const RnnShape& shape, int pair, Buffer input,
                                const RecurrenceBack& back) {
  const int64_t columns = shape.gates() * shape.width;
  const auto write = [&](int index) {
    return op.WriteAs("WeightList@GRAD", op.InputType("WeightList", index), Layout::kRowMajor,
                      index);
  };
  const auto add_product = [&](int index, Buffer dsums, Buffer rows, int64_t width) {
    if (!op.Wants("WeightList@GRAD", index)) return absl::OkStatus();
    const ProductShape product{1, columns, shape.rows(), width, /*transpose_x=*/true, false};
    return AddProduct(op, product, 1, dsums, rows, write(index), "rnn_grad of weights");
  };
  const auto add_sums = [&](int index, Buffer dsums) {
    if (!op.Wants("WeightList@GRAD", index)) return absl::OkStatus();
    return AddColumnSums(op, dsums, columns, write(index), "rnn_grad of bias");
  };
  RETURN_IF_ERROR(add_product(RnnShape::InputWeight(pair), back.dsums, input,
                              shape.InputsOf(pair / shape.directions)));
  RETURN_IF_ERROR(
      add_product(RnnShape::StateWeight(pair), back.dproducts, back.before, shape.width));
  RETURN_IF_ERROR(add_sums(shape.InputBias(pair), back.dsums));
  return add_sums(shape.StateBias(pair), back.dproducts);
}

// Adds the steps of the gradient of a layer's input: the sum over its directions, in `out`.
absl::Status AddInputGradient(OpPlanner& op, const RnnShape& shape, int layer,
                              const std::vector<RecurrenceBack>& backs, Buffer out) {
  const ProductShape product{1, shape.rows(), shape.gates() * shape.width, shape.InputsOf(layer)};
  std::vector<Buffer> terms;
  for (int d = 0; d < shape.directions; ++d) {
    const int pair = layer * shape.directions + d;
    ASSIGN_OR_RETURN(const Buffer weights,
                     op.ReadFloats("WeightList", Layout::kRowMajor, RnnShape::InputWeight(pair)));
    terms.push_back(shape.directions == 1 ? out : op.Scratch("dinput", VarType::FP32, out.size));
    RETURN_IF_ERROR(
        AddProduct(op, product, 1, backs[d].dsums, weights, terms.back(), "rnn_grad of input"));
  }
  if (shape.directions == 1) return absl::OkStatus();
  op.AddStep({terms,
              {out},
              [=](const StepContext& run) {
                kernels::AddUp(out.size, run.Floats(terms[0]).data(), run.Floats(terms[1]).data(),
                               run.Floats(out).data());
                return absl::OkStatus();
              },
              "",
              0,
              "sum of directions"});
  return absl::OkStatus();
}

// Adds the step that gathers the gradients of the first states of all directions.
void AddFirstStates(OpPlanner& op, const RnnShape& shape,
                    const std::vector<RecurrenceBack>& backs) {
  for (int i = 0; i < shape.states(); ++i) {
    if (!op.Wants("PreState@GRAD", i)) continue;
    const Buffer gradient =
        op.WriteAs("PreState@GRAD", op.InputType("PreState", i), Layout::kRowMajor, i);
    StepKernel step;
    for (const RecurrenceBack& back : backs) {
      step.reads.push_back(i == 0 ? back.dhidden : back.dcell);
    }
    step.writes = {gradient};
    step.run = [gradient, from = step.reads](const StepContext& run) {
      float* to = run.Floats(gradient).data();
      for (const Buffer& part : from) {
        to = std::copy_n(run.Floats(part).data(), part.size, to);
      }
      return absl::OkStatus();
    };
    step.name = "gradients of first states";
    op.AddStep(std::move(step));
  }
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const RnnShape shape, ShapeOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", shape.out_dims()));
  std::vector<std::optional<Buffer>> dlast(2);
  if (op.HasInput("State@GRAD")) {
    if (op.InputCount("State@GRAD") != shape.states()) {
      return absl::InvalidArgumentError(absl::StrCat("State@GRAD has ", op.InputCount("State@GRAD"),
                                                     " values; want ", shape.states(), " or none"));
    }
    for (int i = 0; i < shape.states(); ++i) {
      RETURN_IF_ERROR(
          CheckStateDims("State@GRAD", op.InputDims("State@GRAD", i), shape.state_dims()));
      ASSIGN_OR_RETURN(dlast[i], op.ReadFloats("State@GRAD", Layout::kRowMajor, i));
    }
  }
  ASSIGN_OR_RETURN(Buffer dout, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(PlannedRnn forward, ForwardOf(op, shape));
  const int state_bits = forward.directions.front().shape.state_bits;
  std::vector<RecurrenceBack> all(forward.directions.size());
  for (int layer = shape.layers - 1; layer >= 0; --layer) {
    Buffer input;
    if (layer == 0) {
      ASSIGN_OR_RETURN(input, op.ReadFloats("Input"));
    } else {
      input = forward.inputs[layer - 1];
      if (state_bits != 0) input = AddRoundedStates(op, state_bits, input);
    }
    std::vector<RecurrenceBack> backs;
    for (int d = 0; d < shape.directions; ++d) {
      const int pair = layer * shape.directions + d;
      const auto last_of = [&](const std::optional<Buffer>& states) {
        return states ? std::optional(StateOf(shape, *states, pair)) : std::nullopt;
      };
      const Buffer dhidden = AddSplit(op, shape, d, dout);
      ASSIGN_OR_RETURN(forward.directions[pair].operands.weights,
                       op.ReadFloats("WeightList", Layout::kRowMajor, RnnShape::StateWeight(pair)));
      ASSIGN_OR_RETURN(const RecurrenceBack back,
                       AddRecurrenceBack(op, forward.directions[pair], dhidden, last_of(dlast[0]),
                                         last_of(dlast[1])));
      RETURN_IF_ERROR(AddWeightGradients(op, shape, pair, input, back));
      backs.push_back(back);
      all[pair] = back;
    }
    if (layer == 0 && !op.Wants("Input@GRAD")) break;
    dout = layer == 0 ? op.WriteAs("Input@GRAD", op.InputType("Input"))
                      : op.Scratch("dlayer", VarType::FP32, shape.rows() * shape.InputsOf(layer));
    RETURN_IF_ERROR(AddInputGradient(op, shape, layer, backs, dout));
  }
  AddFirstStates(op, shape, all);
  return absl::OkStatus();
}

}  // namespace

OpPlans RnnPlans() {
  return {{"rnn", PlanForward}, {"integer_rnn", PlanForward}, {"rnn_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
