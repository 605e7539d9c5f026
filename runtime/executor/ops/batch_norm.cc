// batch_norm, with the relu behind it where nothing else reads what is between them.

#include "runtime/kernels/batch_norm.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/channel_affine.h"

namespace fixpoint::executor {
namespace {

// What the plan of a batch_norm leaves to that of its gradient.
struct ForwardNorm {
  std::shared_ptr<kernels::BatchNorm> norm;
  Buffer variance;
  Dims x_dims;
  std::optional<Buffer> mask;         // of a relu
  const Value* dy_of_relu = nullptr;  // the gradient of the relu's output
};

absl::StatusOr<kernels::BatchNormShape> ShapeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  if ((dims.size() != 4 && dims.size() != 2) ||
      IsChannelsLast(op.attributes().String("data_layout"))) {
    return absl::UnimplementedError(absl::StrCat("X is ", DimsText(dims), " in ",
                                                 op.attributes().String("data_layout"),
                                                 "; want [N, C] or [N, C, H, W]"));
  }
  kernels::BatchNormShape shape;
  shape.batch = dims[0];
  shape.channels = dims[1];
  if (dims.size() == 4) {
    shape.height = dims[2];
    shape.width = dims[3];
  }
  shape.epsilon = op.Number("epsilon");
  for (const char* slot : {"Scale", "Bias"}) {
    if (!op.HasInput(slot)) {
      return absl::UnimplementedError(absl::StrCat("input ", slot, " is absent; want it"));
    }
    if (op.InputType(slot).size() != shape.channels) {
      return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(op.InputDims(slot)),
                                                     "; want ", shape.channels, " elements"));
    }
  }
  return shape;
}

// Whether X is normalized by the statistics of the batch.
bool UsesBatch(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  if (attributes.Bool("use_global_stats")) return false;
  return !op.IsTest() || attributes.Bool("trainable_statistics");
}

// A relu that reads the output alone, and its gradient op, if there is one; the gradient of the
// norm then reads that one's result alone.
struct ReluBehind {
  const Op* relu;
  const Op* gradient = nullptr;
};
std::optional<ReluBehind> FindRelu(const OpPlanner& op) {
  if (!op.Wants("Y") || !op.Wants("SavedMean")) return std::nullopt;
  const Op* relu = op.demand().OnlyReader(op.OutputValue("Y"));
  if (relu == nullptr || relu->type() != "relu" || relu->Output("Out") == nullptr) {
    return std::nullopt;
  }
  ReluBehind found{relu};
  for (const Op* reader : op.demand().Readers(*relu->Output("Out")->value())) {
    if (reader->type() != "relu_grad" || reader->Input("Out") == nullptr ||
        reader->Input("Out")->value() != relu->Output("Out")->value()) {
      continue;
    }
    if (found.gradient != nullptr || reader->Input("Out@GRAD") == nullptr ||
        reader->Output("X@GRAD") == nullptr) {
      return std::nullopt;
    }
    found.gradient = reader;
  }
  if (found.gradient == nullptr) return found;
  const Op* norm_gradient = op.demand().OnlyReader(*found.gradient->Output("X@GRAD")->value());
  const bool is_ours = norm_gradient != nullptr && norm_gradient->type() == "batch_norm_grad" &&
                       norm_gradient->Input("SavedMean") != nullptr &&
                       norm_gradient->Input("SavedMean")->value() == &op.OutputValue("SavedMean");
  if (!is_ours) return std::nullopt;
  return found;
}

// The moving averages of the statistics: the momentum is that of the old ones.
void Follow(float momentum, absl::Span<const float> before, absl::Span<const float> now,
            absl::Span<float> after) {
  for (size_t c = 0; c < now.size(); ++c) {
    after[c] = before[c] * momentum + now[c] * (1 - momentum);
  }
}

