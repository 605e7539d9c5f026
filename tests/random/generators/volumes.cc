// Convolution and pooling of volumes, and maxima of windows with their places.

#include <algorithm>
#include <vector>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

struct Axis {
  int64_t size;
  int64_t window;
  int64_t stride;
  int64_t dilation = 1;
  int64_t padding = 0;

  int64_t extent() const { return dilation * (window - 1) + 1; }
};

Axis DrawAxis(CaseMaker& c, bool may_dilate) {
  Axis axis;
  axis.window = c.Between(1, 3);
  axis.stride = c.Between(1, 3);
  if (may_dilate && c.OneIn(4)) axis.dilation = 2;
  axis.padding = c.OneIn(2) ? 0 : c.Between(0, static_cast<int>(axis.window) - 1);
  axis.size = c.Between(static_cast<int>(axis.extent()), 6);
  return axis;
}

std::vector<Axis> DrawAxes(CaseMaker& c, int count, bool may_dilate) {
  std::vector<Axis> axes;
  for (int i = 0; i < count; ++i) axes.push_back(DrawAxis(c, may_dilate));
  return axes;
}

template <typename Field>
std::string ListOf(const std::vector<Axis>& axes, Field field) {
  std::vector<int64_t> values;
  for (const Axis& axis : axes) values.push_back(axis.*field);
  return ListText(values);
}

Dims DimsOf(int64_t batch, int64_t channels, const std::vector<Axis>& axes, bool channels_last) {
  Dims dims = {batch};
  if (!channels_last) dims.push_back(channels);
  for (const Axis& axis : axes) dims.push_back(axis.size);
  if (channels_last) dims.push_back(channels);
  return dims;
}

// "EXPLICIT" as a rule.
std::string DrawAlgorithm(CaseMaker& c) {
  return c.OneIn(5) ? c.OneOf<std::string>({"SAME", "VALID"}) : "EXPLICIT";
}

Generator Convolution(const std::string& type, bool is_transposed) {
  return [=](CaseMaker& c) {
    std::vector<Axis> axes = DrawAxes(c, 3, /*may_dilate=*/true);
    // A transposed one has a place to leave of each axis.
    for (Axis& axis : axes) {
      if (is_transposed) axis.padding = std::min(axis.padding, (axis.extent() - 1) / 2);
    }
    const int64_t groups = c.OneIn(3) ? 2 : 1;
    const int64_t in_group = c.Between(1, 5);
    const int64_t out_group = c.OneIn(3) ? 8 : c.Between(1, 5);
    const bool channels_last = c.OneIn(4);
    const Dims input = DimsOf(c.Between(1, 2), in_group * groups, axes, channels_last);
    Dims filter =
        is_transposed ? Dims{in_group * groups, out_group} : Dims{out_group * groups, in_group};
    int64_t taps = in_group;
    for (const Axis& axis : axes) {
      filter.push_back(axis.window);
      taps *= axis.window;
    }
    const std::string x = c.Numbers(input);
    c.Op(type, "(Input=", x, ", Filter=", c.Numbers(filter),
         ") -> (Output=out) {strides=", ListOf(axes, &Axis::stride),
         ", paddings=", ListOf(axes, &Axis::padding), ", dilations=", ListOf(axes, &Axis::dilation),
         ", groups=", groups, ", padding_algorithm=\"",
         is_transposed ? "EXPLICIT" : DrawAlgorithm(c), "\", data_format=\"",
         channels_last ? "NDHWC" : "NCDHW", "\"}");
    // A gradient of the filter has a summand for each place.
    c.Sums(std::max(taps, SizeOf(input)));
  };
}

void Pool3d(CaseMaker& c) {
  const std::vector<Axis> axes = DrawAxes(c, 3, /*may_dilate=*/false);
  const bool channels_last = c.OneIn(4);
  const bool is_max = c.OneIn(2);
  const Dims input = DimsOf(c.Between(1, 2), c.Between(1, 4), axes, channels_last);
  const std::string x = c.Numbers(input);
  c.Op("pool3d(X=", x, ") -> (Out=out) {pooling_type=\"", is_max ? "max" : "avg",
       "\", ksize=", ListOf(axes, &Axis::window), ", strides=", ListOf(axes, &Axis::stride),
       ", paddings=", ListOf(axes, &Axis::padding), ", padding_algorithm=\"", DrawAlgorithm(c),
       "\", exclusive=", BoolText(c.OneIn(2)), ", ceil_mode=", BoolText(c.OneIn(3)),
       ", adaptive=", BoolText(c.OneIn(5)), ", global_pooling=", BoolText(c.OneIn(6)),
       ", data_format=\"", channels_last ? "NDHWC" : "NCDHW", "\"}");
  c.Sums(SizeOf(input));
  // Which element of equal ones is the largest must not depend on how they are moved.
  if (is_max) c.Move({absl::StrCat("out", "@GRAD")});
}

Generator WithPlaces(int count) {
  return [=](CaseMaker& c) {
    const std::vector<Axis> axes = DrawAxes(c, count, /*may_dilate=*/false);
    const Dims input = DimsOf(c.Between(1, 2), c.Between(1, 4), axes, /*channels_last=*/false);
    const std::string x = c.Numbers(input);
    c.Op("max_pool", count, "d_with_index(X=", x,
         ") -> (Out=out, Mask=mask) {ksize=", ListOf(axes, &Axis::window),
         ", strides=", ListOf(axes, &Axis::stride), ", paddings=", ListOf(axes, &Axis::padding),
         ", adaptive=", BoolText(c.OneIn(5)), ", global_pooling=", BoolText(c.OneIn(6)), "}");
    c.Sums(SizeOf(input));
    c.Move({absl::StrCat("out", "@GRAD")});
  };
}

void Lrn(CaseMaker& c) {
  const Dims dims = {c.Between(1, 2), c.Between(1, 8), c.Between(1, 4), c.Between(1, 8)};
  const int reach = c.Between(0, 3);
  c.Op("lrn(X=", c.Numbers(dims, -2.0f, 2.0f), ") -> (Out=out, MidOut=sums) {n=", 2 * reach + 1,
       ", k=", FloatText(c.Between(0.5f, 2.0f)), ", alpha=", FloatText(c.Between(0.0f, 0.5f)),
       ", beta=", FloatText(c.Between(0.25f, 1.0f)), ", data_format=\"",
       c.OneIn(3) ? "NHWC" : "AnyLayout", "\"}");
  c.Sums(2 * reach + 5);
}

}  // namespace

Generators VolumesGenerators() {
  return {{"conv3d", Convolution("conv3d", /*is_transposed=*/false)},
          {"conv3d_transpose", Convolution("conv3d_transpose", /*is_transposed=*/true)},
          {"pool3d", Pool3d},
          {"max_pool2d_with_index", WithPlaces(2)},
          {"max_pool3d_with_index", WithPlaces(3)},
          {"lrn", Lrn}};
}

}  // namespace fixpoint::random_cases
