// Recurrent networks: over padded steps, over sequences, and one step at a time.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

// `gates` gates side by side in each row of Input.
OpSchema::InferFunction InferGated(int gates, std::vector<const char*> outputs) {
  return [gates, outputs](InferContext& op) {
    const TensorInfo input = op.Input("Input");
    if (input.rank() == 2 && input.dims[1] % gates != 0 && input.dims[1] >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input is ", DimsText(input.dims), "; want a second dim that ", gates, " gates divide"));
    }
    op.SetOutputLike("BatchGate", input);
    for (const char* slot : outputs) {
      op.SetOutput(slot, input.dtype, std::nullopt);
      if (input.rank() != 2) continue;
      const int64_t width = input.dims[1] < 0 ? kUnknownDim : input.dims[1] / gates;
      op.SetOutput(slot, input.dtype, Dims{input.dims[0], width});
    }
    return absl::OkStatus();
  };
}

// Projection has the columns of ProjWeight.
absl::Status InferLstmp(InferContext& op) {
  absl::Status inferred = InferGated(4, {"Cell", "BatchHidden", "BatchCellPreAct"})(op);
  if (!inferred.ok()) return inferred;
  const TensorInfo input = op.Input("Input");
  const TensorInfo projection = op.Input("ProjWeight");
  op.SetOutput("Projection", input.dtype, std::nullopt);
  if (input.rank() == 2 && projection.rank() == 2) {
    op.SetOutput("Projection", input.dtype, Dims{input.dims[0], projection.dims[1]});
  }
  return absl::OkStatus();
}

absl::Status InferLstmUnit(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo cell = op.Input("C_prev");
  if (x.rank() == 2 && cell.rank() == 2 && x.dims[1] >= 0 &&
      (x.dims[1] % 4 != 0 || !MayBeEqual(x.dims[1] / 4, cell.dims[1]))) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and C_prev ",
                                                   DimsText(cell.dims),
                                                   "; want [N,4*D] and [N,D]"));
  }
  for (const char* slot : {"C", "H"}) op.SetOutputLike(slot, cell);
  return absl::OkStatus();
}

absl::Status InferGruUnit(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo hidden = op.Input("HiddenPrev");
  if (input.rank() == 2 && hidden.rank() == 2 && input.dims[1] >= 0 &&
      (input.dims[1] % 3 != 0 || !MayBeEqual(input.dims[1] / 3, hidden.dims[1]))) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input.dims),
                                                   " and HiddenPrev ", DimsText(hidden.dims),
                                                   "; want [N,3*D] and [N,D]"));
  }
  op.SetOutputLike("Gate", input);
  for (const char* slot : {"ResetHiddenPrev", "Hidden"}) op.SetOutputLike(slot, hidden);
  return absl::OkStatus();
}

