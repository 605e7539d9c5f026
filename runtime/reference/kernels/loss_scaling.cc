// Training in low precision: gradients of a scaled loss, and the scale.

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

Array NumberOf(VarType::Type dtype, DimsView dims, double value) {
  Array number(dtype, dims);
  number[0] = value;
  return number;
}

absl::Status Unscale(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  const double scale = op.Input("Scale")[0];
  bool has_found = false;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    const Array* const x = op.FindInput("X", i);
    if (x == nullptr) continue;
    Array out = *x;
    for (double& element : out.values) {
      has_found = has_found || !std::isfinite(element);
      element /= scale;
    }
    op.SetOutput("Out", i, std::move(out));
  }
  op.SetOutput("FoundInfinite", NumberOf(VarType::BOOL, Dims{1}, has_found));
  return absl::OkStatus();
}

absl::Status Update(OpRun& op) {
  for (const char* slot : {"FoundInfinite", "PrevLossScaling", "InGoodSteps", "InBadSteps"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, 1));
  }
  const bool has_found = op.Input("FoundInfinite")[0] != 0;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    const Array* const x = op.FindInput("X", i);
    if (x == nullptr) continue;
    Array out = *x;
    if (has_found) std::fill(out.values.begin(), out.values.end(), 0.0);
    op.SetOutput("Out", i, std::move(out));
  }
  const Array& scale_before = op.Input("PrevLossScaling");
  double scale = scale_before[0];
  double good = op.Input("InGoodSteps")[0];
  double bad = op.Input("InBadSteps")[0];
  bool stops = op.Bool("stop_update");
  if (const Array* const stop = op.FindInput("StopUpdate"); stop != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("StopUpdate", 1));
    stops = (*stop)[0] != 0;
  }
  if (!stops && has_found) {
    good = 0;
    if (++bad == static_cast<double>(op.Int("decr_every_n_nan_or_inf"))) {
      scale = std::max(Rounded(scale * op.Float("decr_ratio"), scale_before.dtype), 1.0);
      bad = 0;
    }
  } else if (!stops) {
    bad = 0;
    if (++good == static_cast<double>(op.Int("incr_every_n_steps"))) {
      const double larger = Rounded(scale * op.Float("incr_ratio"), scale_before.dtype);
      if (std::isfinite(larger)) scale = larger;
      good = 0;
    }
  }
  op.SetOutput("LossScaling", NumberOf(scale_before.dtype, scale_before.dims, scale));
  op.SetOutput("OutGoodSteps",
               NumberOf(op.Input("InGoodSteps").dtype, op.Input("InGoodSteps").dims, good));
  op.SetOutput("OutBadSteps",
               NumberOf(op.Input("InBadSteps").dtype, op.Input("InBadSteps").dims, bad));
  return absl::OkStatus();
}

}  // namespace

Kernels LossScalingKernels() {
  return {{"check_finite_and_unscale", Unscale}, {"update_loss_scaling", Update}};
}

}  // namespace fixpoint::reference
