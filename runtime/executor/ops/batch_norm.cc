// batch_norm, with the relu after it if nothing else reads what is between them.

#include "runtime/executor/ops/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/norm_factors.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/kernels/batch_norm.h"
#include "runtime/kernels/channel_affine.h"

namespace fixpoint::executor {
namespace {

// What the plan of a batch_norm passes to that of its gradient.
struct ForwardNorm {
  std::shared_ptr<kernels::BatchNorm> norm;
  NormalizedValue y;
  Layout layout;
};

// Stands for the gradient of the norm's output if the norm's gradient step also computes the
// relu's: the gradient of the relu's output.
struct GradientOfRelu {
  const Value* dy;
};

using Relu = kernels::BatchNormShape::Relu;

ImageForm FormOf(const OpPlanner& op) { return ImageForm(op.attributes().String("data_layout")); }

absl::StatusOr<kernels::BatchNormShape> ShapeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  if (dims.size() != 4 && dims.size() != 2) {
    return absl::UnimplementedError(absl::StrCat(
        "X is ", DimsText(dims), "; want 2 or 4 dimensions (the interpreter takes any number)"));
  }
  kernels::BatchNormShape shape;
  shape.batch = dims[0];
  shape.channels = dims[FormOf(op).channel_axis(static_cast<int>(dims.size()))];
  if (dims.size() == 4) {
    const Dims nchw = FormOf(op).ToNchw(dims);
    shape.height = nchw[2];
    shape.width = nchw[3];
  }
  shape.epsilon = op.Number("epsilon");
  for (const char* slot : {"Scale", "Bias"}) {
    if (!op.HasInput(slot)) {
      return absl::UnimplementedError(absl::StrCat("input ", slot, " is absent; want it"));
    }
    RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  }
  return shape;
}

// Whether X is normalized by the statistics of the batch.
bool UsesBatch(const OpPlanner& op) { return !UsesGivenStatistics(op.attributes(), op.IsTest()); }

// A relu that alone reads the output, and its gradient op, if there is one; the norm's only
// gradient, which is by the batch, then reads only that one's result.
struct ReluAfter {
  const Op* relu;
  const Op* gradient = nullptr;
};
std::optional<ReluAfter> FindRelu(const OpPlanner& op) {
  if (!op.Wants("Y")) return std::nullopt;
  const Op* relu = op.demand().OnlyReader(op.OutputValue("Y"));
  if (relu == nullptr || relu->type() != "relu" || relu->Output("Out") == nullptr) {
    return std::nullopt;
  }
  const std::vector<const Op*> gradients = op.GradientsOf(op.op());
  const std::vector<const Op*> of_relu = op.GradientsOf(*relu);
  if (of_relu.empty()) return gradients.empty() ? std::optional(ReluAfter{relu}) : std::nullopt;
  const ReluAfter found{relu, of_relu[0]};
  if (gradients.size() != 1 || of_relu.size() != 1 ||
      found.gradient->Input("Out@GRAD") == nullptr || found.gradient->Output("X@GRAD") == nullptr) {
    return std::nullopt;
  }
  const Value& dy = *found.gradient->Output("X@GRAD")->value();
  const Argument* const read = gradients[0]->Input("Y@GRAD");
  if (op.demand().OnlyReader(dy) != gradients[0] || read == nullptr || read->value() != &dy) {
    return std::nullopt;
  }
  if (!op.MayPlanAfter(*gradients[0]) || !UsesBatch(op.After(*gradients[0]))) return std::nullopt;
  return found;
}

// The moving averages of the statistics: the momentum is that of the old ones.
void Follow(float momentum, absl::Span<const float> before, absl::Span<const float> now,
            absl::Span<float> after) {
  for (size_t c = 0; c < now.size(); ++c) {
    after[c] = before[c] * momentum + now[c] * (1 - momentum);
  }
}

// The elements are computed where something reads more than their codes.
void DeferElements(OpPlanner& op, const NormalizedValue& y, const Value& result) {
  PlanBuilder& builder = op.builder();
  builder.Defer(result, op.InputType("X"), FormOf(op).layout(), [=, &builder](Buffer out) {
    Step step{y.name,
              nullptr,
              y.norm->implementation(),
              {y.x, y.mean, y.variance, y.inverse_deviation, y.factors, y.addends},
              {out},
              0,
              [=](const StepContext& run) {
                y.norm->Normalize(run.Floats(y.x), y.Statistics(run), run.Floats(out));
                return absl::OkStatus();
              }};
    step.is_repeatable = true;
    builder.AddStep(std::move(step));
  });
  builder.Attach(result, y);
}

absl::Status PlanTraining(OpPlanner& op, kernels::BatchNormShape shape) {
  const std::optional<ReluAfter> after = FindRelu(op);
  if (after) shape.relu = op.era() == Era::kFluid ? Relu::kKeepingNan : Relu::kOfNumbers;
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::BatchNorm> norm, kernels::BatchNorm::Plan(shape));
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean_before, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance_before, op.ReadFloats("Variance"));

  // What the reference keeps for its own gradient kernel; ours gets it from ForwardNorm.
  if (op.Wants("ReserveSpace")) op.WriteAs("ReserveSpace", {VarType::FP32, {0}});
  const TensorType channels{VarType::FP32, {shape.channels}};
  const auto scratch = [&](absl::string_view what, int64_t size) {
    return op.Scratch(what, VarType::FP32, size);
  };
  NormalizedValue y = {norm,
                       x,
                       op.WriteAs("SavedMean", channels),
                       scratch("variance", shape.channels),
                       op.WriteAs("SavedVariance", channels),
                       scratch("factors", shape.channels),
                       scratch("addends", shape.channels),
                       scratch("range", 1),
                       after ? "batch_norm + relu" : "batch_norm"};
  // Where one variable is both, neither may be written before the other is read.
  const auto write_over = [&](absl::string_view slot, Buffer before) {
    return mean_before == variance_before ? op.WriteAs(slot, channels)
                                          : op.WriteOver(slot, channels, Layout::kRowMajor, before);
  };
  const Buffer mean_after = write_over("MeanOut", mean_before);
  const Buffer variance_after = write_over("VarianceOut", variance_before);
  const float momentum = op.Number("momentum");
  op.AddStep({{x, scale, bias, mean_before, variance_before},
              {y.mean, y.variance, y.inverse_deviation, y.factors, y.addends, y.range, mean_after,
               variance_after},
              [=](const StepContext& run) {
                norm->FindStatistics(run.Floats(x), run.Floats(scale), run.Floats(bias),
                                     y.Statistics(run), run.Floats(y.range).data());
                Follow(momentum, run.Floats(mean_before), run.Floats(y.mean),
                       run.Floats(mean_after));
                Follow(momentum, run.Floats(variance_before), run.Floats(y.variance),
                       run.Floats(variance_after));
                return absl::OkStatus();
              },
              norm->implementation(),
              0,
              "batch_norm statistics"});

  const Value* result = op.Wants("Y") ? &op.OutputValue("Y") : nullptr;
  if (after) {
    result = after->relu->Output("Out")->value();
    op.builder().Absorb(*after->relu, op.OutputValue("Y"), op.InputType("X"));
    if (after->gradient != nullptr) {
      const Value& dy = *after->gradient->Output("X@GRAD")->value();
      op.builder().Absorb(*after->gradient, dy, op.InputType("X"));
      op.builder().Attach(dy, GradientOfRelu{after->gradient->Input("Out@GRAD")->value()});
    }
  }
  if (op.Wants("SavedMean")) {
    op.builder().Attach(op.OutputValue("SavedMean"), ForwardNorm{norm, y, layout});
  }
  if (result != nullptr) DeferElements(op, y, *result);
  return absl::OkStatus();
}

