// Resizing of images. The nearest elements are copied, which may be codes; others are sums along
// one axis after the other.

#include <algorithm>
#include <cmath>
#include <optional>
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

namespace fixpoint::executor {
namespace {

using kernels::AxisTaps;
using kernels::Places;

enum class Method { kNearest, kLinear, kCubic };

// A family of ops: with the number of their spatial axes, 0 where several are possible.
struct Form {
  Method method;
  bool is_v2;
  int axes;
};

// The elements of the tensors in a slot, one after the other; nothing where there are none. Error
// (kUnimplemented): they depend on values.
absl::StatusOr<std::optional<std::vector<double>>> KnownElements(const OpPlanner& op,
                                                                 absl::string_view slot) {
  if (!op.HasInput(slot)) return std::nullopt;
  std::vector<double> all;
  for (int i = 0; i < op.InputCount(slot); ++i) {
    const auto elements = op.builder().FindKnown(op.InputValue(slot, i));
    if (!elements) {
      return absl::UnimplementedError(
          absl::StrCat("input ", std::string(slot),
                       " is not known before the run; want what shapes and constants decide"));
    }
    all.insert(all.end(), elements->begin(), elements->end());
  }
  return all;
}

std::vector<int64_t> Integers(const std::vector<double>& numbers) {
  std::vector<int64_t> integers;
  constexpr double kMost = 9e18;
  for (const double number : numbers) {
    integers.push_back(static_cast<int64_t>(std::clamp(number, -kMost, kMost)));
  }
  return integers;
}

absl::StatusOr<std::vector<ResizedAxis>> AxesOf(const OpPlanner& op, const Form& form) {
  const Dims& x = op.InputDims("X");
  const int axes = static_cast<int>(x.size()) - 2;
  if (form.axes == 0 ? axes != 2 && axes != 3 : axes != form.axes) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want ",
                     form.axes == 0 ? "4 or 5" : absl::StrCat(form.axes + 2), " dimensions"));
  }
  const OpAttributes& attributes = op.attributes();
  ResizeRequest request;
  request.is_v2 = form.is_v2;
  request.align_corners = attributes.Bool("align_corners");
  ASSIGN_OR_RETURN(auto sizes, KnownElements(op, "SizeTensor"));
  request.has_size_list = sizes.has_value();
  if (!sizes) {
    ASSIGN_OR_RETURN(sizes, KnownElements(op, "OutSize"));
  }
  if (sizes) request.sizes = Integers(*sizes);
  ASSIGN_OR_RETURN(const auto scales, KnownElements(op, "Scale"));
  const std::vector<double> scale =
      form.is_v2 ? attributes.Floats("scale") : std::vector<double>{attributes.Float("scale")};
  request.scales = scales ? *scales : ScalesOfAttribute(form.is_v2, scale, axes);
  const std::vector<int64_t> wanted = {attributes.Int("out_d"), attributes.Int("out_h"),
                                       attributes.Int("out_w")};
  request.wanted.assign(wanted.end() - axes, wanted.end());
  const bool is_channels_last = IsChannelsLast(attributes.String("data_layout"));
  ASSIGN_OR_RETURN(std::vector<ResizedAxis> resized,
                   ResizedAxes(SpatialDims(x, is_channels_last), request));
  for (const ResizedAxis& axis : resized) RETURN_IF_ERROR(CheckPlanned(axis.to));
  RETURN_IF_ERROR(ElementCount(WithSpatialDims(x, is_channels_last, resized)).status());
  return resized;
}

absl::Status CheckInside(int64_t place, const ResizedAxis& axis) {
  if (place < axis.from) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the output's size is ", axis.to,
                                                 ", whose end is outside of an axis of ", axis.from,
                                                 " in steps of ", axis.step));
}

absl::StatusOr<Places> NearestPlaces(const ResizedAxis& axis, bool align_corners) {
  Places places;
  for (int64_t k = 0; k < axis.to; ++k) {
    const float corner = axis.step * static_cast<float>(k);
    const auto place = static_cast<int64_t>(align_corners ? corner + 0.5 : corner);
    RETURN_IF_ERROR(CheckInside(place, axis));
    places.push_back(static_cast<int32_t>(place));
  }
  return places;
}

void AddTap(int64_t place, float weight, AxisTaps* taps) {
  taps->places.push_back(static_cast<int32_t>(place));
  taps->weights.push_back(weight);
}

absl::StatusOr<AxisTaps> LinearTaps(const ResizedAxis& axis, bool is_half) {
  AxisTaps taps;
  for (int64_t k = 0; k < axis.to; ++k) {
    const double centre = axis.step * (static_cast<double>(k) + 0.5) - 0.5;
    const float position =
        is_half ? std::max(static_cast<float>(centre), 0.0f) : axis.step * static_cast<float>(k);
    // The place is that of the centre before it is rounded.
    const int64_t place = is_half ? std::max<int64_t>(static_cast<int64_t>(centre), 0)
                                  : static_cast<int64_t>(position);
    RETURN_IF_ERROR(CheckInside(place, axis));
    const float after = position - static_cast<float>(place);
    AddTap(place, 1 - after, &taps);
    AddTap(std::min(place + 1, axis.from - 1), after, &taps);
    taps.End();
  }
  return taps;
}

