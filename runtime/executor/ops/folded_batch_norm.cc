// folded_batch_norm: a product with a folded weight gets the statistics of the batch, which are
// those of the product with the weight as it is, as a factor and an addend for each channel.

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/kernels/batch_norm.h"
#include "runtime/kernels/channel_affine.h"

namespace fixpoint::executor {
namespace {

ImageForm FormOf(const OpPlanner& op) { return ImageForm(op.attributes().String("data_layout")); }

absl::StatusOr<kernels::BatchNormShape> ShapeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  if (dims.size() != 4 && dims.size() != 2) {
    return absl::UnimplementedError(absl::StrCat(
        "X is ", DimsText(dims), "; want 2 or 4 dimensions (the interpreter takes any number)"));
  }
  RETURN_IF_ERROR(op.CheckDims("Unfolded", dims));
  kernels::BatchNormShape shape;
  shape.batch = dims[0];
  shape.channels = dims[FormOf(op).channel_axis(static_cast<int>(dims.size()))];
  if (dims.size() == 4) {
    const Dims nchw = FormOf(op).ToNchw(dims);
    shape.height = nchw[2];
    shape.width = nchw[3];
  }
  shape.epsilon = op.Number("epsilon");
  for (const char* slot : {"Deviation", "Scale", "Mean"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  }
  return shape;
}

// The running statistics stay, and each channel gets an addend.
absl::Status PlanTest(OpPlanner& op, int64_t channels) {
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer deviation, op.ReadFloats("Deviation"));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats("Mean"));
  const Buffer factors = op.Scratch("factors", VarType::FP32, channels);
  const Buffer addends = op.Scratch("addends", VarType::FP32, channels);
  const Buffer inverse_deviation = op.WriteAs("SavedVariance", {VarType::FP32, {channels}});
  op.AddStep({{deviation, scale, bias, mean},
              {factors, addends, inverse_deviation},
              [=](const StepContext& run) {
                for (int64_t c = 0; c < channels; ++c) {
                  const float factor = run.Floats(scale)[c] / run.Floats(deviation)[c];
                  run.Floats(factors)[c] = 1;
                  run.Floats(addends)[c] = run.Floats(bias)[c] - run.Floats(mean)[c] * factor;
                  run.Floats(inverse_deviation)[c] = 1 / run.Floats(deviation)[c];
                }
                return absl::OkStatus();
              },
              "",
              0,
              "folded_batch_norm addends"});
  const Buffer y = op.WriteOver("Y", op.InputType("X"), layout, x);
  op.AddStep({{x, factors, addends}, {y}, [=](const StepContext& run) {
                kernels::ChannelAffine(run.Floats(x), run.Floats(factors), run.Floats(addends),
                                       run.Floats(y));
                return absl::OkStatus();
              }});
  const std::pair<const char*, const char*> kept[] = {
      {"SavedMean", "Mean"}, {"MeanOut", "Mean"}, {"VarianceOut", "Variance"}};
  for (const auto& [output, input] : kept) {
    if (!op.Wants(output)) continue;
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue(output), op.InputValue(input)));
  }
  return absl::OkStatus();
}

