// Dropout, which in inference is a factor, and dither.

#include "runtime/kernels/dropout.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/arithmetic.h"

namespace fixpoint::executor {
namespace {

// dropout_implementation, with the share p that is dropped.
struct Rule {
  double p = 0;
  bool upscale_in_train = false;

  // Kept elements are multiplied by this in training; by the other in inference.
  double TrainFactor() const { return !upscale_in_train ? 1 : p < 1 ? 1 / (1 - p) : 0; }
  double TestFactor() const { return upscale_in_train ? 1 : 1 - p; }
};

absl::StatusOr<Rule> RuleOf(const OpPlanner& op) {
  Rule rule;
  rule.p = op.attributes().Float("dropout_prob");
  if (!(rule.p >= 0 && rule.p <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("dropout_prob is ", rule.p, "; want 0 to 1"));
  }
  const std::string implementation = op.attributes().String("dropout_implementation");
  if (implementation != "upscale_in_train" && implementation != "downgrade_in_infer") {
    return absl::InvalidArgumentError(
        absl::StrCat("dropout_implementation is \"", implementation,
                     "\"; want upscale_in_train or downgrade_in_infer"));
  }
  rule.upscale_in_train = implementation == "upscale_in_train";
  return rule;
}

// Adds the step that multiplies all elements, in whatever layout they are held.
absl::Status AddFactor(OpPlanner& op, absl::string_view input, absl::string_view output,
                       double factor) {
  const Layout layout = op.InputLayout(input);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats(input, layout));
  const Buffer y = op.WriteOver(output, op.InputType(input), layout, x);
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                kernels::Scale(run.Floats(x), static_cast<float>(factor), 0.0f,
                               kernels::BiasOrder::kAfterFactor, run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Numbers are drawn for elements in row-major order.
absl::Status PlanDropout(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Rule rule, RuleOf(op));
  if (op.IsTest()) return AddFactor(op, "X", "Out", rule.TestFactor());
  RETURN_IF_ERROR(op.CheckAbsent("Seed"));
  const int64_t seed = op.attributes().Bool("fix_seed") ? op.attributes().Int("seed") : 0;
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", type, Layout::kRowMajor, x);
  const Buffer mask = op.WriteAs("Mask", {VarType::UINT8, type.dims});
  StepKernel drop{{x}, {y, mask}, [=, number = op.number()](const StepContext& run) {
                    kernels::Dropout(run.Random(number, seed), rule.p,
                                     static_cast<float>(rule.TrainFactor()), run.Floats(x),
                                     run.Floats(y), run.Of<uint8_t>(mask));
                    return absl::OkStatus();
                  }};
  drop.in_each_run = true;
  op.AddStep(std::move(drop));
  return absl::OkStatus();
}

absl::Status PlanDither(OpPlanner& op) {
  const int64_t seed = op.attributes().Int("seed");
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", type, Layout::kRowMajor, x);
  StepKernel dither{{x}, {y}, [=, number = op.number()](const StepContext& run) {
                      kernels::Dither(run.Random(number, seed), run.Floats(x), run.Floats(y));
                      return absl::OkStatus();
                    }};
  dither.in_each_run = true;
  op.AddStep(std::move(dither));
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Rule rule, RuleOf(op));
  if (op.IsTest()) return AddFactor(op, "Out@GRAD", "X@GRAD", rule.TestFactor());
  const TensorType type = op.InputType("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Mask", type.dims));
  ASSIGN_OR_RETURN(const Buffer mask, op.Read("Mask", VarType::UINT8));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", type, Layout::kRowMajor, dy);
  op.AddStep({{mask, dy}, {dx}, [=](const StepContext& run) {
                kernels::DropoutBackward(static_cast<float>(rule.TrainFactor()),
                                         run.Of<uint8_t>(mask), run.Floats(dy), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans DropoutPlans() {
  return {{"dither", PlanDither}, {"dropout", PlanDropout}, {"dropout_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
