// Optimizers.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeRate(CaseMaker& c) { return c.Numbers({1}, 0.001f, 0.5f); }

void Sgd(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string p = c.Numbers(dims);
  const std::string g = c.Numbers(dims);
  c.Op("sgd(Param=", p, ", Grad=", g, ", LearningRate=", SomeRate(c), ") -> (ParamOut=", p, ")");
}

void Momentum(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string p = c.Numbers(dims);
  const std::string g = c.Numbers(dims);
  const std::string v = c.Numbers(dims);
  const std::string decay =
      c.is_2x() && c.OneIn(3)
          ? absl::StrCat(", regularization_method=\"l2_decay\", regularization_coeff=",
                         FloatText(c.Between(0.01f, 0.5f)))
          : "";
  c.Op("momentum(Param=", p, ", Grad=", g, ", LearningRate=", SomeRate(c), ", Velocity=", v,
       ") -> (ParamOut=", p, ", VelocityOut=", v, ") {mu=", FloatText(c.Between(0.0f, 0.99f)),
       ", use_nesterov=", BoolText(c.OneIn(2)), decay, "}");
}

Generator Adam(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 3);
    const std::string p = c.Numbers(dims);
    const std::string g = c.Numbers(dims);
    const std::string rate = SomeRate(c);
    const std::string m1 = c.Numbers(dims);
    const std::string m2 = c.Numbers(dims, 0, 2);
    const std::string b1 = c.Numbers({1}, 0.1f, 0.9f);
    const std::string b2 = c.Numbers({1}, 0.1f, 0.99f);
    std::string attributes;
    if (type == "adamw") {
      attributes = absl::StrCat(", coeff=", FloatText(c.Between(0.0f, 0.1f)),
                                ", with_decay=", BoolText(c.OneIn(2)));
    } else if (type == "lamb") {
      attributes =
          absl::StrCat(", weight_decay=", FloatText(c.OneIn(3) ? 0 : c.Between(0.0f, 0.1f)));
    }
    const bool has_powers = type != "lamb" || c.is_2x();
    c.Op(type, "(Param=", p, ", Grad=", g, ", LearningRate=", rate, ", Moment1=", m1,
         ", Moment2=", m2, ", Beta1Pow=", b1, ", Beta2Pow=", b2, ") -> (ParamOut=", p,
         ", Moment1Out=", m1, ", Moment2Out=", m2,
         has_powers ? absl::StrCat(", Beta1PowOut=", b1, ", Beta2PowOut=", b2) : "",
         ") {beta1=", FloatText(c.Between(0.5f, 0.95f)),
         ", beta2=", FloatText(c.Between(0.9f, 0.999f)), attributes, "}");
    c.Sums(type == "lamb" ? SizeOf(dims) : 1);
  };
}

void Adagrad(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string p = c.Numbers(dims);
  const std::string g = c.Numbers(dims);
  const std::string m = c.Numbers(dims, 0, 2);
  c.Op("adagrad(Param=", p, ", Grad=", g, ", LearningRate=", SomeRate(c), ", Moment=", m,
       ") -> (ParamOut=", p, ", MomentOut=", m, ")");
}

void RmsProp(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string p = c.Numbers(dims);
  const std::string g = c.Numbers(dims);
  // What is divided by stays above 0.
  const std::string square = c.Numbers(dims, 3, 5);
  const std::string mean = c.Numbers(dims, -1, 1);
  const std::string moment = c.Numbers(dims);
  c.Op("rmsprop(Param=", p, ", Grad=", g, ", LearningRate=", SomeRate(c), ", MeanSquare=", square,
       ", MeanGrad=", mean, ", Moment=", moment, ") -> (ParamOut=", p, ", MomentOut=", moment,
       ", MeanSquareOut=", square, ", MeanGradOut=", mean,
       ") {epsilon=0.01, decay=0.9, momentum=", FloatText(c.Between(0.0f, 0.9f)),
       ", centered=", BoolText(c.OneIn(2)), "}");
}

}  // namespace

Generators OptimizerGenerators() {
  return {{"sgd", Sgd},           {"momentum", Momentum},
          {"adam", Adam("adam")}, {"adamw", Adam("adamw")},
          {"lamb", Adam("lamb")}, {"adagrad", Adagrad},
          {"rmsprop", RmsProp}};
}

}  // namespace fixpoint::random_cases
