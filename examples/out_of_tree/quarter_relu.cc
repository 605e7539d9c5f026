#include "quarter_relu.h"

#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_planner.h"
#include "runtime/reference/op_run.h"

namespace out_of_tree {
namespace {

using fixpoint::Activation;
using fixpoint::ActivationFunction;
using fixpoint::OpAttributes;
using fixpoint::executor::Buffer;
using fixpoint::executor::OpPlanner;
using fixpoint::executor::StepContext;
using fixpoint::reference::Array;
using fixpoint::reference::OpRun;

constexpr float kSlope = 0.25f;

// That it is a leaky relu folds it into the product before it, on integers too.
Activation AsActivation(const OpAttributes&) { return {ActivationFunction::kLeakyRelu, kSlope}; }

std::vector<fixpoint::OpSchema> Schemas() {
  fixpoint::OpList ops;
  ops.Define("quarter_relu(X) -> (Out)")
      .Doc("Out = X where X > 0, else a quarter of it.")
      .Infer(fixpoint::SameAs("X", {"Out"}))
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Activates(AsActivation)
      .Gradient("quarter_relu_grad(X, Out@GRAD) -> (X@GRAD)")
      .GradientInfer(fixpoint::SameAs("X", {"X@GRAD"}));
  return ops.Build();
}

// How the executor runs it.
absl::Status Plan(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  op.AddStep({{x}, {out}, [x, out](const StepContext& run) {
                const auto from = run.Floats(x);
                const auto to = run.Floats(out);
                for (size_t i = 0; i < from.size(); ++i) {
                  to[i] = from[i] > 0 ? from[i] : from[i] * kSlope;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("X")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer out_grad, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(const Buffer x_grad, op.Write("X@GRAD"));
  op.AddStep({{x, out_grad}, {x_grad}, [=](const StepContext& run) {
                const auto at = run.Floats(x);
                const auto from = run.Floats(out_grad);
                const auto to = run.Floats(x_grad);
                for (size_t i = 0; i < at.size(); ++i) {
                  to[i] = at[i] > 0 ? from[i] : from[i] * kSlope;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// What it means, for the interpreter.
absl::Status Compute(OpRun& op) {
  Array out = op.Input("X");
  for (double& element : out.values) element = element > 0 ? element : element * kSlope;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeGradient(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  Array grad = op.Input("Out@GRAD");
  for (int64_t i = 0; i < x.size(); ++i) grad[i] = x[i] > 0 ? grad[i] : grad[i] * kSlope;
  op.SetOutput("X@GRAD", std::move(grad));
  return absl::OkStatus();
}

}  // namespace

fixpoint::OwnOps QuarterRelu() {
  return {Schemas(),
          {{"quarter_relu", Plan}, {"quarter_relu_grad", PlanGradient}},
          {{"quarter_relu", Compute}, {"quarter_relu_grad", ComputeGradient}}};
}

}  // namespace out_of_tree