// Keys's kernel with A = -0.75.
AxisTaps CubicTaps(const ResizedAxis& axis, bool align_corners) {
  constexpr double kA = -0.75;
  const auto weight = [](double distance) {
    const double t = std::fabs(distance);
    if (t <= 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
    return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA;
  };
  AxisTaps taps;
  for (int64_t k = 0; k < axis.to; ++k) {
    const double centre = axis.step * (static_cast<double>(k) + 0.5) - 0.5;
    const float position =
        align_corners ? axis.step * static_cast<float>(k) : static_cast<float>(centre);
    const auto before = static_cast<int64_t>(std::floor(position));
    const double t = position - std::floor(position);
    for (int64_t i = -1; i <= 2; ++i) {
      AddTap(std::clamp<int64_t>(before + i, 0, axis.from - 1),
             static_cast<float>(weight(static_cast<double>(i) - t)), &taps);
    }
    taps.End();
  }
  return taps;
}

absl::StatusOr<AxisTaps> TapsOf(const OpPlanner& op, Method method, const ResizedAxis& axis) {
  const bool align_corners = op.attributes().Bool("align_corners");
  if (method == Method::kCubic) return CubicTaps(axis, align_corners);
  return LinearTaps(axis, !align_corners && op.attributes().Int("align_mode") == 0);
}

bool KeepsSizes(const std::vector<ResizedAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const ResizedAxis& axis) { return axis.from == axis.to; });
}

int FirstSpatialAxis(const OpPlanner& op) {
  return IsChannelsLast(op.attributes().String("data_layout")) ? 1 : 2;
}

// Where the elements of Out are on each of X's axes.
absl::StatusOr<std::vector<Places>> NearestOf(const OpPlanner& op,
                                              const std::vector<ResizedAxis>& axes) {
  std::vector<Places> places(op.InputDims("X").size());
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    ASSIGN_OR_RETURN(places[FirstSpatialAxis(op) + i],
                     NearestPlaces(axes[i], op.attributes().Bool("align_corners")));
  }
  return places;
}

// Images of 4 dimensions lie channels last, so that sums are of whole pixels.
Layout LayoutOf(const OpPlanner& op) {
  if (op.InputDims("X").size() != 4) return Layout::kRowMajor;
  return ImageForm(op.attributes().String("data_layout")).layout();
}

// The sums that make Out of X, in the order of memory.
absl::StatusOr<std::vector<AxisSums>> SumsOf(const OpPlanner& op, Method method,
                                             const std::vector<ResizedAxis>& axes) {
  std::vector<AxisSums> sums;
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    ASSIGN_OR_RETURN(AxisTaps taps, TapsOf(op, method, axes[i]));
    const int axis = FirstSpatialAxis(op) + static_cast<int>(i);
    sums.push_back({AxisInMemory(axis, LayoutOf(op)), std::move(taps)});
  }
  return sums;
}

absl::Status PlanResize(OpPlanner& op, const Form& form) {
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, AxesOf(op, form));
  if (form.method == Method::kNearest) {
    ASSIGN_OR_RETURN(const std::vector<Places> places, NearestOf(op, axes));
    return AddPlacedCopy(op, "X", "Out", places);
  }
  ASSIGN_OR_RETURN(const std::vector<AxisSums> sums, SumsOf(op, form.method, axes));
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
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, AxesOf(op, form));
  const TensorType x = op.InputType("X");
  const Dims dims = WithSpatialDims(x.dims, FirstSpatialAxis(op) == 1, axes);
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  if (form.method == Method::kNearest) {
    ASSIGN_OR_RETURN(const std::vector<Places> places, NearestOf(op, axes));
    return AddPlacedGradient(op, "Out@GRAD", "X@GRAD", x, places);
  }
  ASSIGN_OR_RETURN(std::vector<AxisSums> sums, SumsOf(op, form.method, axes));
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
    const auto add = [&](const char* type, Method method, int axes) {
      const Form form = {method, is_v2, axes};
      const std::string name = absl::StrCat(type, "_interp", is_v2 ? "_v2" : "");
      plans.push_back({name, [form](OpPlanner& op) { return PlanResize(op, form); },
                       method == Method::kNearest ? RoundsOnce(AlwaysRoundsOnce) : nullptr});
      plans.push_back(
          {absl::StrCat(name, "_grad"), [form](OpPlanner& op) { return PlanGradient(op, form); }});
    };
    add("nearest", Method::kNearest, 0);
    add("linear", Method::kLinear, 1);
    add("bilinear", Method::kLinear, 2);
    add("trilinear", Method::kLinear, 3);
    add("bicubic", Method::kCubic, 2);
  }
  return plans;
}

}  // namespace fixpoint::executor