absl::Status PlanTraining(OpPlanner& op, const kernels::BatchNormShape& shape) {
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::BatchNorm> norm, kernels::BatchNorm::Plan(shape));
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer unfolded, op.ReadFloats("Unfolded", layout));
  ASSIGN_OR_RETURN(const Buffer deviation, op.ReadFloats("Deviation"));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  ASSIGN_OR_RETURN(const Buffer mean_before, op.ReadFloats("Mean"));
  ASSIGN_OR_RETURN(const Buffer variance_before, op.ReadFloats("Variance"));
  const TensorType channels{VarType::FP32, {shape.channels}};
  const Buffer mean = op.WriteAs("SavedMean", channels);
  const Buffer inverse_deviation = op.WriteAs("SavedVariance", channels);
  const Buffer mean_after = op.WriteAs("MeanOut", channels);
  const Buffer variance_after = op.WriteAs("VarianceOut", channels);
  const Buffer variance = op.Scratch("variance", VarType::FP32, shape.channels);
  const Buffer slopes = op.Scratch("slopes", VarType::FP32, shape.channels);
  const Buffer factors = op.Scratch("factors", VarType::FP32, shape.channels);
  const Buffer addends = op.Scratch("addends", VarType::FP32, shape.channels);
  const float momentum = op.Number("momentum");
  op.AddStep(
      {{unfolded, deviation, scale, bias, mean_before, variance_before},
       {mean, variance, inverse_deviation, slopes, addends, factors, mean_after, variance_after},
       [=](const StepContext& run) {
         float range = 0;  // of the normalized values, which nothing reads
         norm->FindStatistics(
             run.Floats(unfolded), run.Floats(scale), run.Floats(bias),
             {run.Floats(mean), run.Floats(variance), run.Floats(inverse_deviation),
              run.Floats(slopes), run.Floats(addends)},
             &range);
         for (size_t c = 0; c < run.Floats(factors).size(); ++c) {
           run.Floats(factors)[c] = run.Floats(deviation)[c] * run.Floats(inverse_deviation)[c];
           run.Floats(mean_after)[c] =
               run.Floats(mean_before)[c] * momentum + run.Floats(mean)[c] * (1 - momentum);
           run.Floats(variance_after)[c] =
               run.Floats(variance_before)[c] * momentum + run.Floats(variance)[c] * (1 - momentum);
         }
         return absl::OkStatus();
       },
       norm->implementation(),
       0,
       "folded_batch_norm statistics"});
  const Buffer y = op.WriteOver("Y", op.InputType("X"), layout, x);
  op.AddStep({{x, factors, addends}, {y}, [=](const StepContext& run) {
                kernels::ChannelAffine(run.Floats(x), run.Floats(factors), run.Floats(addends),
                                       run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanForward(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  for (const char* slot : {"Bias", "Variance"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  }
  return op.IsTest() ? PlanTest(op, shape.channels) : PlanTraining(op, shape);
}

// Gradients by sums over each channel; the formulas are those of the reference interpreter
// (runtime/reference/kernels/batch_norm.cc).
absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::BatchNormShape shape, ShapeOf(op));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", op.InputDims("X")));
  for (const char* slot : {"SavedMean", "SavedVariance"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  }
  const bool is_test = op.IsTest();
  const Layout layout = FormOf(op).layout();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer unfolded, op.ReadFloats("Unfolded", layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD", layout));
  ASSIGN_OR_RETURN(const Buffer deviation, op.ReadFloats("Deviation"));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer mean, op.ReadFloats(is_test ? "Mean" : "SavedMean"));
  ASSIGN_OR_RETURN(const Buffer saved, op.ReadFloats("SavedVariance"));
  const int64_t channels = shape.channels;
  const Buffer sums = op.Scratch("sums", VarType::FP64, 2 * channels);
  const Buffer of_x = op.Scratch("factors", VarType::FP32, 2 * channels);
  const Buffer of_unfolded = op.Scratch("slopes", VarType::FP32, 2 * channels);
  const Buffer dscale = op.WriteAs("Scale@GRAD", op.InputType("Scale"));
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Scale"));
  op.AddStep(
      {{x, dy, deviation, scale, mean, saved},
       {sums, of_x, of_unfolded, dscale, dbias},
       [=, rows = static_cast<double>(shape.rows())](const StepContext& run) {
         const absl::Span<double> of_dy = run.Of<double>(sums).first(channels);
         const absl::Span<double> of_products = run.Of<double>(sums).subspan(channels);
         kernels::ChannelSums(run.Floats(x), run.Floats(dy), of_dy, of_products);
         for (int64_t c = 0; c < channels; ++c) {
           const double of_channel = run.Floats(deviation)[c];
           const double inverse = is_test ? 1 / of_channel : double{run.Floats(saved)[c]};
           const double center = run.Floats(mean)[c];
           const double factor = run.Floats(scale)[c];
           const double of_inverse = of_channel * of_products[c] - factor * center * of_dy[c];
           const double slope = is_test ? 0 : -inverse * inverse * inverse * of_inverse / rows;
           const double of_mean = is_test ? 0 : -factor * inverse * of_dy[c] / rows;
           run.Floats(dscale)[c] = static_cast<float>(-center * inverse * of_dy[c]);
           run.Floats(dbias)[c] = static_cast<float>(of_dy[c]);
           run.Floats(of_x)[c] = is_test ? 1 : static_cast<float>(of_channel * inverse);
           run.Floats(of_x)[channels + c] = 0;
           run.Floats(of_unfolded)[c] = static_cast<float>(slope);
           run.Floats(of_unfolded)[channels + c] = static_cast<float>(of_mean - slope * center);
         }
         return absl::OkStatus();
       },
       "",
       0,
       "folded_batch_norm_grad statistics"});
  const auto add_affine = [&](const char* slot, Buffer from, Buffer factors) {
    const Buffer to = op.WriteAs(slot, op.InputType("X"), layout);
    op.AddStep({{from, factors}, {to}, [=](const StepContext& run) {
                  kernels::ChannelAffine(run.Floats(from), run.Floats(factors).first(channels),
                                         run.Floats(factors).subspan(channels), run.Floats(to));
                  return absl::OkStatus();
                }});
  };
  add_affine("X@GRAD", dy, of_x);
  add_affine("Unfolded@GRAD", unfolded, of_unfolded);
  return absl::OkStatus();
}

}  // namespace

OpPlans FoldedBatchNormPlans() {
  return {{"folded_batch_norm", PlanForward}, {"folded_batch_norm_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
