#include "ops/optimizer.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/selected_rows.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// gradient += coefficient * parameter, as ops. Selected rows plus a parameter have all rows: the
// sum is another variable, which then is the gradient.
void AddDecay(float coefficient, ProgramBuilder& builder, ParameterGradient& of) {
  const std::string decay = builder.AppendWithOutput(
      builder.New("scale").Input("X", of.parameter).FloatAttr("scale", coefficient), "Out",
      builder.UniqueName("_generated_var"));
  OpBuilder sum = builder.New("sum");
  sum.Input("X", of.gradient).Input("X", decay);
  const Variable* gradient = builder.FindInMain(of.gradient);
  if (gradient != nullptr && HoldsSelectedRows(*gradient)) {
    of.gradient = builder.DeclareTemporary(of.gradient + "@NEWGRAD@", builder.DimsOf(of.parameter));
  }
  builder.Append(sum.Output("Out", of.gradient));
}

}  // namespace

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate)
    : rule_(std::move(rule)), learning_rate_(std::move(learning_rate)) {}

Optimizer& Optimizer::set_l2_decay(float coefficient) {
  l2_decay_ = coefficient;
  return *this;
}

Optimizer& Optimizer::set_clip(GradientClip clip) {
  clip_ = clip;
  return *this;
}

absl::StatusOr<std::vector<ParameterGradient>> Optimizer::Minimize(ProgramBuilder& net,
                                                                   absl::string_view loss) const {
  std::vector<ParameterGradient> parameters;
  RETURN_IF_ERROR(net.AllOrNothing([&](ProgramBuilder& builder) -> absl::Status {
    ASSIGN_OR_RETURN(parameters, Write(builder, loss));
    return absl::OkStatus();
  }));
  return parameters;
}

absl::StatusOr<std::vector<ParameterGradient>> Optimizer::Write(ProgramBuilder& builder,
                                                                absl::string_view loss) const {
  if (!rule_->IsOf(builder.era())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Minimize: the program's version is ", builder.main().version(),
                     ", and its era has no op ", rule_->op_type(), "; want another optimizer"));
  }
  std::string learning_rate;
  if (learning_rate_.is_scheduled()) {
    builder.SetRole(kLearningRate);
    learning_rate = learning_rate_.Append(builder);
    RETURN_IF_ERROR(builder.status());
  }
  ASSIGN_OR_RETURN(std::vector<ParameterGradient> parameters,
                   AppendBackward(&builder.main(), loss, {builder.no_gradient()}));
  ClipGradients(clip_, builder, parameters);
  if (!learning_rate_.is_scheduled()) learning_rate = learning_rate_.Append(builder);

  if (l2_decay_ != 0 && !rule_->DecaysItself(builder.era())) {
    for (ParameterGradient& parameter : parameters) {
      builder.SetRole(kOptimize, {parameter.parameter, parameter.gradient});
      AddDecay(l2_decay_, builder, parameter);
    }
  }
  for (const ParameterGradient& parameter : parameters) {
    builder.SetRole(kOptimize, {parameter.parameter, parameter.gradient});
    WriteUpdate(builder, parameter, learning_rate);
  }
  return parameters;
}

void Optimizer::WriteUpdate(ProgramBuilder& builder, const ParameterGradient& of,
                            const std::string& learning_rate) const {
  OpBuilder op = builder.New(rule_->op_type());
  op.Input("Param", of.parameter)
      .Input("Grad", of.gradient)
      .Input("LearningRate", learning_rate)
      .Output("ParamOut", of.parameter);
  const auto& dims = builder.FindInMain(of.parameter)->tensor()->dims();
  for (const Accumulator& accumulator : rule_->Accumulators(builder.era())) {
    const std::string name = of.parameter + accumulator.suffix;
    const bool is_one = accumulator.shape == Accumulator::Shape::kOne;
    builder.AddPersistable(
        {name, VarType::FP32,
         is_one ? std::vector<int64_t>{1} : std::vector<int64_t>(dims.begin(), dims.end()),
         Initializer::Constant(accumulator.initial_value)});
    op.Input(accumulator.input, name);
    if (!accumulator.output.empty()) op.Output(accumulator.output, name);
  }
  rule_->AddAttrs(op);
  if (l2_decay_ != 0 && rule_->DecaysItself(builder.era())) rule_->AddL2Decay(l2_decay_, op);
  builder.Append(op);
}

}  // namespace fixpoint
