// Functions of one tensor, element by element.

#include <functional>

#include "absl/strings/str_cat.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

using F = ActivationFunction;
using FromAttributes = std::function<Activation(const OpAttributes& op)>;

float Number(const OpAttributes& op, const char* name) {
  return static_cast<float>(op.Float(name));
}

// The function with the attributes of those names for its parameters.
FromAttributes Of(F function) {
  return [=](const OpAttributes&) { return Activation{function}; };
}
FromAttributes Of(F function, const char* a) {
  return [=](const OpAttributes& op) { return Activation{function, Number(op, a)}; };
}
FromAttributes Of(F function, const char* a, const char* b) {
  return [=](const OpAttributes& op) { return Activation{function, Number(op, a), Number(op, b)}; };
}
FromAttributes Of(F function, const char* a, const char* b, const char* c) {
  return [=](const OpAttributes& op) {
    return Activation{function, Number(op, a), Number(op, b), Number(op, c)};
  };
}

// The reference's relu lets a NaN pass before 2.0, and makes it 0 since.
Activation ReluOfEra(const OpAttributes& op) {
  return {op.era() == Era::kFluid ? F::kReluKeepingNan : F::kRelu};
}

Activation Relu6(const OpAttributes& op) { return {F::kClip, 0, Number(op, "threshold")}; }

Activation Silu(const OpAttributes&) { return {F::kSwish, 1}; }

Activation Gelu(const OpAttributes& op) {
  return {op.Bool("approximate") ? F::kGeluByTanh : F::kGelu};
}

// What a gradient op reads besides Out@GRAD.
enum class GradientReads { kX, kOut };

OpSchemaBuilder& Define(OpList& ops, absl::string_view type, GradientReads reads,
                        absl::string_view doc) {
  return ops.Define(absl::StrCat(type, "(X) -> (Out)"))
      .Doc(doc)
      .Infer(SameAs("X", {"Out"}))
      .Gradient(absl::StrCat(type, "_grad(", reads == GradientReads::kX ? "X" : "Out",
                             ", Out@GRAD) -> (X@GRAD)"))
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}));
}

// Ops that the reference does not differentiate in a way that is known here.
OpSchemaBuilder& DefineForward(OpList& ops, absl::string_view type, absl::string_view doc) {
  return ops.Define(absl::StrCat(type, "(X) -> (Out)"))
      .Doc(doc)
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
}

void DefineRectifiers(OpList& ops) {
  Define(ops, "relu", GradientReads::kOut,
         "Out = max(X, 0). NaN stays NaN in 1.x and gives 0 in 2.x.")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableOutputs({"Out"})
      .Activates(ReluOfEra);
  Define(ops, "relu6", GradientReads::kOut, "Out = min(max(X, 0), threshold).")
      .NeverNegativeIf([](const OpAttributes& op) { return op.Float("threshold") >= 0; })
      .Attr("threshold", Float(6))
      .Hints("use_mkldnn@2")
      .QuantizableOutputs({"Out"})
      .Activates(Relu6);
  ops.Define("leaky_relu(X) -> (Out)")
      .Doc("Out = X where X >= 0, else alpha * X.")
      .Attr("alpha", Float(0.02f))
      .Hints("use_mkldnn")
      .Infer(SameAs("X", {"Out"}))
      .QuantizableOutputs({"Out"})
      .Gradient("leaky_relu_grad(Out, Out@GRAD) -> (X@GRAD)", Eras::kFluid)
      .Gradient("leaky_relu_grad(X, Out@GRAD) -> (X@GRAD)", Eras::kPaddle2)
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}))
      .Activates(Of(F::kLeakyRelu, "alpha"));
  ops.Define("prelu(X, Alpha) -> (Out)")
      .Doc("leaky_relu with a learned alpha: one (mode all), per channel, or per element.")
      .Attr("mode", String("all"))
      .Attr("data_format", String("NCHW"), Eras::kPaddle2)
      .Hints("is_test@2, use_mkldnn@2, mkldnn_data_type@2")
      .Infer(SameAs("X", {"Out"}))
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("prelu_grad(X, Alpha, Out@GRAD) -> (X@GRAD, Alpha@GRAD)");
  DefineForward(ops, "elu", "Out = X where X >= 0, else alpha * (exp(X) - 1).")
      .Attr("alpha", Float(1))
      .Hints("use_mkldnn@2")
      .Activates(Of(F::kElu, "alpha"));
  DefineForward(ops, "selu", "Out = scale * X where X > 0, else scale * alpha * (exp(X) - 1).")
      .Attr("scale", Float(1.0507009873554804934193349852946f))
      .Attr("alpha", Float(1.6732632423543772848170429916717f))
      .Activates(Of(F::kSelu, "alpha", "scale"));
  DefineForward(ops, "brelu", "Out = min(max(X, t_min), t_max).")
      .Attr("t_min", Float(0))
      .Attr("t_max", Float(24))
      .Activates(Of(F::kClip, "t_min", "t_max"));
  DefineForward(ops, "thresholded_relu", "Out = X where X > threshold, else 0.")
      .Attr("threshold", Float(1))
      .Activates(Of(F::kThresholdedRelu, "threshold"));
}