absl::Status PlanInference(OpPlanner& op) {
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const AffineNorm norm, AddAffineNorm(op));
  const Buffer y = op.WriteOver("Y", op.InputType("X"), layout, x);
  op.AddStep({{x, norm.a, norm.b}, {y}, [=](const StepContext& run) {
                kernels::ChannelAffine(run.Floats(x), run.Floats(norm.a), run.Floats(norm.b),
                                       run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status CheckAttributes(const OpPlanner& op) {
  if (op.HasInput("MomentumTensor") || op.attributes().Bool("fuse_with_relu")) {
    return absl::UnimplementedError(
        "MomentumTensor is there, or fuse_with_relu is true; want neither");
  }
  return absl::OkStatus();
}

absl::Status PlanBatchNorm(OpPlanner& op) {
  RETURN_IF_ERROR(CheckAttributes(op));
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  for (const char* slot : {"Mean", "Variance"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  }
  return UsesBatch(op) ? PlanTraining(op, shape) : PlanInference(op);
}

// For a norm by given statistics, which do not depend on X: with n = (x - mean) / deviation, dX =
// dY * Scale / deviation, dScale = sum(dY * n), dBias = sum(dY).
absl::Status PlanGradientOfGiven(OpPlanner& op, const kernels::BatchNormShape& shape) {
  RETURN_IF_ERROR(op.CheckSize("Mean", shape.channels));
  RETURN_IF_ERROR(op.CheckSize("Variance", shape.channels));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", op.InputDims("X")));
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD", layout));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance, op.ReadFloats("Variance"));
  const Buffer sums = op.Scratch("sums", VarType::FP64, 2 * shape.channels);
  const Buffer factors = op.Scratch("factors", VarType::FP32, 2 * shape.channels);
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), layout, dy);
  const Buffer dscale = op.WriteAs("Scale@GRAD", op.InputType("Scale"));
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Scale"));
  op.AddStep({{x, dy, scale, mean, variance},
              {sums, factors, dx, dscale, dbias},
              [=, channels = shape.channels, epsilon = shape.epsilon](const StepContext& run) {
                const absl::Span<double> of_dy = run.Of<double>(sums).first(channels);
                const absl::Span<double> of_products = run.Of<double>(sums).subspan(channels);
                kernels::ChannelSums(run.Floats(x), run.Floats(dy), of_dy, of_products);
                const absl::Span<float> factor = run.Floats(factors).first(channels);
                const absl::Span<float> addend = run.Floats(factors).subspan(channels);
                for (int64_t c = 0; c < channels; ++c) {
                  const double inverse =
                      1 / std::sqrt(double{run.Floats(variance)[c]} + double{epsilon});
                  const double centered = of_products[c] - run.Floats(mean)[c] * of_dy[c];
                  run.Floats(dscale)[c] = static_cast<float>(centered * inverse);
                  run.Floats(dbias)[c] = static_cast<float>(of_dy[c]);
                  factor[c] = static_cast<float>(run.Floats(scale)[c] * inverse);
                  addend[c] = 0;
                }
                kernels::ChannelAffine(run.Floats(dy), factor, addend, run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

void DeferGradient(OpPlanner& op, const UncomputedGradient& gradient) {
  PlanBuilder& builder = op.builder();
  const Value& dx = op.OutputValue("X@GRAD");
  builder.Defer(dx, op.InputType("X"), gradient.layout, [=, &builder](Buffer out) {
    builder.MayLieIn(out, gradient.dy);
    builder.AddStep({gradient.name,
                     nullptr,
                     gradient.y.norm->implementation(),
                     gradient.Reads(),
                     {out},
                     0,
                     [=](const StepContext& run) {
                       gradient.y.norm->Backward(run.Floats(gradient.x), run.Floats(gradient.dy),
                                                 gradient.y.Statistics(run),
                                                 gradient.Statistics(run), run.Floats(out));
                       return absl::OkStatus();
                     }});
  });
  builder.Attach(dx, gradient);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  if (!UsesBatch(op)) return PlanGradientOfGiven(op, shape);
  const auto* forward = op.ForwardOp() != nullptr
                            ? op.builder().Attached<ForwardNorm>(op.InputValue("SavedMean"))
                            : nullptr;
  if (forward == nullptr) {
    return absl::UnimplementedError(
        "no batch_norm by its batch has all the values that this op repeats; want one");
  }
  const auto* of_relu = op.builder().Attached<GradientOfRelu>(op.InputValue("Y@GRAD"));
  const Value& dy_value = of_relu != nullptr ? *of_relu->dy : op.InputValue("Y@GRAD");
  if (op.builder().TypeOf(dy_value) != op.InputType("X")) {
    return absl::InvalidArgumentError(absl::StrCat("Y@GRAD is ",
                                                   DimsText(op.builder().TypeOf(dy_value).dims),
                                                   "; want ", DimsText(op.InputDims("X"))));
  }
  const Layout layout = FormOf(op).layout();
  if (forward->layout != layout) {
    return absl::InvalidArgumentError(
        "data_layout is not that of the batch_norm that wrote SavedMean");
  }
  ASSIGN_OR_RETURN(const Buffer dy, op.builder().Read(dy_value, layout));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer dscale = op.WriteAs("Scale@GRAD", op.InputType("Scale"));
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Scale"));
  const NormalizedValue& y = forward->y;
  const UncomputedGradient gradient = {
      y,
      x,
      dy,
      op.Scratch("means", VarType::FP32, shape.channels),
      op.Scratch("slopes", VarType::FP32, shape.channels),
      layout,
      of_relu != nullptr ? "batch_norm_grad + relu_grad" : "batch_norm_grad"};
  op.AddStep({{x, dy, y.mean, y.variance, y.inverse_deviation, y.factors, y.addends},
              {gradient.means, gradient.slopes, dscale, dbias},
              [=](const StepContext& run) {
                gradient.y.norm->FindGradientStatistics(
                    run.Floats(x), run.Floats(dy), gradient.y.Statistics(run),
                    gradient.Statistics(run), run.Floats(dscale), run.Floats(dbias));
                return absl::OkStatus();
              },
              y.norm->implementation(),
              0,
              "batch_norm_grad statistics"});
  if (op.Wants("X@GRAD")) DeferGradient(op, gradient);
  return absl::OkStatus();
}

}  // namespace

kernels::BatchStatistics NormalizedValue::Statistics(const StepContext& run) const {
  return {run.Floats(mean), run.Floats(variance), run.Floats(inverse_deviation),
          run.Floats(factors), run.Floats(addends)};
}

kernels::GradientStatistics UncomputedGradient::Statistics(const StepContext& run) const {
  return {run.Floats(means), run.Floats(slopes)};
}

std::vector<Buffer> UncomputedGradient::Reads() const {
  return {x, dy, y.mean, y.variance, y.inverse_deviation, y.factors, y.addends, means, slopes};
}

const UncomputedGradient* FindUncomputedGradient(PlanBuilder& builder, const Value& value) {
  return builder.IsDeferred(value) ? builder.Attached<UncomputedGradient>(value) : nullptr;
}

const NormalizedValue* FindNormalized(PlanBuilder& builder, const Value& value) {
  return builder.IsDeferred(value) ? builder.Attached<NormalizedValue>(value) : nullptr;
}

absl::StatusOr<AffineNorm> AddAffineNorm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance, op.ReadFloats("Variance"));
  const TensorType channels{VarType::FP32, {scale.size}};
  const AffineNorm norm = {op.Scratch("a", VarType::FP32, scale.size),
                           op.Scratch("b", VarType::FP32, scale.size)};
  const Buffer inverse_deviation = op.WriteAs("SavedVariance", channels);
  op.AddStep({{scale, bias, mean, variance},
              {norm.a, norm.b, inverse_deviation},
              [=, epsilon = op.Number("epsilon")](const StepContext& run) {
                const absl::Span<float> a = run.Floats(norm.a);
                const absl::Span<float> b = run.Floats(norm.b);
                for (size_t c = 0; c < a.size(); ++c) {
                  const float deviation = std::sqrt(run.Floats(variance)[c] + epsilon);
                  a[c] = run.Floats(scale)[c] / deviation;
                  b[c] = run.Floats(bias)[c] - run.Floats(mean)[c] * a[c];
                  run.Floats(inverse_deviation)[c] = 1 / deviation;
                }
                return absl::OkStatus();
              },
              "",
              0,
              "batch_norm factors"});
  const std::pair<const char*, const char*> kept[] = {
      {"SavedMean", "Mean"}, {"MeanOut", "Mean"}, {"VarianceOut", "Variance"}};
  for (const auto& [output, input] : kept) {
    if (!op.Wants(output)) continue;
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue(output), op.InputValue(input)));
  }
  if (op.Wants("ReserveSpace")) op.WriteAs("ReserveSpace", {VarType::FP32, {0}});
  return norm;
}

OpPlans BatchNormPlans() {
  return {{"batch_norm", PlanBatchNorm}, {"batch_norm_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