absl::Status PlanTraining(OpPlanner& op, kernels::BatchNormShape shape) {
  const std::optional<ReluBehind> behind = FindRelu(op);
  shape.relu = behind.has_value();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean_before, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance_before, op.ReadFloats("Variance"));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::BatchNorm> norm, kernels::BatchNorm::Plan(shape));

  // What the reference keeps for its own gradient kernel; ours is told by ForwardNorm.
  if (op.Wants("ReserveSpace")) op.WriteAs("ReserveSpace", {VarType::FP32, {0}});
  ForwardNorm forward;
  forward.norm = norm;
  forward.x_dims = op.InputDims("X");
  forward.variance = op.Scratch("variance", VarType::FP32, shape.channels);
  const Buffer mask = op.Scratch("mask", VarType::UINT8, norm->mask_size());
  const TensorType channels{VarType::FP32, {shape.channels}};
  const Buffer mean = op.WriteAs("SavedMean", channels);
  const Buffer inverse_deviation = op.WriteAs("SavedVariance", channels);
  const Buffer mean_after = op.WriteOver("MeanOut", channels, Layout::kRowMajor, mean_before);
  const Buffer variance_after =
      op.WriteOver("VarianceOut", channels, Layout::kRowMajor, variance_before);
  Buffer y;
  std::string name = "batch_norm";
  if (behind) {
    y = op.builder().Write(*behind->relu->Output("Out")->value(), op.InputType("X"),
                           Layout::kChannelsLast);
    op.builder().Absorb(*behind->relu, op.OutputValue("Y"));
    name = "batch_norm + relu";
    forward.mask = mask;
    if (behind->gradient != nullptr) {
      op.builder().Absorb(*behind->gradient, *behind->gradient->Output("X@GRAD")->value());
      forward.dy_of_relu = behind->gradient->Input("Out@GRAD")->value();
    }
  } else {
    y = op.WriteAs("Y", op.InputType("X"), Layout::kChannelsLast);
  }
  if (op.Wants("SavedMean")) op.builder().Attach(op.OutputValue("SavedMean"), forward);

  const float momentum = op.Number("momentum");
  op.AddStep({{x, scale, bias, mean_before, variance_before},
              {y, mean, inverse_deviation, forward.variance, mask, mean_after, variance_after},
              [=, epsilon = shape.epsilon](const StepContext& run) {
                const absl::Span<float> means = run.Floats(mean);
                const absl::Span<float> variances = run.Floats(forward.variance);
                norm->Forward(run.Floats(x), run.Floats(scale), run.Floats(bias), run.Floats(y),
                              means, variances, run.Of<uint8_t>(mask));
                Follow(momentum, run.Floats(mean_before), means, run.Floats(mean_after));
                Follow(momentum, run.Floats(variance_before), variances,
                       run.Floats(variance_after));
                const absl::Span<float> inverse = run.Floats(inverse_deviation);
                for (size_t c = 0; c < inverse.size(); ++c) {
                  inverse[c] = 1 / std::sqrt(variances[c] + epsilon);
                }
                return absl::OkStatus();
              },
              norm->implementation(),
              0,
              name});
  return absl::OkStatus();
}

