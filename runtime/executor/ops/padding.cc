// Padding.

#include <string>
#include <vector>

#include "ops/element_places.h"
#include "ops/window_axes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/placed_elements.h"

namespace fixpoint::executor {
namespace {

using kernels::Places;

struct Padding {
  std::vector<PaddedAxis> axes;
  PadMode mode = PadMode::kConstant;
};

absl::StatusOr<Padding> PaddingOf(const OpPlanner& op, PadForm form, size_t rank) {
  const OpAttributes& attributes = op.attributes();
  Padding padding;
  bool is_channels_last = false;
  if (form != PadForm::kEachAxis) {
    RETURN_IF_ERROR(op.CheckAbsent("Paddings"));
    ASSIGN_OR_RETURN(padding.mode, PadModeOf(attributes.String("mode")));
    is_channels_last = AreChannelsLast(attributes.String("data_format"));
  }
  ASSIGN_OR_RETURN(padding.axes, PaddedAxes(form, static_cast<int>(rank), is_channels_last,
                                            attributes.Ints("paddings")));
  return padding;
}

absl::StatusOr<std::vector<Places>> PlacesOf(const Padding& padding, const Dims& x) {
  std::vector<Places> places(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const PaddedAxis& axis = padding.axes[i];
    ASSIGN_OR_RETURN(const int64_t size, PaddedSize(x[i], axis, padding.mode));
    if (axis.before == 0 && axis.after == 0) continue;
    RETURN_IF_ERROR(CheckPlanned(size));
    for (int64_t k = 0; k < size; ++k) {
      places[i].push_back(static_cast<int32_t>(PaddedPlace(k, x[i], axis, padding.mode)));
    }
  }
  return places;
}

absl::Status PlanPad(OpPlanner& op, PadForm form) {
  const Dims& x = op.InputDims("X");
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(op, form, x.size()));
  ASSIGN_OR_RETURN(const std::vector<Places> places, PlacesOf(padding, x));
  return AddPlacedCopy(op, "X", "Out", places,
                       op.attributes().Float(form == PadForm::kVolume ? "value" : "pad_value"));
}

absl::Status PlanGradient(OpPlanner& op, PadForm form) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  TensorType x = op.InputType("Out@GRAD");
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(op, form, x.dims.size()));
  if (form == PadForm::kEachAxis) {
    // Its gradient op does not read X.
    for (size_t i = 0; i < x.dims.size(); ++i) {
      const PaddedAxis& axis = padding.axes[i];
      ASSIGN_OR_RETURN(x.dims[i],
                       PaddedSize(x.dims[i], {-axis.before, -axis.after}, PadMode::kConstant));
    }
  } else {
    x = op.InputType("X");
    RETURN_IF_ERROR(PaddingOf(op, form, x.dims.size()).status());
  }
  ASSIGN_OR_RETURN(const std::vector<Places> places, PlacesOf(padding, x.dims));
  return AddPlacedGradient(op, "Out@GRAD", "X@GRAD", x, places);
}

}  // namespace

OpPlans PaddingPlans() {
  OpPlans plans;
  const auto add = [&](const std::string& type, PadForm form) {
    plans.push_back({type, [form](OpPlanner& op) { return PlanPad(op, form); }, AlwaysRoundsOnce});
    plans.push_back({type + "_grad", [form](OpPlanner& op) { return PlanGradient(op, form); }});
  };
  add("pad", PadForm::kEachAxis);
  add("pad2d", PadForm::kImage);
  add("pad3d", PadForm::kVolume);
  return plans;
}

}  // namespace fixpoint::executor
