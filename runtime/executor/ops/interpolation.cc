// Resizing of images. The nearest elements are copied, which may be codes; others are sums along
// one axis after the other. Sizes that a run decides are those of run_resizing.h.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/resizing.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/executor/ops/placed_elements.h"
#include "runtime/executor/ops/resize_sizes.h"
#include "runtime/executor/ops/resize_taps.h"
#include "runtime/executor/ops/run_resizing.h"

namespace fixpoint::executor {
namespace {

using kernels::AxisTaps;
using kernels::Places;

using Kind = ResizeMethod::Kind;

// A family of ops: with the number of their spatial axes, 0 where several are possible.
struct Form {
  Kind kind;
  bool is_v2;
  int axes;
};

ResizeMethod MethodOf(const OpPlanner& op, const Form& form) {
  ResizeMethod method;
  method.kind = form.kind;
  method.align_corners = op.attributes().Bool("align_corners");
  method.is_half = !method.align_corners && op.attributes().Int("align_mode") == 0;
  return method;
}

absl::StatusOr<ResizeSizes> SizesOf(OpPlanner& op, const Form& form) {
  const Dims& x = op.InputDims("X");
  const int axes = static_cast<int>(x.size()) - 2;
  if (form.axes == 0 ? axes != 2 && axes != 3 : axes != form.axes) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want ",
                     form.axes == 0 ? "4 or 5" : absl::StrCat(form.axes + 2), " dimensions"));
  }
  return ResizeSizes::Of(op, form.is_v2);
}

absl::StatusOr<std::vector<ResizedAxis>> KnownAxes(const OpPlanner& op, const ResizeSizes& sizes) {
  ASSIGN_OR_RETURN(std::vector<ResizedAxis> resized, sizes.Known());
  const bool is_channels_last = IsChannelsLast(op.attributes().String("data_layout"));
  for (const ResizedAxis& axis : resized) RETURN_IF_ERROR(CheckPlanned(axis.to));
  RETURN_IF_ERROR(
      ElementCount(WithSpatialDims(op.InputDims("X"), is_channels_last, resized)).status());
  return resized;
}

int FirstSpatialAxis(const OpPlanner& op) {
  return IsChannelsLast(op.attributes().String("data_layout")) ? 1 : 2;
}

// Where the elements of Out are on each of X's axes.
absl::StatusOr<std::vector<Places>> NearestOf(const OpPlanner& op, const ResizeMethod& method,
                                              const std::vector<ResizedAxis>& axes) {
  std::vector<Places> places(op.InputDims("X").size());
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    ASSIGN_OR_RETURN(places[FirstSpatialAxis(op) + i], NearestPlaces(method, axes[i]));
  }
  return places;
}

// Images of 4 dimensions lie channels last, so that sums are of whole pixels.
Layout LayoutOf(const OpPlanner& op) {
  if (op.InputDims("X").size() != 4) return Layout::kRowMajor;
  return ImageForm(op.attributes().String("data_layout")).layout();
}

// The sums that make Out of X, in the order of memory.
absl::StatusOr<std::vector<AxisSums>> SumsOf(const OpPlanner& op, const ResizeMethod& method,
                                             const std::vector<ResizedAxis>& axes) {
  std::vector<AxisSums> sums;
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    ASSIGN_OR_RETURN(AxisTaps taps, TapsOf(method, axes[i]));
    const int axis = FirstSpatialAxis(op) + static_cast<int>(i);
    sums.push_back({AxisInMemory(axis, LayoutOf(op)), std::move(taps)});
  }
  return sums;
}

absl::Status PlanResize(OpPlanner& op, const Form& form) {
  const ResizeMethod method = MethodOf(op, form);
  ASSIGN_OR_RETURN(const ResizeSizes sizes, SizesOf(op, form));
  if (sizes.FindDecidedSlot() != nullptr) return AddRunResize(op, method, sizes);
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, KnownAxes(op, sizes));
  if (form.kind == Kind::kNearest) {
    ASSIGN_OR_RETURN(const std::vector<Places> places, NearestOf(op, method, axes));
    return AddPlacedCopy(op, "X", "Out", places);
  }
  ASSIGN_OR_RETURN(const std::vector<AxisSums> sums, SumsOf(op, method, axes));
  const TensorType x = op.InputType("X");
  const Layout layout = LayoutOf(op);
  ASSIGN_OR_RETURN(const Buffer from, op.ReadFloats("X", layout));
  const bool is_channels_last = FirstSpatialAxis(op) == 1;
  const Buffer to =
      op.WriteAs("Out", {x.dtype, WithSpatialDims(x.dims, is_channels_last, axes)}, layout);
  AddAxisSums(op, from, DimsInMemory(x.dims, layout), sums, to);
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op, const Form& form) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const ResizeMethod method = MethodOf(op, form);
  ASSIGN_OR_RETURN(const ResizeSizes sizes, SizesOf(op, form));
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, KnownAxes(op, sizes));
  const TensorType x = op.InputType("X");
  const Dims dims = WithSpatialDims(x.dims, FirstSpatialAxis(op) == 1, axes);
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  if (form.kind == Kind::kNearest) {
    ASSIGN_OR_RETURN(const std::vector<Places> places, NearestOf(op, method, axes));
    return AddPlacedGradient(op, "Out@GRAD", "X@GRAD", x, places);
  }
  ASSIGN_OR_RETURN(std::vector<AxisSums> sums, SumsOf(op, method, axes));
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i].taps = kernels::Transposed(sums[i].taps, axes[i].from);
  }
  const Layout layout = LayoutOf(op);
  ASSIGN_OR_RETURN(const Buffer from, op.ReadFloats("Out@GRAD", layout));
  const Buffer to = op.WriteAs("X@GRAD", x, layout);
  AddAxisSums(op, from, DimsInMemory(dims, layout), sums, to);
  return absl::OkStatus();
}

}  // namespace

OpPlans InterpolationPlans() {
  OpPlans plans;
  for (const bool is_v2 : {false, true}) {
    const auto add = [&](const char* type, Kind kind, int axes) {
      const Form form = {kind, is_v2, axes};
      const std::string name = absl::StrCat(type, "_interp", is_v2 ? "_v2" : "");
      plans.push_back({name, [form](OpPlanner& op) { return PlanResize(op, form); },
                       kind == Kind::kNearest ? RoundsOnce(AlwaysRoundsOnce) : nullptr});
      plans.push_back(
          {absl::StrCat(name, "_grad"), [form](OpPlanner& op) { return PlanGradient(op, form); }});
    };
    add("nearest", Kind::kNearest, 0);
    add("linear", Kind::kLinear, 1);
    add("bilinear", Kind::kLinear, 2);
    add("trilinear", Kind::kLinear, 3);
    add("bicubic", Kind::kCubic, 2);
  }
  return plans;
}

}  // namespace fixpoint::executor