// y = x * a + b with a = Scale / sqrt(Variance + epsilon) and b = Bias - Mean * a, every operation
// rounded to FP32.
absl::Status PlanInference(OpPlanner& op, const kernels::BatchNormShape& shape) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance, op.ReadFloats("Variance"));
  const Buffer a = op.Scratch("a", VarType::FP32, shape.channels);
  const Buffer b = op.Scratch("b", VarType::FP32, shape.channels);
  const Buffer y = op.WriteAs("Y", op.InputType("X"), Layout::kChannelsLast);
  op.builder().MayLieIn(y, x);
  // The gradient op names them, and does not read them.
  for (const char* slot : {"SavedMean", "SavedVariance"}) {
    if (op.Wants(slot)) op.WriteAs(slot, {VarType::FP32, {shape.channels}});
  }
  if (op.Wants("ReserveSpace")) op.WriteAs("ReserveSpace", {VarType::FP32, {0}});
  for (const char* slot : {"MeanOut", "VarianceOut"}) {
    const Buffer before = slot == absl::string_view("MeanOut") ? mean : variance;
    if (!op.Wants(slot)) continue;
    const Buffer after =
        op.WriteOver(slot, {VarType::FP32, {shape.channels}}, Layout::kRowMajor, before);
    if (after != before) op.builder().AddCopy("copy", before, after);
  }
  op.AddStep({{x, scale, bias, mean, variance},
              {a, b, y},
              [=, epsilon = shape.epsilon](const StepContext& run) {
                const absl::Span<float> as = run.Floats(a);
                const absl::Span<float> bs = run.Floats(b);
                for (size_t c = 0; c < as.size(); ++c) {
                  as[c] = run.Floats(scale)[c] / std::sqrt(run.Floats(variance)[c] + epsilon);
                  bs[c] = run.Floats(bias)[c] - run.Floats(mean)[c] * as[c];
                }
                kernels::ChannelAffine(run.Floats(x), as, bs, run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanBatchNorm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  if (op.HasInput("MomentumTensor") || op.attributes().Bool("fuse_with_relu")) {
    return absl::UnimplementedError(
        "MomentumTensor is there, or fuse_with_relu is true; want neither");
  }
  return UsesBatch(op) ? PlanTraining(op, shape) : PlanInference(op, shape);
}

// Of a norm by given statistics, which do not depend on X: with n = (x - mean) / deviation,
// dX = dY * Scale / deviation, dScale = sum(dY * n), dBias = sum(dY).
absl::Status PlanGradientOfGiven(OpPlanner& op, const kernels::BatchNormShape& shape) {
  for (const char* slot : {"Mean", "Variance"}) {
    if (op.HasInput(slot) && op.InputType(slot).size() == shape.channels) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", slot, " is absent or not of ", shape.channels,
                     " elements, and the statistics are not the batch's; want it"));
  }
  if (op.InputDims("Y@GRAD") != op.InputDims("X")) {
    return absl::InvalidArgumentError(absl::StrCat("Y@GRAD is ", DimsText(op.InputDims("Y@GRAD")),
                                                   "; want ", DimsText(op.InputDims("X"))));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance, op.ReadFloats("Variance"));
  const Buffer sums = op.Scratch("sums", VarType::FP64, 2 * shape.channels);
  const Buffer factors = op.Scratch("factors", VarType::FP32, 2 * shape.channels);
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), Layout::kChannelsLast, dy);
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

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  if (!UsesBatch(op)) return PlanGradientOfGiven(op, shape);
  const auto* forward = op.builder().Attached<ForwardNorm>(op.InputValue("SavedMean"));
  if (forward == nullptr) {
    return absl::UnimplementedError(
        "no batch_norm of the program wrote SavedMean by its batch; want one that did");
  }
  RETURN_IF_ERROR(op.CheckDims("X", forward->x_dims));
  const Value& dy_value =
      forward->dy_of_relu != nullptr ? *forward->dy_of_relu : op.InputValue("Y@GRAD");
  if (op.builder().TypeOf(dy_value) != op.InputType("X")) {
    return absl::InvalidArgumentError(absl::StrCat("Y@GRAD is ",
                                                   DimsText(op.builder().TypeOf(dy_value).dims),
                                                   "; want ", DimsText(op.InputDims("X"))));
  }
  ASSIGN_OR_RETURN(const Buffer dy, op.builder().Read(dy_value, Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("SavedMean"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"), Layout::kChannelsLast);
  op.builder().MayLieIn(dx, dy);
  const Buffer dscale = op.WriteAs("Scale@GRAD", op.InputType("Scale"));
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Scale"));
  std::vector<Buffer> reads = {x, dy, scale, mean, forward->variance};
  if (forward->mask) reads.push_back(*forward->mask);
  op.AddStep({reads,
              {dx, dscale, dbias},
              [=, forward = *forward](const StepContext& run) {
                const absl::Span<const uint8_t> mask =
                    forward.mask ? run.Of<uint8_t>(*forward.mask) : absl::Span<uint8_t>();
                forward.norm->Backward(run.Floats(x), run.Floats(dy), run.Floats(scale),
                                       run.Floats(mean), run.Floats(forward.variance), mask,
                                       run.Floats(dx), run.Floats(dscale), run.Floats(dbias));
                return absl::OkStatus();
              },
              forward->norm->implementation(),
              0,
              forward->mask ? "batch_norm_grad + relu_grad" : "batch_norm_grad"});
  return absl::OkStatus();
}

}  // namespace

OpPlans BatchNormPlans() {
  return {{"batch_norm", PlanBatchNorm}, {"batch_norm_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
