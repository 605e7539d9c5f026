// Resizing of images, one axis after another: an output element is a sum over a few elements of the
// input on each axis.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/resizing.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

enum class Method { kNearest, kLinear, kCubic };

// A family of ops: with the number of their spatial axes, 0 where several are possible.
struct Form {
  Method method;
  bool is_v2;
  int axes;
};

struct Tap {
  int64_t place;
  double weight;
};
// What the elements along an axis of the output are sums of.
using Taps = std::vector<std::vector<Tap>>;

absl::StatusOr<std::vector<ResizedAxis>> AxesOf(const OpRun& op, const Form& form) {
  const Array& x = op.Input("X");
  const int axes = x.rank() - 2;
  if (form.axes == 0 ? axes != 2 && axes != 3 : axes != form.axes) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want ",
                     form.axes == 0 ? "4 or 5" : absl::StrCat(form.axes + 2), " dimensions"));
  }
  ResizeRequest request;
  request.is_v2 = form.is_v2;
  request.align_corners = op.Bool("align_corners");
  request.has_size_list = !op.Inputs("SizeTensor").empty();
  if (request.has_size_list) {
    ASSIGN_OR_RETURN(request.sizes, IntsFrom(op, "", "SizeTensor", "out_h"));
  } else if (const Array* sizes = op.FindInput("OutSize"); sizes != nullptr) {
    for (const double size : sizes->values) request.sizes.push_back(ToInt(size));
  }
  if (const Array* scale = op.FindInput("Scale"); scale != nullptr) {
    request.scales = scale->values;
  } else {
    request.scales = ScalesOfAttribute(
        form.is_v2, form.is_v2 ? op.Floats("scale") : std::vector<double>{op.Float("scale")}, axes);
  }
  const std::vector<int64_t> wanted = {op.Int("out_d"), op.Int("out_h"), op.Int("out_w")};
  request.wanted.assign(wanted.end() - axes, wanted.end());
  const bool is_channels_last = IsChannelsLast(op.String("data_layout"));
  return ResizedAxes(SpatialDims(x.dims, is_channels_last), request);
}

// Keys's kernel with A = -0.75, at a distance of up to 1, and of 1 to 2.
double NearCubic(double t) {
  constexpr double kA = -0.75;
  return ((kA + 2) * t - (kA + 3)) * t * t + 1;
}
double FarCubic(double t) {
  constexpr double kA = -0.75;
  return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA;
}

// Error: the element of the output is outside of the input.
absl::StatusOr<std::vector<Tap>> TapsAt(const OpRun& op, Method method, const ResizedAxis& axis,
                                        int64_t k) {
  const bool align_corners = op.Bool("align_corners");
  const float corner = axis.step * static_cast<float>(k);
  const double centre = axis.step * (static_cast<double>(k) + 0.5) - 0.5;
  const int64_t last = axis.from - 1;
  switch (method) {
    case Method::kNearest: {
      ASSIGN_OR_RETURN(const int64_t place, PlaceAt(align_corners ? corner + 0.5 : corner, axis));
      return std::vector<Tap>{{place, 1}};
    }
    case Method::kLinear: {
      const bool is_half = op.Int("align_mode") == 0 && !align_corners;
      ASSIGN_OR_RETURN(const int64_t place, PlaceAt(is_half ? centre : corner, axis));
      const float position = is_half ? std::max(static_cast<float>(centre), 0.0f) : corner;
      const double after = position - static_cast<float>(place);
      return std::vector<Tap>{{place, 1 - after}, {std::min(place + 1, last), after}};
    }
    case Method::kCubic: {
      RETURN_IF_ERROR(PlaceAt(0, axis).status());
      // After its end the axis goes on with its last element.
      const float position = std::min(align_corners ? corner : static_cast<float>(centre),
                                      static_cast<float>(axis.from));
      const double place = std::floor(position);
      const double t = position - place;
      const double weights[] = {FarCubic(t + 1), NearCubic(t), NearCubic(1 - t), FarCubic(2 - t)};
      std::vector<Tap> taps;
      for (int i = 0; i < 4; ++i) {
        taps.push_back(
            {std::clamp<int64_t>(static_cast<int64_t>(place) - 1 + i, 0, last), weights[i]});
      }
      return taps;
    }
  }
  return std::vector<Tap>();
}

