// Simulated quantization: ops that round values to those that integer codes can represent.
//
// bin = 2^(bit_length - 1) - 1; codes of a value x at scale s are round(bin / s * clamp(x, -s, s)).

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/families/quantized_bias.h"
#include "ops/families/requantization.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/row_format.h"
#include "ops/stochastic_codes.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckBitLength(InferContext& op) {
  return CheckBits("bit_length", op.Int("bit_length"), kLeastBitsOfOps);
}

// The number of channels along quant_axis; unknown if X's is.
absl::StatusOr<int64_t> ChannelCount(const TensorInfo& x, int64_t axis) {
  if (!x.has_dims()) return kUnknownDim;
  if (axis >= 0 && axis <= 1 && axis < x.rank()) return x.dims[axis];
  return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                 DimsText(x.dims), "; want 0 or 1, an axis of X"));
}

// One scale for the tensor: Out like X, and the scale's state with one element each.
absl::Status InferObserver(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  for (const char* state : {"OutScale", "OutState", "OutAccum"}) {
    op.SetOutput(state, x.dtype, Dims{1});
  }
  return absl::OkStatus();
}

absl::Status InferPerTensor(InferContext& op) {
  RETURN_IF_ERROR(CheckBitLength(op));
  return InferObserver(op);
}

absl::Status InferRange(InferContext& op) {
  RETURN_IF_ERROR(InferPerTensor(op));
  ASSIGN_OR_RETURN(const int64_t window, PositiveAttr(op, "window_size"));
  op.SetOutput("OutScales", op.Input("X").dtype, Dims{window});
  return absl::OkStatus();
}

absl::Status InferPerChannel(InferContext& op) {
  RETURN_IF_ERROR(CheckBitLength(op));
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const int64_t channels, ChannelCount(x, op.Int("quant_axis")));
  op.SetOutputLike("Out", x);
  op.SetOutput("OutScale", x.dtype, Dims{channels});
  return absl::OkStatus();
}

absl::Status InferPerChannelDequantize(InferContext& op) {
  const int count = op.InputCount("Scales");
  if (count < 1 || count > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scales has ", count, " arguments; want 1 or 2"));
  }
  const size_t bits = op.Ints("quant_bits").size();
  if (bits < static_cast<size_t>(count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("quant_bits has ", bits, " values; want one per argument of Scales: ", count));
  }
  const TensorInfo x = op.Input("X");
  const TensorInfo scales = op.Input("Scales", 0);
  if (count == 1 && scales.rank() == 1) {
    ASSIGN_OR_RETURN(const int64_t channels, ChannelCount(x, op.Int("quant_axis")));
    if (!MayBeEqual(channels, scales.dims[0])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Scales is ", DimsText(scales.dims), " and X ", DimsText(x.dims), " has ", channels,
          " channels on quant_axis ", op.Int("quant_axis"), "; want equal numbers"));
    }
  }
  // Codes may be held as integers; dequantized, they have the type of their scale.
  TensorInfo out = x;
  out.dtype = scales.dtype;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

