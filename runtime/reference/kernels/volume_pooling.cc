// Pooling of volumes; and maxima of windows with their places, of images too.

#include <algorithm>
#include <cfloat>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/pooled_spans.h"
#include "ops/unpooling.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

struct Pooling {
  Dims out_dims;
  Dims sizes;  // of the spatial axes of X
  bool channels_last;
  std::vector<std::vector<PooledSpan>> spans;  // of each of these axes
};

absl::StatusOr<Pooling> PoolingOf(const OpRun& op, const PoolingAttrs& attrs, int axes,
                                  bool channels_last) {
  RETURN_IF_ERROR(op.CheckRank("X", axes + 2));
  const Dims& x = op.Input("X").dims;
  const int first = channels_last ? 1 : 2;
  Pooling pooling{x, Dims(x.begin() + first, x.begin() + first + axes), channels_last, {}};
  ASSIGN_OR_RETURN(pooling.spans, PooledSpans(attrs, pooling.sizes, op.era()));
  for (int i = 0; i < axes; ++i) {
    pooling.out_dims[first + i] = static_cast<int64_t>(pooling.spans[i].size());
  }
  return pooling;
}

PoolingAttrs AttrsOf(const OpRun& op) {
  PoolingAttrs attrs{op.Ints("ksize"), op.Ints("strides"), op.Ints("paddings")};
  attrs.is_global = op.Bool("global_pooling");
  attrs.is_adaptive = op.Bool("adaptive");
  return attrs;
}

absl::StatusOr<Pooling> PoolingOfVolumes(const OpRun& op) {
  PoolingAttrs attrs = AttrsOf(op);
  attrs.ceil_mode = op.Bool("ceil_mode");
  attrs.padding_algorithm = op.String("padding_algorithm");
  return PoolingOf(op, attrs, 3, AreChannelsLast(op.String("data_format")));
}

absl::StatusOr<Pooling> PoolingWithPlaces(const OpRun& op, int axes) {
  return PoolingOf(op, AttrsOf(op), axes, /*channels_last=*/false);
}

struct Window {
  std::vector<int64_t> places;  // of the spatial axes, row by row
  int64_t padded;
};

// The window at a place of the output.
Window WindowAt(const Pooling& pooling, int64_t place) {
  std::vector<PooledSpan> spans;
  int64_t padded = 1;
  for (int axis = static_cast<int>(pooling.sizes.size()) - 1; axis >= 0; --axis) {
    const auto count = static_cast<int64_t>(pooling.spans[axis].size());
    spans.insert(spans.begin(), pooling.spans[axis][place % count]);
    padded *= spans.front().padded;
    place /= count;
  }
  std::vector<int64_t> places = {0};
  for (size_t axis = 0; axis < spans.size(); ++axis) {
    std::vector<int64_t> more;
    for (const int64_t before : places) {
      for (int64_t i = spans[axis].begin; i < spans[axis].end; ++i) {
        more.push_back(before * pooling.sizes[axis] + i);
      }
    }
    places = std::move(more);
  }
  return {std::move(places), padded};
}

// Calls f(out_i, window, at) for each output; at(place) is where X has a place of its channel.
template <typename F>
void ForEachWindow(const Pooling& pooling, F f) {
  const int64_t channels = pooling.channels_last ? pooling.out_dims.back() : pooling.out_dims[1];
  const int64_t x_places = Volume(pooling.sizes);
  int64_t out_places = 1;
  for (const auto& spans : pooling.spans) out_places *= static_cast<int64_t>(spans.size());
  for (int64_t place = 0; place < out_places; ++place) {
    const Window window = WindowAt(pooling, place);
    for (int64_t n = 0; n < pooling.out_dims[0]; ++n) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto in = [&](int64_t i, int64_t places) {
          return pooling.channels_last ? (n * places + i) * channels + c
                                       : (n * channels + c) * places + i;
        };
        f(in(place, out_places), window, [&](int64_t i) { return in(i, x_places); });
      }
    }
  }
}

absl::StatusOr<bool> IsMax(const OpRun& op) {
  const std::string type = op.String("pooling_type");
  if (type == "max" || type == "avg") return type == "max";
  return absl::InvalidArgumentError(
      absl::StrCat("pooling_type is \"", type, "\"; want max or avg"));
}

double CountOf(const OpRun& op, const Window& window) {
  return op.Bool("exclusive") ? static_cast<double>(window.places.size())
                              : static_cast<double>(window.padded);
}

