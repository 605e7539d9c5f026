// Ops over sequences: rows of a tensor, cut by its offsets (LoD) or padded.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferSequenceConv(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.rank() != 2 || filter.rank() != 2) return absl::OkStatus();
  const int64_t length = op.Int("contextLength");
  int64_t rows = kUnknownDim;
  if (length < 1 || (x.dims[1] >= 0 && __builtin_mul_overflow(length, x.dims[1], &rows)) ||
      !MayBeEqual(rows, filter.dims[0])) {
    return absl::InvalidArgumentError(absl::StrCat("Filter is ", DimsText(filter.dims), ", X ",
                                                   DimsText(x.dims), " and contextLength ", length,
                                                   "; want contextLength * X's width rows"));
  }
  op.SetOutput("Out", x.dtype, Dims{x.dims[0], filter.dims[1]});
  return absl::OkStatus();
}

// `gates` gates side by side in each row of Input.
OpSchema::InferFunction InferGated(int gates, std::vector<const char*> outputs) {
  return [gates, outputs](InferContext& op) {
    const TensorInfo input = op.Input("Input");
    if (input.rank() == 2 && input.dims[1] % gates != 0 && input.dims[1] >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input is ", DimsText(input.dims), "; want a second dim that ", gates, " gates divide"));
    }
    for (const char* slot : outputs) {
      op.SetOutput(slot, input.dtype, std::nullopt);
      if (input.rank() != 2) continue;
      const int64_t width = input.dims[1] < 0 ? kUnknownDim : input.dims[1] / gates;
      op.SetOutput(slot, input.dtype, Dims{input.dims[0], width});
    }
    return absl::OkStatus();
  };
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

// Only MAX's gradient op has the slot.
void DropMaxIndexUnlessMax(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> pool = OpAttributes::Of(forward, era);
  if (!pool || pool->String("pooltype") != "MAX") DropGradientInput("MaxIndex", gradients);
}

}  // namespace

std::vector<OpSchema> SequenceOps() {
  OpList ops;
  ops.Define("sequence_conv(X, PaddingData?, Filter) -> (Out)")
      .Doc("Product of Filter [contextLength*D,M] with the rows around each row of X.")
      .Attr("paddingTrainable", Bool(false))
      .Attr("contextLength", Required(INT))
      .Attr("contextStart", Int(0))
      .Attr("contextStride", Int(1))
      .Infer(InferSequenceConv)
      .Gradient("sequence_conv_grad(X, Filter, Out@GRAD) -> (X@GRAD, Filter@GRAD)");
  ops.Define("sequence_pool(X) -> (Out, MaxIndex)")
      .Doc("One row per sequence: its AVERAGE, SUM, SQRT, MAX, LAST or FIRST.")
      .Attr("pooltype", String("AVERAGE"))
      .Attr("pad_value", Float(0))
      .Hints("is_test")
      .Infer(SameAs("X", {"Out"}))
      .PoolsSequences()
      .Gradient("sequence_pool_grad(X, MaxIndex?, Out@GRAD) -> (X@GRAD)")
      .GradientBy(DropMaxIndexUnlessMax);
  ops.Define("sequence_softmax(X) -> (Out)")
      .Doc("Softmax over each sequence.")
      .Attr("data_format", String("AnyLayout"))
      .Hints("use_cudnn")
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
  ops.Define("sequence_expand(X, Y) -> (Out)")
      .Doc("X's sequences repeated as Y's offsets say.")
      .Attr("ref_level", Int(-1))
      .GradientNotKnown();
  ops.Define("lod_reset(X, Y?) -> (Out)")
      .Doc("X with other offsets.")
      .Attr("target_lod", Ints({}))
      .Attr("append", Bool(false))
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
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
      .QuantizableOutputs({"Hidden"})
      .Gradient(
          "lstm_grad(Input, H0, C0, Weight, Bias, Hidden, Cell, BatchGate, BatchCellPreAct, "
          "Hidden@GRAD) -> (Input@GRAD, Weight@GRAD, Bias@GRAD, H0@GRAD, C0@GRAD)");
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
      .QuantizableOutputs({"Hidden"})
      .GradientNotKnown();
  ops.Define("lstm_unit(X, C_prev) -> (C, H)")
      .Doc("One step of an LSTM; X [N,4D] holds the sums of its gates, in the order i, f, o, g.")
      .Attr("forget_bias", Float(0))
      .Infer(SameAs("C_prev", {"C", "H"}))
      .QuantizableOutputs({"C", "H"})
      .GradientNotKnown();
  ops.Define("gru_unit(Input, HiddenPrev, Weight, Bias?) -> (Gate, ResetHiddenPrev, Hidden)")
      .Doc("One step of a GRU; Input [N,3D] holds the gates' projections, Weight is [D,3D].")
      .Attr("activation", Int(2))
      .Attr("gate_activation", Int(1))
      .Attr("origin_mode", Bool(false))
      .Infer(InferGruUnit)
      .QuantizableOutputs({"Hidden"})
      .GradientNotKnown();
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
      .GradientNotKnown();
  return ops.Build();
}

}  // namespace fixpoint