absl::Status InferRnn(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  for (int i = 0; i < op.OutputCount("State"); ++i) {
    op.SetOutputLike("State", i, op.Input("PreState", i));
  }
  op.SetOutput("Out", input.dtype, std::nullopt);
  if (!input.has_dims()) return absl::OkStatus();
  const int64_t width = op.Int("hidden_size");
  const bool is_bidirectional = op.Bool("is_bidirec");
  int64_t columns = width;
  if (input.rank() != 3 || width < 1 ||
      __builtin_mul_overflow(width, is_bidirectional ? 2 : 1, &columns)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(input.dims), " and hidden_size ", width,
                     "; want [steps, batch, features] and at least 1"));
  }
  op.SetOutput("Out", input.dtype, Dims{input.dims[0], input.dims[1], columns});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> RecurrentOps() {
  OpList ops;
  ops.Define(
         "lstm(Input, H0?, C0?, Weight, Bias) -> (Hidden, Cell, BatchGate@1, BatchCellPreAct@1, "
         "BatchGate?@2, BatchCellPreAct?@2)")
      .Doc("LSTM over sequences; Input [T,4D] holds the gates' projections, Weight is [D,4D].")
      .Attr("use_peepholes", Bool(true))
      .Attr("is_reverse", Bool(false))
      .Attr("gate_activation", String("sigmoid"))
      .Attr("cell_activation", String("tanh"))
      .Attr("candidate_activation", String("tanh"))
      .Hints("is_test@2")
      .Infer(InferGated(4, {"Hidden", "Cell", "BatchCellPreAct"}))
      .TakeLod({"Hidden", "Cell"})
      .QuantizableOutputs({"Hidden"})
      .Gradient(
          "lstm_grad(Input, H0, C0, Weight, Bias, Hidden, Cell, BatchGate, BatchCellPreAct, "
          "Hidden@GRAD) -> (Input@GRAD, Weight@GRAD, Bias@GRAD, H0@GRAD, C0@GRAD)");
  ops.Define(
         "lstmp(Input, H0?, C0?, Weight, ProjWeight, Bias) -> (Projection, Cell, BatchGate, "
         "BatchCellPreAct, BatchHidden)")
      .Doc("LSTM over sequences whose hidden state is projected by ProjWeight [D,P]; 1.x only.")
      .Attr("use_peepholes", Bool(true))
      .Attr("is_reverse", Bool(false))
      .Attr("cell_clip", Float(0))
      .Attr("proj_clip", Float(0))
      .Attr("gate_activation", String("sigmoid"))
      .Attr("cell_activation", String("tanh"))
      .Attr("candidate_activation", String("tanh"))
      .Attr("proj_activation", String("tanh"))
      .Infer(InferLstmp)
      .TakeLod({"Projection", "Cell"})
      .QuantizableOutputs({"Projection"})
      .GradientNotKnown();
  ops.Define(
         "gru(Input, H0?, Weight, Bias?) -> (BatchGate@1, BatchResetHiddenPrev@1, BatchHidden@1, "
         "BatchGate?@2, BatchResetHiddenPrev?@2, BatchHidden?@2, Hidden)")
      .Doc("GRU over sequences; Input [T,3D] holds the gates' projections, Weight is [D,3D].")
      .Attr("activation", String("tanh"))
      .Attr("gate_activation", String("sigmoid"))
      .Attr("is_reverse", Bool(false))
      .Attr("origin_mode", Bool(false))
      .Hints("is_test@2")
      .Infer(InferGated(3, {"Hidden", "BatchHidden", "BatchResetHiddenPrev"}))
      .TakeLod({"Hidden"})
      .QuantizableOutputs({"Hidden"})
      .Gradient(
          "gru_grad(Input, H0, Weight, Bias, BatchGate, BatchResetHiddenPrev, BatchHidden, Hidden, "
          "Hidden@GRAD) -> (Input@GRAD, Weight@GRAD, Bias@GRAD, H0@GRAD)");
  ops.Define("lstm_unit(X, C_prev) -> (C, H)")
      .Doc("One step of an LSTM; X [N,4D] holds the sums of its gates, in the order i, f, o, g.")
      .Attr("forget_bias", Float(0))
      .Infer(InferLstmUnit)
      .QuantizableOutputs({"C", "H"})
      .Gradient("lstm_unit_grad(X, C_prev, C, H, C@GRAD, H@GRAD) -> (X@GRAD, C_prev@GRAD)");
  ops.Define("gru_unit(Input, HiddenPrev, Weight, Bias?) -> (Gate, ResetHiddenPrev, Hidden)")
      .Doc("One step of a GRU; Input [N,3D] holds the gates' projections, Weight is [D,3D].")
      .Attr("activation", Int(2))
      .Attr("gate_activation", Int(1))
      .Attr("origin_mode", Bool(false))
      .Infer(InferGruUnit)
      .QuantizableOutputs({"Hidden"})
      .Gradient(
          "gru_unit_grad(Input, HiddenPrev, Weight, Bias, Gate, ResetHiddenPrev, Hidden@GRAD) -> "
          "(Input@GRAD, HiddenPrev@GRAD, Weight@GRAD, Bias@GRAD)");
  ops.Define(
         "rnn(Input, PreState*, WeightList*, SequenceLength?) -> "
         "(Out, DropoutState?, State*, Reserve)")
      .Doc("Layers of a recurrent network (mode LSTM, GRU, RNN_TANH, RNN_RELU), Input [T,N,D].")
      .Attr("dropout_prob", Float(0))
      .Attr("is_bidirec", Bool(false))
      .Attr("input_size", Int(10))
      .Attr("hidden_size", Int(100))
      .Attr("num_layers", Int(1))
      .Attr("mode", String("RNN_TANH"))
      .Attr("seed", Int(0))
      .Hints("is_test")
      .Infer(InferRnn)
      .TakeLod({})
      .Gradient(
          "rnn_grad(Input, PreState, WeightList, SequenceLength, Out, DropoutState, Reserve, "
          "Out@GRAD, State@GRAD) -> (Input@GRAD, PreState@GRAD, WeightList@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
