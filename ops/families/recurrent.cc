// Recurrent networks: over padded steps, over sequences, and one step at a time.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/state_codes.h"
#include "proto/base/status_macros.h"

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

// The gradient op does not read Input, whose gates BatchGate holds.
absl::Status InferLstmpGradient(InferContext& op) {
  RETURN_IF_ERROR(InferGradients(op));
  op.SetOutputLike("Input@GRAD", op.Input("BatchGate"));
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
  TensorInfo input = op.Input("Input");
  if (op.InputCount("Scales") > 0) input.dtype = VarType::FP32;  // of codes
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

OpSchema::AxisFunction AxisOf(const char* weight, int axis) {
  return [weight, axis](const Op&, absl::string_view slot) -> std::optional<int> {
    if (slot != weight) return std::nullopt;
    return axis;
  };
}

// What an op and the one on integers have in common.
OpSchemaBuilder& AddLstmAttrs(OpSchemaBuilder& op) {
  return op.Attr("use_peepholes", Bool(true))
      .Attr("is_reverse", Bool(false))
      .Attr("gate_activation", String("sigmoid"))
      .Attr("cell_activation", String("tanh"))
      .Attr("candidate_activation", String("tanh"));
}

OpSchemaBuilder& AddGruAttrs(OpSchemaBuilder& op) {
  return op.Attr("activation", String("tanh"))
      .Attr("gate_activation", String("sigmoid"))
      .Attr("is_reverse", Bool(false))
      .Attr("origin_mode", Bool(false));
}

OpSchemaBuilder& AddRnnAttrs(OpSchemaBuilder& op) {
  return op.Attr("dropout_prob", Float(0))
      .Attr("is_bidirec", Bool(false))
      .Attr("input_size", Int(10))
      .Attr("hidden_size", Int(100))
      .Attr("num_layers", Int(1))
      .Attr("mode", String("RNN_TANH"));
}

void DefineOnIntegers(OpList& ops) {
  constexpr char kProducts[] =
      " whose products with weights are of codes: the hidden state is rounded to state_bits (1 is "
      "the largest code), and each sum multiplied by the scale of its column, in Scales.";
  AddLstmAttrs(ops.Define("integer_lstm(Input, H0?, C0?, Weight, Scales, Bias) -> (Hidden, Cell)"))
      .Doc(absl::StrCat("lstm, with Weight [D,4D], INT8, and Scales [4D],", kProducts))
      .IsOnIntegers()
      .Attr(kStateBitsAttr, Required(INT))
      .Infer(InferGated(4, {"Hidden", "Cell"}))
      .TakeLod({"Hidden", "Cell"});
  AddGruAttrs(ops.Define("integer_gru(Input, H0?, Weight, Scales, Bias?) -> (Hidden)"))
      .Doc(absl::StrCat("gru, with Weight [D,3D], INT8, and Scales [3D],", kProducts))
      .IsOnIntegers()
      .Attr(kStateBitsAttr, Required(INT))
      .Infer(InferGated(3, {"Hidden"}));
  AddRnnAttrs(ops.Define("integer_rnn(Input, PreState*, WeightList*, Scales*, SequenceLength?) -> "
                         "(Out, State*)"))
      .Doc(absl::StrCat(
          "rnn in test mode of codes Input, INT8 or UINT8, less input_zero_point, with "
          "matrices in WeightList that are INT8, and Scales in their order,",
          kProducts))
      .IsOnIntegers()
      .Attr(kStateBitsAttr, Required(INT))
      .Attr("input_zero_point", Int(0))
      .Infer(InferRnn)
      .TakeLod({});
}

}  // namespace

std::vector<OpSchema> RecurrentOps() {
  OpList ops;
  DefineOnIntegers(ops);
  AddLstmAttrs(ops.Define("lstm(Input, H0?, C0?, Weight, Bias) -> (Hidden, Cell, BatchGate@1, "
                          "BatchCellPreAct@1, BatchGate?@2, BatchCellPreAct?@2)"))
      .Doc("LSTM over sequences; Input [T,4D] holds the gates' projections, Weight is [D,4D].")
      .Attr(kStateBitsAttr, Int(0))
      .Hints("is_test@2")
      .Infer(InferGated(4, {"Hidden", "Cell", "BatchCellPreAct"}))
      .TakeLod({"Hidden", "Cell"})
      .QuantizableInput("Weight", SlotRole::WEIGHT)
      .WeightAxis(AxisOf("Weight", 1))
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
      .Gradient(
          "lstmp_grad(H0, C0, Weight, ProjWeight, Bias, Projection, Cell, BatchGate, "
          "BatchCellPreAct, BatchHidden, Projection@GRAD) -> "
          "(Input@GRAD, Weight@GRAD, ProjWeight@GRAD, Bias@GRAD, H0@GRAD, C0@GRAD)")
      .GradientInfer(InferLstmpGradient);
  // Two matrices lie in its weight, so that no axis has its channels.
  AddGruAttrs(
      ops.Define("gru(Input, H0?, Weight, Bias?) -> (BatchGate@1, BatchResetHiddenPrev@1, "
                 "BatchHidden@1, BatchGate?@2, BatchResetHiddenPrev?@2, BatchHidden?@2, Hidden)"))
      .Doc("GRU over sequences; Input [T,3D] holds the gates' projections, Weight is [D,3D].")
      .Attr(kStateBitsAttr, Int(0))
      .Hints("is_test@2")
      .QuantizableInput("Weight", SlotRole::WEIGHT)
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
  AddRnnAttrs(ops.Define("rnn(Input, PreState*, WeightList*, SequenceLength?) -> "
                         "(Out, DropoutState?, State*, Reserve)"))
      .Doc("Layers of a recurrent network (mode LSTM, GRU, RNN_TANH, RNN_RELU), Input [T,N,D].")
      .Attr(kStateBitsAttr, Int(0))
      .QuantizableInput("Input", SlotRole::ACTIVATION)
      .QuantizableInput("WeightList", SlotRole::WEIGHT)
      .WeightAxis(AxisOf("WeightList", 0))
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
