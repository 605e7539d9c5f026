// Optimizers: each updates a parameter in place, and its own state with it.

#include "absl/strings/str_cat.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

// Slots that every optimizer of 2.x has for training with narrow parameters.
constexpr char kMasterIn[] = "MasterParam?@2";
constexpr char kMasterOut[] = "MasterParamOut?@2";

OpSchemaBuilder& Define(OpList& ops, absl::string_view type, absl::string_view state,
                        absl::string_view state_out) {
  return ops
      .Define(absl::StrCat(type, "(Param, Grad, LearningRate", state, ", ", kMasterIn,
                           ") -> (ParamOut", state_out, ", ", kMasterOut, ")"))
      .Attr("multi_precision", Bool(false), Eras::kPaddle2)
      .Infer(InferInPlaceUpdate);
}

void DefineAdamAttrs(OpSchemaBuilder& op, float epsilon) {
  op.Attr("beta1", Float(0.9f)).Attr("beta2", Float(0.999f)).Attr("epsilon", Float(epsilon));
}

void DefineAdam(OpList& ops) {
  constexpr char kMoments[] =
      ", Moment1, Moment2, Beta1Pow, Beta2Pow, SkipUpdate?@2, Beta1Tensor?, Beta2Tensor?, "
      "EpsilonTensor?@2";
  constexpr char kMomentsOut[] = ", Moment1Out, Moment2Out, Beta1PowOut, Beta2PowOut";
  for (const char* type : {"adam", "adamw"}) {
    OpSchemaBuilder& op = Define(ops, type, kMoments, kMomentsOut);
    DefineAdamAttrs(op, 1e-8f);
    op.Attr("lazy_mode", Bool(false))
        .Attr("min_row_size_to_use_multithread", Long(1000))
        .Attr("use_global_beta_pow", Bool(false), Eras::kPaddle2);
    if (absl::string_view(type) == "adam") {
      op.Doc(
          "Adam. The powers of beta1 and beta2 are read, used, then multiplied once more. Before "
          "1.7 the program multiplies them itself.");
    } else {
      op.Doc("Adam with decoupled decay of the parameter by coeff * learning rate.")
          .Attr("lr_ratio", Float(1))
          .Attr("coeff", Float(0.01f))
          .Attr("with_decay", Bool(false));
    }
  }
}

}  // namespace

std::vector<OpSchema> OptimizersOps() {
  OpList ops;
  Define(ops, "sgd", "", "").Doc("p -= lr * g.").Hints("use_mkldnn@2");
  Define(ops, "momentum", ", Velocity", ", VelocityOut")
      .Doc("v = mu * v + g; p -= lr * v, or with use_nesterov p -= lr * (g + mu * v).")
      .Attr("mu", Required(FLOAT))
      .Attr("use_nesterov", Bool(false))
      .Attr("regularization_method", String(""), Eras::kPaddle2)
      .Attr("regularization_coeff", Float(0), Eras::kPaddle2)
      .Attr("rescale_grad", Float(1), Eras::kPaddle2);
  ops.Define(
         "lars_momentum(Param@1, Grad@1, Velocity@1, LearningRate@1, Param*@2, Grad*@2, "
         "Velocity*@2, LearningRate*@2, MasterParam*?@2) -> (ParamOut@1, VelocityOut@1, "
         "ParamOut*@2, VelocityOut*@2, MasterParamOut*?@2)")
      .Doc("Momentum with a learning rate per layer: lr * coeff * ||p|| / (||g|| + decay * ||p||).")
      .Attr("mu", Required(FLOAT))
      .Attr("lars_coeff", Float(0.001f))
      .Attr("lars_weight_decay", Float(0.0005f), Eras::kFluid)
      .Attr("lars_weight_decay", Floats({0.0005f}), Eras::kPaddle2)
      .Attr("epsilon", Float(0), Eras::kPaddle2)
      .Attr("multi_precision", Bool(false), Eras::kPaddle2)
      .Attr("rescale_grad", Float(1), Eras::kPaddle2)
      .Infer(InferInPlaceUpdate);
  DefineAdam(ops);
  Define(ops, "adamax", ", Moment, InfNorm, Beta1Pow", ", MomentOut, InfNormOut")
      .Doc("Adam with the infinity norm.")
      .Attr("beta1", Float(0.9f))
      .Attr("beta2", Float(0.999f))
      .Attr("epsilon", Float(1e-8f));
  Define(ops, "adagrad", ", Moment", ", MomentOut")
      .Doc("m += g^2; p -= lr * g / (sqrt(m) + epsilon).")
      .Attr("epsilon", Float(1e-6f));
  Define(ops, "rmsprop", ", MeanSquare, MeanGrad?, Moment",
         ", MomentOut, MeanSquareOut, MeanGradOut")
      .Doc(
          "ms = decay * ms + (1 - decay) * g^2; mom = momentum * mom + lr * g / sqrt(ms + "
          "epsilon), centered: of ms - mg^2; p -= mom.")
      .Attr("epsilon", Float(1e-10f))
      .Attr("decay", Float(0.9f))
      .Attr("momentum", Float(0))
      .Attr("centered", Bool(false));
  OpSchemaBuilder& lamb =
      Define(ops, "lamb", ", Moment1, Moment2, Beta1Pow, Beta2Pow, SkipUpdate?@2",
             ", Moment1Out, Moment2Out, Beta1PowOut?@2, Beta2PowOut?@2")
          .Doc("Adam's direction plus weight_decay * p, scaled to ||p|| per layer.")
          .Attr("weight_decay", Required(FLOAT))
          .Attr("always_adapt", Bool(false), Eras::kPaddle2);
  DefineAdamAttrs(lamb, 1e-6f);
  return ops.Build();
}

}  // namespace fixpoint
