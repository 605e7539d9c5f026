// Images sampled between their elements, at places that another tensor gives.

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/deformable_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// An element of an image beside a place, its weight, and how the weight changes with the place.
struct Corner {
  int64_t index;
  double weight;
  double by_row;
  double by_column;
};

// Calls f with the corners in [height, width] around a place; none if it is no number.
template <typename F>
void ForEachCorner(double row, double column, int64_t height, int64_t width, F f) {
  const auto is_near = [](double place, int64_t size) {
    return place > -1 && place < static_cast<double>(size);
  };
  if (!is_near(row, height) || !is_near(column, width)) return;
  const double top = std::floor(row);
  const double left = std::floor(column);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto y = static_cast<int64_t>(top) + i;
      const auto x = static_cast<int64_t>(left) + j;
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      const double of_row = i == 0 ? 1 - (row - top) : row - top;
      const double of_column = j == 0 ? 1 - (column - left) : column - left;
      f(Corner{y * width + x, of_row * of_column, (i == 0 ? -1 : 1) * of_column,
               (j == 0 ? -1 : 1) * of_row});
    }
  }
}

enum class Padding { kZeros, kBorder, kReflection };

struct Sampling {
  bool is_nearest = false;
  bool aligns_corners = true;
  Padding padding = Padding::kZeros;
};

// Releases before 2.0 have none of the attributes.
absl::StatusOr<Sampling> SamplingOf(const OpRun& op) {
  Sampling sampling;
  if (op.era() == Era::kFluid) return sampling;
  const std::string mode = op.String("mode");
  const std::string padding = op.String("padding_mode");
  if ((mode != "bilinear" && mode != "nearest") ||
      (padding != "zeros" && padding != "border" && padding != "reflection")) {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is \"", mode, "\" and padding_mode \"", padding,
                     "\"; want bilinear or nearest, and zeros, border or reflection"));
  }
  sampling.is_nearest = mode == "nearest";
  sampling.aligns_corners = op.Bool("align_corners");
  sampling.padding = padding == "zeros"    ? Padding::kZeros
                     : padding == "border" ? Padding::kBorder
                                           : Padding::kReflection;
  return sampling;
}

// A coordinate of the grid as a place on an axis, and how that changes with it.
struct Place {
  double at;
  double slope;
};

Place PlaceOf(const Sampling& sampling, double coordinate, int64_t size) {
  const auto extent = static_cast<double>(size);
  const double last = extent - 1;
  Place place = sampling.aligns_corners ? Place{(coordinate + 1) * last / 2, last / 2}
                                        : Place{((coordinate + 1) * extent - 1) / 2, extent / 2};
  if (sampling.padding == Padding::kZeros) return place;
  if (sampling.padding == Padding::kReflection) {
    const double shift = sampling.aligns_corners ? 0 : 0.5;
    const double range = 2 * (sampling.aligns_corners ? last : extent);
    const double shifted = place.at + shift;
    const double size_of = std::abs(shifted);
    const double extra = range > 0 ? size_of - std::floor(size_of / range) * range : 0;
    const bool flips = extra > range - extra;
    if ((shifted < 0) != flips) place.slope = -place.slope;
    place.at = (flips ? range - extra : extra) - shift;
  }
  if (place.at < 0) place = {0, 0};
  if (place.at > last) place = {last, 0};
  return place;
}