absl::Status InferPerTensorDequantize(InferContext& op) {
  TensorInfo out = op.Input("X");
  out.dtype = op.Input("Scale").dtype;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

absl::Status InferQuantizeLinear(InferContext& op) {
  RETURN_IF_ERROR(CheckBitLength(op));
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Y", x);
  const int64_t axis = op.Int("quant_axis");
  int64_t channels = 1;
  if (axis != -1) {
    ASSIGN_OR_RETURN(channels, ChannelCount(x, axis));
  }
  op.SetOutput("OutScale", x.dtype, Dims{channels});
  // Per channel, the moving average's state is carried, in any shape, and not used.
  for (const char* state : {"State", "Accum"}) {
    op.SetOutputLike(absl::StrCat("Out", state), op.Input(absl::StrCat("In", state)));
  }
  return absl::OkStatus();
}

absl::Status InferDequantizeLinear(InferContext& op) {
  RETURN_IF_ERROR(CheckBitLength(op));
  TensorInfo y = op.Input("X");
  y.dtype = op.Input("Scale").dtype;
  op.SetOutputLike("Y", y);
  return absl::OkStatus();
}

absl::Status InferTableDequantize(InferContext& op) {
  TensorInfo out = op.Input("X");
  out.dtype = VarType::FP32;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

// W rows hold minimum, maximum, then codes, four to an element.
absl::Status InferLookupDequantize(InferContext& op) {
  const TensorInfo w = op.Input("W");
  const TensorInfo ids = op.Input("Ids");
  op.SetOutput("Out", VarType::FP32, std::nullopt);
  const absl::StatusOr<RowFormat> format = RowFormatOf(op.String(kRowFormatAttr));
  if (!format.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kRowFormatAttr, ": ", format.status().message()));
  }
  if (w.rank() != 2 || !ids.has_dims() || ids.dims.empty()) return absl::OkStatus();
  Dims out(ids.dims.begin(), ids.dims.end() - 1);
  if (*format != RowFormat::kPaddleDequant) {
    out.push_back(kUnknownDim);  // the bytes of a row do not say how many codes they hold
    op.SetOutput("Out", VarType::FP32, out);
    return absl::OkStatus();
  }
  const int64_t words = w.dims[1];
  if (words == 0 || words == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("W is ", DimsText(w.dims), "; want rows of more than 2"));
  }
  int64_t width = kUnknownDim;
  if (words > 0 && __builtin_mul_overflow(words - 2, 4, &width)) {
    return absl::InvalidArgumentError(
        absl::StrCat("W is ", DimsText(w.dims), ", whose rows are more than an int64 counts"));
  }
  out.push_back(width);
  op.SetOutput("Out", VarType::FP32, out);
  return absl::OkStatus();
}

OpSchemaBuilder& Define(OpList& ops, QuantOp quant_op, absl::string_view signature) {
  OpSchemaBuilder& op = ops.Define(signature).Quantizes(quant_op);
  if (quant_op == QuantOp::kQuantizeDequantize || quant_op == QuantOp::kObserve) {
    op.Gradient("stright_throuth_estimator_grad(Out@GRAD) -> (X@GRAD)", Eras::kPaddle2)
        .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}));
  }
  return op;
}

OpSchemaBuilder& DefineRounding(OpList& ops, QuantOp quant_op, absl::string_view signature) {
  return Define(ops, quant_op, signature)
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(1), Eras::kPaddle2);
}

// The zero point is 0, so no code is below 0 if no float is.
OpSchemaBuilder& DefineSymmetric(OpList& ops, QuantOp quant_op, absl::string_view signature) {
  OpSchemaBuilder& op = DefineRounding(ops, quant_op, signature).KeepsSign();
  if (quant_op == QuantOp::kQuantizeDequantize) op.MultipliesByStepInFluid();
  return op;
}

// One that finds its range, which it may widen.
OpSchemaBuilder& DefineFinding(OpList& ops, QuantOp quant_op, absl::string_view signature) {
  return DefineSymmetric(ops, quant_op, signature).Attr("power_of_two_steps", Bool(false));
}

OpSchemaBuilder& DefineLinear(OpList& ops, QuantOp quant_op, absl::string_view type) {
  return Define(ops, quant_op,
                absl::StrCat(type,
                             "(X, Scale, ZeroPoint, InAccum?, InState?) -> "
                             "(Y, OutState?, OutAccum?, OutScale?)"))
      .KeepsSign()
      .Attr("quant_axis", Int(0))
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(0))
      .Attr("is_test", Bool(true))
      .Attr("only_observer", Bool(false))
      .Attr("moving_rate", Float(0.9f))
      .TrainingState("InState -> OutState, InAccum -> OutAccum");
}

