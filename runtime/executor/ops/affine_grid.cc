// affine_grid: the places of an image that a matrix gives.

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/placed_elements.h"

namespace fixpoint::executor {
namespace {

// The places of an image's pixels.
struct Pixels {
  int64_t batch;
  std::vector<double> x;
  std::vector<double> y;

  Dims dims() const {
    return {batch, static_cast<int64_t>(y.size()), static_cast<int64_t>(x.size()), 2};
  }
};

std::vector<double> PlacesOf(int64_t size, bool aligns_corners) {
  std::vector<double> places;
  for (int64_t i = 0; i < size; ++i) {
    const auto twice = static_cast<double>(2 * i);
    const auto all = static_cast<double>(size);
    places.push_back(!aligns_corners ? (twice + 1 - all) / all
                     : size > 1      ? twice / (all - 1) - 1
                                     : -1);
  }
  return places;
}

absl::StatusOr<Pixels> PixelsOf(const OpPlanner& op, int64_t batch) {
  RETURN_IF_ERROR(op.CheckAbsent("OutputShape"));
  const std::vector<int64_t> shape = op.attributes().Ints("output_shape");
  const Dims dims(shape.begin(), shape.end());
  const bool fits = dims.size() == 4 && dims[0] == batch && dims[2] >= 1 && dims[3] >= 1;
  if (!fits || !ElementCount({dims[0], dims[2], dims[3], 2}).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("output_shape is ", DimsText(dims), "; want [",
                                                   batch, ", channels, height, width]"));
  }
  RETURN_IF_ERROR(CheckPlanned(dims[2]));
  RETURN_IF_ERROR(CheckPlanned(dims[3]));
  const bool aligns = op.era() == Era::kFluid || op.attributes().Bool("align_corners");
  return Pixels{batch, PlacesOf(dims[3], aligns), PlacesOf(dims[2], aligns)};
}

absl::Status PlanAffineGrid(OpPlanner& op) {
  const Dims& theta_dims = op.InputDims("Theta");
  if (theta_dims.size() != 3 || theta_dims[1] != 2 || theta_dims[2] != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("Theta is ", DimsText(theta_dims), "; want [batch, 2, 3]"));
  }
  ASSIGN_OR_RETURN(const Pixels pixels, PixelsOf(op, theta_dims[0]));
  ASSIGN_OR_RETURN(const Buffer theta, op.ReadFloats("Theta"));
  const Buffer grid = op.WriteAs("Output", {VarType::FP32, pixels.dims()});
  op.AddStep({{theta}, {grid}, [=](const StepContext& run) {
                float* to = run.Floats(grid).data();
                for (int64_t n = 0; n < pixels.batch; ++n) {
                  const float* const matrix = run.Floats(theta).data() + n * 6;
                  for (const double y : pixels.y) {
                    for (const double x : pixels.x) {
                      *to++ = static_cast<float>(matrix[0] * x + matrix[1] * y + matrix[2]);
                      *to++ = static_cast<float>(matrix[3] * x + matrix[4] * y + matrix[5]);
                    }
                  }
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  const Dims& dims = op.InputDims("Output@GRAD");
  ASSIGN_OR_RETURN(const Pixels pixels, PixelsOf(op, dims.empty() ? 0 : dims[0]));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", pixels.dims()));
  ASSIGN_OR_RETURN(const Buffer dgrid, op.ReadFloats("Output@GRAD"));
  const Buffer dtheta = op.WriteAs("Theta@GRAD", {VarType::FP32, {pixels.batch, 2, 3}});
  op.AddStep({{dgrid}, {dtheta}, [=](const StepContext& run) {
                const float* from = run.Floats(dgrid).data();
                for (int64_t n = 0; n < pixels.batch; ++n) {
                  double sums[6] = {};
                  for (const double y : pixels.y) {
                    for (const double x : pixels.x) {
                      for (int k = 0; k < 6; k += 3) {
                        const double gradient = *from++;
                        sums[k] += gradient * x;
                        sums[k + 1] += gradient * y;
                        sums[k + 2] += gradient;
                      }
                    }
                  }
                  float* const to = run.Floats(dtheta).data() + n * 6;
                  for (int k = 0; k < 6; ++k) to[k] = static_cast<float>(sums[k]);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans AffineGridPlans() {
  return {{"affine_grid", PlanAffineGrid}, {"affine_grid_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