// A window without elements has the maximum that the reference begins with, and an average of 0.
absl::Status Pool3d(OpRun& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingOfVolumes(op));
  const Array& x = op.Input("X");
  Array out(x.dtype, pooling.out_dims);
  ForEachWindow(pooling, [&](int64_t i, const Window& window, const auto& at) {
    if (is_max) out[i] = -FLT_MAX;
    for (const int64_t place : window.places) {
      const double value = x[at(place)];
      out[i] = is_max ? std::max(out[i], value) : out[i] + value / CountOf(op, window);
    }
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The gradient of a maximum goes to the first element that is equal to it.
absl::Status Pool3dGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingOfVolumes(op));
  RETURN_IF_ERROR(op.CheckDims("Out", pooling.out_dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", pooling.out_dims));
  const Array& x = op.Input("X");
  const Array& out = op.Input("Out");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachWindow(pooling, [&](int64_t i, const Window& window, const auto& at) {
    for (const int64_t place : window.places) {
      if (!is_max) {
        dx[at(place)] += dout[i] / CountOf(op, window);
      } else if (x[at(place)] == out[i]) {
        dx[at(place)] += dout[i];
        break;
      }
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status MaxPoolWithIndex(OpRun& op, int axes) {
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingWithPlaces(op, axes));
  const Array& x = op.Input("X");
  Array out(x.dtype, pooling.out_dims);
  Array mask(VarType::INT32, pooling.out_dims);
  ForEachWindow(pooling, [&](int64_t i, const Window& window, const auto& at) {
    out[i] = -FLT_MAX;
    mask[i] = -1;
    for (const int64_t place : window.places) {
      if (!(x[at(place)] > out[i])) continue;
      out[i] = x[at(place)];
      mask[i] = static_cast<double>(place);
    }
  });
  op.SetOutput("Out", std::move(out));
  op.SetOutput("Mask", std::move(mask));
  return absl::OkStatus();
}

absl::Status MaxPoolWithIndexGradient(OpRun& op, int axes) {
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingWithPlaces(op, axes));
  RETURN_IF_ERROR(op.CheckDims("Mask", pooling.out_dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", pooling.out_dims));
  const Array& x = op.Input("X");
  const Array& mask = op.Input("Mask");
  const Array& dout = op.Input("Out@GRAD");
  const int64_t places = Volume(pooling.sizes);
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (mask[i] >= -1 && mask[i] < static_cast<double>(places)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Mask has ", mask[i], "; want -1 to ", places - 1));
  }
  Array dx(x.dtype, x.dims);
  ForEachWindow(pooling, [&](int64_t i, const Window& /*window*/, const auto& at) {
    if (mask[i] >= 0) dx[at(static_cast<int64_t>(mask[i]))] += dout[i];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// Where each element of X is in an image of those dims. Error: somewhere else.
absl::StatusOr<std::vector<int64_t>> PlacesOf(const OpRun& op, const Dims& image) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  RETURN_IF_ERROR(op.CheckDims("Indices", x.dims));
  const int64_t from = x.dims[2] * x.dims[3];
  const int64_t to = image[2] * image[3];
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double place = op.Input("Indices")[i];
    if (!(place >= 0 && place < static_cast<double>(to))) {
      return absl::InvalidArgumentError(
          absl::StrCat("Indices has ", place, "; want 0 to ", to - 1));
    }
    places.push_back(i / from * to + static_cast<int64_t>(place));
  }
  return places;
}

absl::StatusOr<Dims> ImageOf(const OpRun& op) {
  if (op.String("unpooling_type") != "max") {
    return absl::InvalidArgumentError("unpooling_type is not \"max\"; want that");
  }
  std::vector<int64_t> output_size;
  if (op.era() == Era::kPaddle2) output_size = op.Ints("output_size");
  return UnpooledDims(op.Input("X").dims, op.Ints("ksize"), op.Ints("strides"), op.Ints("paddings"),
                      output_size);
}

absl::Status Unpool(OpRun& op) {
  ASSIGN_OR_RETURN(const Dims dims, ImageOf(op));
  ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOf(op, dims));
  Array out(op.Input("X").dtype, dims);
  for (size_t i = 0; i < places.size(); ++i) {
    out[places[i]] = op.Input("X")[static_cast<int64_t>(i)];
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status UnpoolGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Dims dims, ImageOf(op));
  ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOf(op, dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  Array dx(op.Input("X").dtype, op.Input("X").dims);
  for (size_t i = 0; i < places.size(); ++i) {
    dx[static_cast<int64_t>(i)] = op.Input("Out@GRAD")[places[i]];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels VolumePoolingKernels() {
  Kernels kernels = {{"pool3d", Pool3d},
                     {"pool3d_grad", Pool3dGradient},
                     {"unpool", Unpool},
                     {"unpool_grad", UnpoolGradient}};
  for (const int axes : {2, 3}) {
    const std::string type = absl::StrCat("max_pool", axes, "d_with_index");
    kernels.push_back({type, [axes](OpRun& op) { return MaxPoolWithIndex(op, axes); }});
    kernels.push_back(
        {type + "_grad", [axes](OpRun& op) { return MaxPoolWithIndexGradient(op, axes); }});
  }
  return kernels;
}

}  // namespace fixpoint::reference