void DefineQuantizers(OpList& ops) {
  DefineFinding(ops, QuantOp::kQuantize, "fake_quantize_abs_max(X) -> (Out, OutScale)")
      .Doc("Out = codes of X at the scale OutScale = max|X|, in training and in inference.")
      .Infer(InferPerTensor);
  DefineSymmetric(ops, QuantOp::kQuantize,
                  "fake_quantize_range_abs_max(X, InScale, Iter?) -> (Out, OutScale, OutScales?)")
      .Doc(
          "Codes at the largest max|X| of the last window_size steps. OutScales [window_size] is "
          "read and written in place. is_test: at InScale, and nothing else is written.")
      .Attr("window_size", Int(10000))
      .Attr("is_test", Bool(false))
      .TrainingState("InScale -> OutScale, Iter ->, -> OutScales")
      .Infer(InferRange);
  constexpr char kMovingAverage[] =
      "(X, InScale, InAccum?, InState?) -> (Out, OutScale, OutState?, OutAccum?)";
  constexpr char kMovingAverageState[] =
      "InScale -> OutScale, InState -> OutState, InAccum -> OutAccum";
  DefineFinding(ops, QuantOp::kQuantize,
                absl::StrCat("fake_quantize_moving_average_abs_max", kMovingAverage))
      .Doc(
          "Codes at a moving average of max|X|: state = rate * state + 1, accum = rate * accum + "
          "max|X|, scale = accum / state. is_test: at InScale.")
      .Attr("moving_rate", Float(0.9f))
      .Attr("is_test", Bool(false))
      .TrainingState(kMovingAverageState)
      .Infer(InferPerTensor);
  DefineFinding(ops, QuantOp::kQuantize, "fake_channel_wise_quantize_abs_max(X) -> (Out, OutScale)")
      .Doc(
          "Codes at one scale per channel, OutScale [C], C along quant_axis. is_test: OutScale is "
          "read.")
      .Attr("quant_axis", Int(0), Eras::kPaddle2)
      .Attr("is_test", Bool(false), Eras::kPaddle2)
      .Infer(InferPerChannel);
  DefineFinding(ops, QuantOp::kQuantizeDequantize,
                "fake_quantize_dequantize_abs_max(X) -> (Out, OutScale)")
      .Doc("fake_quantize_abs_max, then dequantized.")
      .Infer(InferPerTensor);
  DefineFinding(ops, QuantOp::kQuantizeDequantize,
                absl::StrCat("fake_quantize_dequantize_moving_average_abs_max", kMovingAverage))
      .Doc("fake_quantize_moving_average_abs_max, then dequantized.")
      .Attr("moving_rate", Float(0.9f))
      .Attr("is_test", Bool(false))
      .TrainingState(kMovingAverageState)
      .Infer(InferPerTensor);
  DefineFinding(ops, QuantOp::kQuantizeDequantize,
                "fake_channel_wise_quantize_dequantize_abs_max(X) -> (Out, OutScale)")
      .Doc("fake_channel_wise_quantize_abs_max, then dequantized.")
      .Attr("quant_axis", Int(0))
      .Infer(InferPerChannel);
  Define(ops, QuantOp::kObserve,
         "moving_average_abs_max_scale(X, InAccum?, InState?) -> "
         "(Out@1, Out?@2, OutScale, OutState?, OutAccum?)")
      .Doc("Follows the moving average of max|X|; Out, if there, is X.")
      .Attr("moving_rate", Float(0.9f))
      .Attr("is_test", Bool(false))
      .Attr("power_of_two_steps", Bool(false))
      .Attr("bit_length", Int(8))
      .TrainingState("InState -> OutState, InAccum -> OutAccum")
      .Infer(InferObserver);
}

absl::Status InferAffine(InferContext& op) {
  for (const char* state : {"OutZeroPoint", "OutAccumMin", "OutAccumMax"}) {
    op.SetOutput(state, VarType::FP32, Dims{1});
  }
  return InferPerTensor(op);
}

// The number of rows along quant_axis, any axis of X; unknown if X's is.
absl::StatusOr<int64_t> RowCount(const TensorInfo& x, int64_t axis) {
  if (!x.has_dims()) return kUnknownDim;
  if (axis >= 0 && axis < x.rank()) return x.dims[axis];
  return absl::InvalidArgumentError(
      absl::StrCat("quant_axis is ", axis, " and X is ", DimsText(x.dims), "; want an axis of X"));
}

absl::Status InferRowWise(InferContext& op) {
  RETURN_IF_ERROR(CheckBitLength(op));
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const int64_t rows, RowCount(x, op.Int("quant_axis")));
  op.SetOutputLike("Out", x);
  op.SetOutput("OutScale", VarType::FP32, Dims{rows});
  op.SetOutput("OutZeroPoint", VarType::INT32, Dims{rows});
  return absl::OkStatus();
}