// Calls f(sample, corner, row, column) with the places of all samples and of what they are made of
// in one channel, and the slopes of the place.
template <typename F>
absl::Status ForEachSample(const OpRun& op, F f) {
  ASSIGN_OR_RETURN(const Sampling sampling, SamplingOf(op));
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  RETURN_IF_ERROR(op.CheckRank("Grid", 4));
  const Dims& x = op.Input("X").dims;
  const Array& grid = op.Input("Grid");
  RETURN_IF_ERROR(op.CheckDims("Grid", Dims{x[0], grid.dims[1], grid.dims[2], 2}));
  const int64_t samples = grid.dims[1] * grid.dims[2];
  for (int64_t i = 0; i < x[0] * samples; ++i) {
    const Place column = PlaceOf(sampling, grid[2 * i], x[3]);
    const Place row = PlaceOf(sampling, grid[2 * i + 1], x[2]);
    const int64_t image = i / samples;
    const auto visit = [&](const Corner& corner) {
      for (int64_t c = 0; c < x[1]; ++c) {
        const int64_t plane = image * x[1] + c;
        Corner of_channel = corner;
        of_channel.index += plane * x[2] * x[3];
        of_channel.by_row *= row.slope;
        of_channel.by_column *= column.slope;
        f(plane * samples + i % samples, of_channel, 2 * i);
      }
    };
    if (!sampling.is_nearest) {
      ForEachCorner(row.at, column.at, x[2], x[3], visit);
      continue;
    }
    const double y = std::nearbyint(row.at);
    const double at = std::nearbyint(column.at);
    if (!(y >= 0 && y < static_cast<double>(x[2]) && at >= 0 && at < static_cast<double>(x[3]))) {
      continue;
    }
    visit({static_cast<int64_t>(y) * x[3] + static_cast<int64_t>(at), 1, 0, 0});
  }
  return absl::OkStatus();
}

absl::Status GridSampler(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  RETURN_IF_ERROR(op.CheckRank("Grid", 4));
  const Array& x = op.Input("X");
  const Dims& grid = op.Input("Grid").dims;
  Array out(x.dtype, Dims{x.dims[0], x.dims[1], grid[1], grid[2]});
  RETURN_IF_ERROR(ForEachSample(op, [&](int64_t sample, const Corner& corner, int64_t) {
    out[sample] += corner.weight * x[corner.index];
  }));
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

absl::Status GridSamplerGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  RETURN_IF_ERROR(op.CheckRank("Grid", 4));
  const Array& x = op.Input("X");
  const Array& grid = op.Input("Grid");
  const Array& dout = op.Input("Output@GRAD");
  RETURN_IF_ERROR(
      op.CheckDims("Output@GRAD", Dims{x.dims[0], x.dims[1], grid.dims[1], grid.dims[2]}));
  Array dx(x.dtype, x.dims);
  Array dgrid(grid.dtype, grid.dims);
  RETURN_IF_ERROR(ForEachSample(op, [&](int64_t sample, const Corner& corner, int64_t place) {
    dx[corner.index] += corner.weight * dout[sample];
    dgrid[place] += corner.by_column * x[corner.index] * dout[sample];
    dgrid[place + 1] += corner.by_row * x[corner.index] * dout[sample];
  }));
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Grid@GRAD", std::move(dgrid));
  return absl::OkStatus();
}

// A tap of the filter at one place of the output.
struct Tap {
  int64_t out;     // in Output
  int64_t filter;  // in Filter
  int64_t plane;   // where the channel begins in Input
  int64_t offset;  // of its row in Offset; its column's is `places` after it
  int64_t mask;    // in Mask
};

absl::StatusOr<DeformableShape> ShapeOf(const OpRun& op) {
  ASSIGN_OR_RETURN(
      const DeformableShape shape,
      DeformableShapeOf(op.attributes(), op.Input("Input").dims, op.Input("Filter").dims));
  RETURN_IF_ERROR(op.CheckDims("Offset", shape.OffsetDims()));
  if (op.HasInputSlot("Mask")) RETURN_IF_ERROR(op.CheckDims("Mask", shape.MaskDims()));
  return shape;
}