absl::StatusOr<Taps> TapsOf(const OpRun& op, Method method, const ResizedAxis& axis) {
  Taps taps;
  for (int64_t k = 0; k < axis.to; ++k) {
    ASSIGN_OR_RETURN(std::vector<Tap> at, TapsAt(op, method, axis, k));
    taps.push_back(std::move(at));
  }
  return taps;
}

bool KeepsSizes(const std::vector<ResizedAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const ResizedAxis& axis) { return axis.from == axis.to; });
}

absl::Status Resize(OpRun& op, const Form& form) {
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, AxesOf(op, form));
  const int first = IsChannelsLast(op.String("data_layout")) ? 1 : 2;
  Array out = op.Input("X");
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    const AxisView from = ViewAround(out.dims, first + static_cast<int>(i));
    Dims dims = out.dims;
    dims[first + i] = axes[i].to;
    Array resized(out.dtype, dims);
    ASSIGN_OR_RETURN(const Taps taps, TapsOf(op, form.method, axes[i]));
    const AxisView to = ViewAround(dims, first + static_cast<int>(i));
    for (int64_t o = 0; o < to.outer; ++o) {
      for (int64_t k = 0; k < to.size; ++k) {
        for (int64_t inner = 0; inner < to.inner; ++inner) {
          double sum = 0;
          for (const Tap& tap : taps[k]) sum += tap.weight * out[from.At(o, tap.place, inner)];
          resized[to.At(o, k, inner)] = sum;
        }
      }
    }
    out = std::move(resized);
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ResizeGradient(OpRun& op, const Form& form) {
  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, AxesOf(op, form));
  const Array& x = op.Input("X");
  const bool is_channels_last = IsChannelsLast(op.String("data_layout"));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", WithSpatialDims(x.dims, is_channels_last, axes)));
  Array dx = op.Input("Out@GRAD");
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    const int at = (is_channels_last ? 1 : 2) + static_cast<int>(i);
    const AxisView from = ViewAround(dx.dims, at);
    Dims dims = dx.dims;
    dims[at] = axes[i].from;
    Array spread(x.dtype, dims);
    ASSIGN_OR_RETURN(const Taps taps, TapsOf(op, form.method, axes[i]));
    const AxisView to = ViewAround(dims, at);
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t k = 0; k < from.size; ++k) {
        for (int64_t inner = 0; inner < from.inner; ++inner) {
          for (const Tap& tap : taps[k]) {
            spread[to.At(o, tap.place, inner)] += tap.weight * dx[from.At(o, k, inner)];
          }
        }
      }
    }
    dx = std::move(spread);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels InterpolationKernels() {
  Kernels kernels;
  for (const bool is_v2 : {false, true}) {
    const auto add = [&](const char* type, Method method, int axes) {
      const Form form = {method, is_v2, axes};
      const std::string name = absl::StrCat(type, "_interp", is_v2 ? "_v2" : "");
      kernels.push_back({name, [form](OpRun& op) { return Resize(op, form); }});
      kernels.push_back(
          {absl::StrCat(name, "_grad"), [form](OpRun& op) { return ResizeGradient(op, form); }});
    };
    add("nearest", Method::kNearest, 0);
    add("linear", Method::kLinear, 1);
    add("bilinear", Method::kLinear, 2);
    add("trilinear", Method::kLinear, 3);
    add("bicubic", Method::kCubic, 2);
  }
  return kernels;
}

}  // namespace fixpoint::reference