absl::Status InferRowWiseDequantize(InferContext& op) {
  TensorInfo out = op.Input("X");
  ASSIGN_OR_RETURN(const int64_t rows, RowCount(out, op.Int("quant_axis")));
  for (const char* slot : {"Scale", "ZeroPoint"}) {
    const TensorInfo of_rows = op.Input(slot);
    if (!of_rows.has_dims() || (of_rows.rank() == 1 && MayBeEqual(of_rows.dims[0], rows))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(of_rows.dims), " and X ", DimsText(out.dims), " has ",
                     rows, " rows on quant_axis ", op.Int("quant_axis"), "; want one for each"));
  }
  out.dtype = VarType::FP32;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

void DefineRowWise(OpList& ops) {
  DefineRounding(ops, QuantOp::kQuantize,
                 "fake_row_wise_quantize_min_max(X) -> (Out, OutScale, OutZeroPoint)")
      .ScalesAreSteps()
      .Doc(
          "Out = round(X / scale) + zero point, signed codes with the step and the zero point that "
          "the smallest and the largest value of each row along quant_axis give.")
      .Attr("quant_axis", Int(0))
      .Infer(InferRowWise);
  Define(ops, QuantOp::kDequantize, "fake_row_wise_dequantize(X, Scale, ZeroPoint) -> (Out)")
      .ScalesAreSteps()
      .Doc(
          "Out = (X - ZeroPoint) * Scale, of codes, with those of each row along quant_axis; "
          "ZeroPoint is INT32.")
      .Attr("quant_axis", Int(0))
      .Infer(InferRowWiseDequantize);
}

// Ops that the reference does not have.
void DefineOwnQuantizers(OpList& ops) {
  DefineFinding(
      ops, QuantOp::kQuantize,
      "fake_quantize_window_mean_abs_max(X, InScale, Iter?) -> (Out, OutScale, OutScales?)")
      .Doc(
          "Codes at the mean of max|X| over the last window_size steps, which OutScales holds. "
          "is_test: at InScale.")
      .Attr("window_size", Int(10000))
      .Attr("is_test", Bool(false))
      .TrainingState("InScale -> OutScale, Iter ->, -> OutScales")
      .Infer(InferRange);
  Define(ops, QuantOp::kQuantizeDequantize,
         absl::StrCat(kQuantizeStochastically, "(X) -> (Out, OutScale)"))
      .KeepsSign()
      .DrawsNumbers()
      .Doc(
          "X rounded to codes up or down by chance, so that its mean stays, at the scale OutScale "
          "= max|X|, and dequantized; for gradients. Of four dimensions, the second counts as the "
          "last when numbers are drawn for elements.")
      .Attr("bit_length", Int(8))
      .Attr("seed", Int(0))
      .Infer(InferPerTensor);
  DefineRounding(ops, QuantOp::kQuantize,
                 "fake_quantize_moving_average_min_max(X, InScale, InZeroPoint, InState?, "
                 "InAccumMin?, InAccumMax?) -> (Out, OutScale, OutZeroPoint, OutState?, "
                 "OutAccumMin?, OutAccumMax?)")
      .ScalesAreSteps()
      .Doc(
          "Out = round(X * (1 / scale)) + zero point, with the step and the zero point of the "
          "moving "
          "averages of min(X) and max(X). is_test: of InScale and InZeroPoint.")
      .Attr("unsigned_codes", Bool(false))
      .Attr("moving_rate", Float(0.9f))
      .Attr("is_test", Bool(false))
      .TrainingState(
          "InScale -> OutScale, InZeroPoint -> OutZeroPoint, InState -> OutState, "
          "InAccumMin -> OutAccumMin, InAccumMax -> OutAccumMax")
      .Infer(InferAffine);
  Define(ops, QuantOp::kDequantize, "fake_dequantize_affine(X, Scale, ZeroPoint) -> (Out)")
      .ScalesAreSteps()
      .Doc("Out = (X - ZeroPoint) * Scale.")
      .Infer(InferPerTensorDequantize);
}