// Calls f(tap, row, column) for each product, with the place that the tap reads.
template <typename F>
void ForEachTap(const DeformableShape& shape, const Array& offset, F f) {
  const int64_t out_of_group = shape.out_channels / shape.groups;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t m = 0; m < shape.out_channels; ++m) {
      for (int64_t place = 0; place < shape.places(); ++place) {
        for (int64_t k = 0; k < shape.channels_of_group(); ++k) {
          const int64_t c = m / out_of_group * shape.channels_of_group() + k;
          for (int64_t t = 0; t < shape.taps(); ++t) {
            const int64_t of_tap =
                (n * shape.offset_groups + c / shape.channels_of_offsets()) * shape.taps() + t;
            const Tap tap{(n * shape.out_channels + m) * shape.places() + place,
                          (m * shape.channels_of_group() + k) * shape.taps() + t,
                          (n * shape.channels + c) * shape.height * shape.width,
                          of_tap * 2 * shape.places() + place, of_tap * shape.places() + place};
            f(tap, shape.Row(place / shape.out_width, t) + offset[tap.offset],
              shape.Column(place % shape.out_width, t) + offset[tap.offset + shape.places()]);
          }
        }
      }
    }
  }
}

absl::Status DeformableConv(OpRun& op) {
  ASSIGN_OR_RETURN(const DeformableShape shape, ShapeOf(op));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  const Array* mask = op.HasInputSlot("Mask") ? op.FindInput("Mask") : nullptr;
  Array out(input.dtype, shape.OutputDims());
  ForEachTap(shape, op.Input("Offset"), [&](const Tap& tap, double row, double column) {
    const double factor = filter[tap.filter] * (mask != nullptr ? (*mask)[tap.mask] : 1);
    ForEachCorner(row, column, shape.height, shape.width, [&](const Corner& corner) {
      out[tap.out] += factor * corner.weight * input[tap.plane + corner.index];
    });
  });
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

absl::Status DeformableConvGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const DeformableShape shape, ShapeOf(op));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", shape.OutputDims()));
  const Array& input = op.Input("Input");
  const Array& filter = op.Input("Filter");
  const Array& offset = op.Input("Offset");
  const Array& dout = op.Input("Output@GRAD");
  const Array* mask = op.HasInputSlot("Mask") ? op.FindInput("Mask") : nullptr;
  Array dinput(input.dtype, input.dims);
  Array dfilter(filter.dtype, filter.dims);
  Array doffset(offset.dtype, offset.dims);
  Array dmask(input.dtype, shape.MaskDims());
  ForEachTap(shape, offset, [&](const Tap& tap, double row, double column) {
    const double of_mask = mask != nullptr ? (*mask)[tap.mask] : 1;
    const double d = dout[tap.out];
    ForEachCorner(row, column, shape.height, shape.width, [&](const Corner& corner) {
      const double x = input[tap.plane + corner.index];
      const double of_filter = filter[tap.filter];
      dinput[tap.plane + corner.index] += d * of_filter * of_mask * corner.weight;
      dfilter[tap.filter] += d * of_mask * corner.weight * x;
      dmask[tap.mask] += d * of_filter * corner.weight * x;
      doffset[tap.offset] += d * of_filter * of_mask * corner.by_row * x;
      doffset[tap.offset + shape.places()] += d * of_filter * of_mask * corner.by_column * x;
    });
  });
  op.SetOutput("Input@GRAD", std::move(dinput));
  op.SetOutput("Filter@GRAD", std::move(dfilter));
  op.SetOutput("Offset@GRAD", std::move(doffset));
  if (mask != nullptr) op.SetOutput("Mask@GRAD", std::move(dmask));
  return absl::OkStatus();
}

}  // namespace

Kernels SamplingKernels() {
  return {
      {"grid_sampler", GridSampler},          {"grid_sampler_grad", GridSamplerGradient},
      {"deformable_conv", DeformableConv},    {"deformable_conv_grad", DeformableConvGradient},
      {"deformable_conv_v1", DeformableConv}, {"deformable_conv_v1_grad", DeformableConvGradient}};
}

}  // namespace fixpoint::reference
