// Ops that pad, slice with steps, and pick or place by indices.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

VarType::Type SomeIndexType(CaseMaker& c) { return c.OneOf({VarType::INT32, VarType::INT64}); }

void Pad(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  std::vector<int> paddings;
  for (size_t i = 0; i < 2 * dims.size(); ++i) paddings.push_back(c.Between(0, 3));
  c.Op("pad(X=", c.Numbers(dims), ") -> (Out=out) {paddings=", ListText(paddings),
       ", pad_value=", FloatText(c.Between(-1.0f, 1.0f)), "}");
  c.Exact();
}

// pad2d or pad3d.
Generator PadImages(int axes) {
  return [axes](CaseMaker& c) {
    const bool is_channels_last = c.OneIn(3);
    const std::string mode =
        axes == 2 ? c.OneOf<std::string>({"constant", "reflect", "edge"})
                  : c.OneOf<std::string>({"constant", "reflect", "replicate", "circular"});
    Dims dims = {c.Between(1, 2)};
    if (!is_channels_last) dims.push_back(c.Between(1, 9));
    std::vector<int> paddings;
    for (int i = 0; i < axes; ++i) dims.push_back(c.Between(1, 6));
    if (is_channels_last) dims.push_back(c.Between(1, 9));
    for (int i = 0; i < axes; ++i) {
      // Those of a volume begin with the last axis.
      const int at = axes == 2 ? i : axes - 1 - i;
      const auto size = static_cast<int>(dims[(is_channels_last ? 1 : 2) + at]);
      const int most = mode == "reflect" ? std::min(size - 1, 3) : 3;
      paddings.push_back(c.Between(0, most));
      paddings.push_back(c.Between(0, most));
    }
    const std::string format =
        axes == 2 ? (is_channels_last ? "NHWC" : "NCHW") : (is_channels_last ? "NDHWC" : "NCDHW");
    c.Op(axes == 2 ? "pad2d" : "pad3d", "(X=", c.Numbers(dims),
         ") -> (Out=out) {paddings=", ListText(paddings), ", ", axes == 2 ? "pad_value" : "value",
         "=", FloatText(c.Between(-1.0f, 1.0f)), ", mode=\"", mode, "\", data_format=\"", format,
         "\"}");
    c.Sums(512);
  };
}

void StridedSlice(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::vector<int> axes = c.SomeAxes(dims.size());
  std::vector<int> starts;
  std::vector<int> ends;
  std::vector<int> steps;
  for (const int axis : axes) {
    const auto size = static_cast<int>(dims[axis]);
    const bool is_backward = c.OneIn(2);
    int start = c.Between(0, size - 1);
    int end = is_backward ? c.Between(-1, start - 1) : c.Between(start + 1, size + 2);
    if (c.OneIn(3)) start -= size;
    starts.push_back(start);
    ends.push_back(end);
    steps.push_back((is_backward ? -1 : 1) * c.Between(1, 3));
  }
  c.Op("strided_slice(Input=", c.Numbers(dims), ") -> (Out=out) {axes=", ListText(axes),
       ", starts=", ListText(starts), ", ends=", ListText(ends), ", strides=", ListText(steps),
       "}");
  c.Exact();
}

void Flip(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("flip(X=", c.Numbers(dims), ") -> (Out=out) {", c.is_2x() ? "axis" : "dims", "=",
       ListText(c.SomeAxes(dims.size())), "}");
  c.Exact();
}

void Roll(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const char* const name = c.is_2x() ? "axis" : "dims";
  std::vector<std::string> axes;
  std::vector<std::string> shifts;
  if (!c.OneIn(4)) {
    for (const int axis : c.SomeAxes(dims.size())) axes.push_back(absl::StrCat(axis, "L"));
  }
  for (size_t i = 0; i < std::max<size_t>(axes.size(), 1); ++i) {
    shifts.push_back(absl::StrCat(c.Between(-9, 9), "L"));
  }
  c.Op("roll(X=", c.Numbers(dims), ") -> (Out=out) {shifts=", ListText(shifts),
       axes.empty() ? "" : absl::StrCat(", ", name, "=", ListText(axes)), "}");
  c.Exact();
}