void DefineDequantizers(OpList& ops) {
  Define(ops, QuantOp::kDequantize, "fake_dequantize_max_abs(X, Scale) -> (Out)")
      .KeepsSign()
      .Doc("Out = X * Scale / max_range.")
      .Attr("max_range", Required(FLOAT))
      .Infer(InferPerTensorDequantize);
  Define(ops, QuantOp::kDequantize, "fake_channel_wise_dequantize_max_abs(X, Scales*) -> (Out)")
      .KeepsSign()
      .Doc(
          "One scale [C]: Out = X * scale[c] / (2^(quant_bits[0] - 1) - 1), c along quant_axis. A "
          "weight's [C] and an activation's [1]: X times both over both ranges, c along axis 1, or "
          "along x_num_col_dims where that is more.")
      .Attr("quant_bits", Ints({8}))
      .Attr("quant_axis", Int(0), Eras::kPaddle2)
      .Attr("x_num_col_dims", Int(1), Eras::kPaddle2)
      .Infer(InferPerChannelDequantize);
  Define(ops, QuantOp::kDequantize, "dequantize_abs_max(X, Scale) -> (Out)")
      .KeepsSign()
      .Doc("Out = X * Scale / max_range, of integers.")
      .Attr("max_range", Required(FLOAT))
      .Infer(InferTableDequantize);
  Define(ops, QuantOp::kDequantize, "dequantize_log(X, Dict) -> (Out)")
      .Doc("Looks up INT8 codes in Dict [128]; a negative code x is -Dict[x + 128].")
      .Infer(InferTableDequantize);
  Define(ops, QuantOp::kDequantize, "lookup_table_dequant(W, Ids) -> (Out)")
      .Doc(
          "lookup_table over rows of codes, each row with its own range, in a format of inspect "
          "rows: the reference has paddle_dequant, where W is FP32; in the others it is UINT8.")
      .Attr("padding_idx", Long(-1))
      .Attr(kRowFormatAttr, String(kPaddleRows))
      .Infer(InferLookupDequantize);
}

}  // namespace

std::vector<OpSchema> FakeQuantizeOps() {
  OpList ops;
  DefineQuantizers(ops);
  DefineOwnQuantizers(ops);
  DefineRowWise(ops);
  DefineBiasQuantizers(ops);
  DefineRequantization(ops);
  DefineDequantizers(ops);
  DefineLinear(ops, QuantOp::kQuantize, "quantize_linear")
      .Doc(
          "Codes at Scale, [1] (quant_axis -1) or per channel. Not is_test: at the scale that the "
          "moving average, or the channel's max|X|, gives; that is OutScale. ZeroPoint is not "
          "read.")
      .Attr("power_of_two_steps", Bool(false))
      .Infer(InferQuantizeLinear);
  DefineLinear(ops, QuantOp::kDequantize, "dequantize_linear")
      .Doc("Y = X * Scale / bin, of Scale's type. ZeroPoint is not read.")
      .Infer(InferDequantizeLinear);
  ops.Define(
         "fake_quantize(X, InScales?, InMovingScale?, InCurrentIter?) -> "
         "(Out, OutScales?, OutMovingScale?, OutCurrentIter?)")
      .Doc("The op of releases 0.14 and 0.15, before each quantizer had its own.")
      .Quantizes(QuantOp::kQuantize)
      .Attr("quantize_type", String("abs_max"))
      .Attr("window_size", Int(10000))
      .Attr("bit_length", Int(8))
      .Attr("is_test", Bool(false))
      .Infer(SameAs("X", {"Out"}));
  // Names of the straight-through estimator before 2.1 and from 2024 on.
  for (const char* type : {"fake_quantize_dequantize_grad", "straight_through_estimator_grad"}) {
    ops.Define(absl::StrCat(type, "(Out@GRAD) -> (X@GRAD?)"))
        .Doc("Straight-through estimator: X@GRAD = Out@GRAD.")
        .Infer(SameAs("Out@GRAD", {"X@GRAD"}));
  }
  return ops.Build();
}

}  // namespace fixpoint