// Of codes, these are tables: no stage of an epilogue computes them.
void DefineSmooth(OpList& ops) {
  Define(ops, "sigmoid", GradientReads::kOut, "Out = 1 / (1 + exp(-X)).")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kSigmoid));
  Define(ops, "tanh", GradientReads::kOut, "Hyperbolic tangent.")
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kTanh));
  Define(ops, "hard_sigmoid", GradientReads::kOut, "Out = min(max(slope * X + offset, 0), 1).")
      .NeverNegative()
      .Attr("slope", Float(0.2f))
      .Attr("offset", Float(0.5f))
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kHardSigmoid, "slope", "offset"));
  Define(ops, "hard_swish", GradientReads::kX,
         "Out = X * min(max(X + offset, 0), threshold) / scale.")
      .Attr("threshold", Float(6))
      .Attr("scale", Float(6))
      .Attr("offset", Float(3))
      .Hints("use_mkldnn@2")
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kHardSwish, "threshold", "scale", "offset"));
  Define(ops, "swish", GradientReads::kX, "Out = X * sigmoid(beta * X).")
      .Attr("beta", Float(1))
      .Hints("use_mkldnn")
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kSwish, "beta"));
  Define(ops, "gelu", GradientReads::kX,
         "Out = X * (1 + erf(X / sqrt(2))) / 2; approximate: by tanh.")
      .Attr("approximate", Bool(false))
      .Hints("use_mkldnn, use_cudnn@1, mkldnn_data_type@2")
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .Activates(Gelu);
  ops.Define("silu(X) -> (Out)")
      .Doc("Out = X * sigmoid(X).")
      .Infer(SameAs("X", {"Out"}))
      .Gradient("silu_grad(X, Out?, Out@GRAD) -> (X@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}))
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .Activates(Silu);
  DefineForward(ops, "softplus",
                "Out = log(1 + exp(beta * X)) / beta; X where beta * X > threshold.")
      .Attr("beta", Float(1), Eras::kPaddle2)
      .Attr("threshold", Float(20), Eras::kPaddle2)
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kSoftplus, "beta", "threshold"));
  DefineForward(ops, "softsign", "Out = X / (1 + |X|).")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kSoftsign));
  DefineForward(ops, "logsigmoid", "Out = log(sigmoid(X)).")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kLogSigmoid));
  DefineForward(ops, "soft_relu", "Out = log(1 + exp(max(min(X, threshold), -threshold))).")
      .Attr("threshold", Float(40))
      .Activates(Of(F::kSoftRelu, "threshold"));
  DefineForward(ops, "mish", "Out = X * tanh(softplus(X)).")
      .Attr("threshold", Float(20))
      .Hints("use_mkldnn@2")
      .Activates(Of(F::kMish, "threshold"));
}

void DefineFunctions(OpList& ops) {
  Define(ops, "abs", GradientReads::kX, "Out = |X|.")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn@1")
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kAbs));
  Define(ops, "exp", GradientReads::kOut, "Out = e^X.")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kExp));
  Define(ops, "log", GradientReads::kX, "Natural logarithm.")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kLog));
  Define(ops, "sqrt", GradientReads::kOut, "Square root.")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kSqrt));
  Define(ops, "square", GradientReads::kX, "Out = X^2.")
      .NeverNegative()
      .Hints("use_mkldnn, use_cudnn")
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kSquare));
  Define(ops, "erf", GradientReads::kX, "The error function, 2 / sqrt(pi) * integral of e^-t^2.")
      .Hints("use_mkldnn@2, use_cudnn@1")
      .QuantizableOutputs({"Out"})
      .Activates(Of(F::kErf));
  DefineForward(ops, "rsqrt", "Out = 1 / sqrt(X).")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kRsqrt));
  DefineForward(ops, "reciprocal", "Out = 1 / X.")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kReciprocal));
  DefineForward(ops, "sin", "Sine.").Hints("use_mkldnn, use_cudnn").Activates(Of(F::kSin));
  DefineForward(ops, "cos", "Cosine.").Hints("use_mkldnn, use_cudnn").Activates(Of(F::kCos));
  DefineForward(ops, "ceil", "The next integer not below X.")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kCeil));
  DefineForward(ops, "floor", "The next integer not above X.")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kFloor));
  DefineForward(ops, "round", "The nearest integer, halves away from zero.")
      .Hints("use_mkldnn, use_cudnn")
      .Activates(Of(F::kRound));
  DefineForward(ops, "sign", "-1, 0 or 1.").Activates(Of(F::kSign));
  ops.Define("pow(X, FactorTensor?) -> (Out)")
      .Doc("Out = X^factor; FactorTensor [1] goes before the attribute.")
      .Attr("factor", Float(1))
      .Infer(SameAs("X", {"Out"}))
      .QuantizableOutputs({"Out"})
      .GradientNotKnown()
      .Activates(Of(F::kPow, "factor"));
}

}  // namespace

std::vector<OpSchema> ActivationOps() {
  OpList ops;
  DefineRectifiers(ops);
  DefineSmooth(ops);
  DefineFunctions(ops);
  return ops.Build();
}

}  // namespace fixpoint