void SetValue(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  std::vector<std::string> axes;
  std::vector<std::string> starts;
  std::vector<std::string> ends;
  std::vector<std::string> steps;
  Dims value = dims;
  for (const int axis : c.SomeAxes(dims.size())) {
    const auto size = static_cast<int>(dims[axis]);
    const int start = c.Between(0, size - 1);
    const int end = c.Between(start + 1, size);
    const int step = c.Between(1, 2);
    axes.push_back(absl::StrCat(axis, "L"));
    starts.push_back(absl::StrCat(c.OneIn(2) ? start : start - size, "L"));
    ends.push_back(absl::StrCat(end, "L"));
    steps.push_back(absl::StrCat(step, "L"));
    value[axis] = (end - start - 1) / step + 1;
  }
  for (int64_t& size : value) {
    if (c.OneIn(4)) size = 1;
  }
  c.Op("set_value(Input=", c.Numbers(dims), ", ValueTensor=", c.Numbers(value),
       ") -> (Out=out) {axes=", ListText(axes), ", starts=", ListText(starts),
       ", ends=", ListText(ends), ", steps=", ListText(steps), "}");
  c.Sums(SizeOf(dims));
}

// Rows of indices of the first axes of a tensor.
std::string SomeRows(CaseMaker& c, const Dims& dims, int count, int* axes) {
  *axes = c.Between(1, static_cast<int>(dims.size()));
  int64_t least = dims[0];
  for (int i = 1; i < *axes; ++i) least = std::min(least, dims[i]);
  return c.Integers(SomeIndexType(c), {count, *axes}, 0, least - 1);
}

void GatherNd(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int count = c.Between(1, 7);
  int axes = 0;
  const std::string index = SomeRows(c, dims, count, &axes);
  c.Op("gather_nd(X=", c.Numbers(dims), ", Index=", index, ") -> (Out=out)");
  c.Sums(count);
}

void ScatterNdAdd(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int count = c.Between(1, 7);
  int axes = 0;
  const std::string index = SomeRows(c, dims, count, &axes);
  Dims updates = {count};
  updates.insert(updates.end(), dims.begin() + axes, dims.end());
  c.Op("scatter_nd_add(X=", c.Numbers(dims), ", Index=", index, ", Updates=", c.Numbers(updates),
       ") -> (Out=out)");
  c.Sums(count + 1);
}

void Scatter(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const int count = c.Between(1, 5);
  Dims updates = dims;
  updates[0] = count;
  c.Op("scatter(X=", c.Numbers(dims),
       ", Ids=", c.Integers(SomeIndexType(c), {count}, 0, dims[0] - 1),
       ", Updates=", c.Numbers(updates), ") -> (Out=out) {overwrite=", BoolText(c.OneIn(2)), "}");
  c.Sums(count);
}

void IndexSelect(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.SomeAxis(dims.size());
  const int64_t size = dims[axis < 0 ? axis + dims.size() : axis];
  const int count = c.Between(1, 9);
  c.Op("index_select(X=", c.Numbers(dims),
       ", Index=", c.Integers(SomeIndexType(c), {count}, 0, size - 1), ") -> (Out=out) {dim=", axis,
       "}");
  c.Sums(count);
}

void IndexSample(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 2);
  const int count = c.Between(1, 9);
  c.Op("index_sample(X=", c.Numbers(dims),
       ", Index=", c.Integers(SomeIndexType(c), {dims[0], count}, 0, dims[1] - 1),
       ") -> (Out=out)");
  c.Sums(count);
}

void TakeAlongAxis(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.Between(0, static_cast<int>(dims.size()) - 1);
  Dims index = dims;
  index[axis] = c.Between(1, 9);
  c.Op("take_along_axis(Input=", c.Numbers(dims),
       ", Index=", c.Integers(SomeIndexType(c), index, 0, dims[axis] - 1),
       ") -> (Result=out) {Axis=", axis, "}");
  c.Sums(index[axis]);
}

void PutAlongAxis(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.Between(0, static_cast<int>(dims.size()) - 1);
  Dims index = dims;
  index[axis] = c.Between(1, 9);
  const std::string reduce = c.OneOf<std::string>({"assign", "add", "multiply"});
  c.Op("put_along_axis(Input=", c.Numbers(dims),
       ", Index=", c.Integers(SomeIndexType(c), index, 0, dims[axis] - 1),
       ", Value=", c.Numbers(index), ") -> (Result=out) {Axis=", axis, ", Reduce=\"", reduce,
       "\", Include_self=", BoolText(c.OneIn(2)), "}");
  c.Sums(1 + index[axis]);
}

}  // namespace

Generators PlaceGenerators() {
  return {{"pad", Pad},
          {"pad2d", PadImages(2)},
          {"pad3d", PadImages(3)},
          {"strided_slice", StridedSlice},
          {"flip", Flip},
          {"roll", Roll},
          {"set_value", SetValue},
          {"gather_nd", GatherNd},
          {"scatter_nd_add", ScatterNdAdd},
          {"scatter", Scatter},
          {"index_select", IndexSelect},
          {"index_sample", IndexSample},
          {"put_along_axis", PutAlongAxis},
          {"take_along_axis", TakeAlongAxis}};
}

}  // namespace fixpoint::random_cases
