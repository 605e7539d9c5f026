// Ops that give elements other places: views, transposes, what joins, cuts and repeats.

#include <algorithm>
#include <numeric>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// Numbers as a rule: copies of every type are moved alike.
std::string SomeElements(CaseMaker& c, const Dims& dims) {
  if (!c.OneIn(5)) return c.Numbers(dims);
  return c.Integers(c.OneOf({VarType::INT32, VarType::INT64}), dims, -50, 50);
}

// The outputs of an op that may write XShape.
std::string Outputs(const std::string& type) {
  const bool has_shape = type.back() == '2' || type == "flatten_contiguous_range";
  return has_shape ? "(Out=out, XShape=shape)" : "(Out=out)";
}

// The output of a view to compare; XShape has no elements.
void EndView(CaseMaker& c) {
  c.Fetch({"out"});
  c.Exact();
}

Generator Reshape(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    std::vector<int64_t> shape;
    switch (c.Between(0, 2)) {
      case 0:
        shape = {0, -1};
        if (dims.size() < 2) shape = {-1};
        break;
      case 1:
        shape = {-1, dims.back()};
        break;
      default:
        shape.assign(dims.rbegin(), dims.rend());
    }
    c.Op(type, "(X=", SomeElements(c, dims), ") -> ", Outputs(type), " {shape=", ListText(shape),
         "}");
    EndView(c);
  };
}

Generator Flatten(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    c.Op(type, "(X=", SomeElements(c, dims), ") -> ", Outputs(type),
         " {axis=", c.Between(0, static_cast<int>(dims.size())), "}");
    EndView(c);
  };
}

void FlattenRange(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int last = static_cast<int>(dims.size()) - 1;
  const int start = c.Between(0, last);
  c.Op("flatten_contiguous_range(X=", SomeElements(c, dims),
       ") -> (Out=out, XShape=shape) {start_axis=", start, ", stop_axis=", c.Between(start, last),
       "}");
  EndView(c);
}

Generator Squeeze(const std::string& type) {
  return [type](CaseMaker& c) {
    Dims dims = c.SomeDims(2, 4);
    std::vector<int> axes = c.SomeAxes(dims.size());
    if (axes.size() == dims.size()) axes.pop_back();
    for (const int axis : axes) dims[axis] = 1;
    c.Op(type, "(X=", SomeElements(c, dims), ") -> ", Outputs(type), " {axes=", ListText(axes),
         "}");
    EndView(c);
  };
}

Generator Unsqueeze(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 3);
    const std::vector<int> axes = c.SomeAxes(dims.size() + 1);
    c.Op(type, "(X=", SomeElements(c, dims), ") -> ", Outputs(type),
         " {axes=", ListText(std::vector<int>{axes[0]}), "}");
    EndView(c);
  };
}

Generator Transpose(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 5, 5);
    std::vector<int> axes(dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (size_t i = axes.size() - 1; i > 0; --i) {
      std::swap(axes[i], axes[c.Between(0, static_cast<int>(i))]);
    }
    c.Op(type, "(X=", SomeElements(c, dims), ") -> ", Outputs(type), " {axis=", ListText(axes),
         "}");
    EndView(c);
  };
}

void Assign(CaseMaker& c) {
  c.Op("assign(X=", SomeElements(c, c.SomeDims(1, 4)), ") -> (Out=out)");
  c.Exact();
}

void ShuffleChannel(CaseMaker& c) {
  Dims dims = c.SomeDims(4, 4);
  const int group = c.Between(1, 4);
  dims[1] *= group;
  c.Op("shuffle_channel(X=", c.Numbers(dims), ") -> (Out=out) {group=", group, "}");
  c.Exact();
}

void PixelShuffle(CaseMaker& c) {
  Dims dims = c.SomeDims(4, 4);
  const int factor = c.Between(1, 3);
  dims[1] *= factor * factor;
  c.Op("pixel_shuffle(X=", c.Numbers(dims), ") -> (Out=out) {upscale_factor=", factor, "}");
  c.Exact();
}

void Concat(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.SomeAxis(dims.size());
  std::vector<std::string> parts;
  for (int i = c.Between(1, 4); i > 0; --i) {
    Dims part = dims;
    part[axis < 0 ? axis + dims.size() : axis] = c.Between(1, 17);
    parts.push_back(c.Numbers(part));
  }
  c.Op("concat(X=", ListText(parts), ") -> (Out=out) {axis=", axis, "}");
  c.Exact();
}

void Split(CaseMaker& c) {
  Dims dims = c.SomeDims(1, 4);
  const int axis = c.SomeAxis(dims.size());
  int64_t& whole = dims[axis < 0 ? axis + dims.size() : axis];
  const int parts = c.Between(1, 4);
  std::vector<int64_t> sections;
  whole = 0;
  const bool are_equal = c.OneIn(2);
  for (int i = 0; i < parts; ++i) {
    sections.push_back(are_equal && i > 0 ? sections[0] : c.Between(1, 5));
    whole += sections.back();
  }
  if (c.OneIn(3)) sections[c.Between(0, parts - 1)] = -1;
  std::vector<std::string> outputs;
  for (int i = 0; i < parts; ++i) outputs.push_back(absl::StrCat("out", i));
  c.Op("split(X=", SomeElements(c, dims), ") -> (Out=", ListText(outputs), ") {axis=", axis, ", ",
       are_equal && c.OneIn(2) ? absl::StrCat("num=", parts)
                               : absl::StrCat("sections=", ListText(sections)),
       "}");
  c.Exact();
}

void Stack(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  std::vector<std::string> parts;
  for (int i = c.Between(1, 4); i > 0; --i) parts.push_back(c.Numbers(dims));
  c.Op("stack(X=", ListText(parts), ") -> (Y=out) {axis=", c.SomeAxis(dims.size() + 1), "}");
  c.Exact();
}

Generator Unstack(const std::string& type, const char* output) {
  return [=](CaseMaker& c) {
    Dims dims = c.SomeDims(2, 4);
    const int axis = c.SomeAxis(dims.size());
    const int parts = c.Between(1, 4);
    dims[axis < 0 ? axis + dims.size() : axis] = parts;
    std::vector<std::string> outputs;
    for (int i = 0; i < parts; ++i) outputs.push_back(absl::StrCat("out", i));
    c.Op(type, "(X=", SomeElements(c, dims), ") -> (", output, "=", ListText(outputs),
         ") {axis=", axis, type == "unstack" ? absl::StrCat(", num=", parts) : "", "}");
    c.Exact();
  };
}

void Slice(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::vector<int> axes = c.SomeAxes(dims.size());
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int> dropped;
  for (const int axis : axes) {
    const auto size = static_cast<int>(dims[axis]);
    const int start = c.Between(0, size - 1);
    int end = c.Between(start + 1, size);
    if (c.OneIn(5)) {
      end = start + 1;
      dropped.push_back(axis);
    }
    starts.push_back(c.OneIn(3) ? start - size : start);
    ends.push_back(end < size && c.OneIn(3) ? end - size : end == size && c.OneIn(3) ? 1000 : end);
  }
  c.Op("slice(Input=", SomeElements(c, dims), ") -> (Out=out) {axes=", ListText(axes),
       ", starts=", ListText(starts), ", ends=", ListText(ends),
       dropped.empty() ? "" : absl::StrCat(", decrease_axis=", ListText(dropped)), "}");
  c.Exact();
}

Generator Repeat(const std::string& type, const char* attribute) {
  return [=](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    std::vector<int> times(dims.size());
    for (int& time : times) time = c.Between(1, 3);
    if (type == "tile" && c.OneIn(3)) times.insert(times.begin(), 2);
    if (type == "tile" && c.OneIn(4) && times.size() > 1) times.erase(times.begin());
    c.Op(type, "(X=", SomeElements(c, dims), ") -> (Out=out) {", attribute, "=", ListText(times),
         "}");
    c.Sums(162);
  };
}

// X broadcast to a shape; in the attribute of expand_v2, -1 keeps an extent.
Generator Expand(const std::string& type, const char* attribute) {
  return [=](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    std::vector<int64_t> shape(dims.begin(), dims.end());
    for (int64_t& extent : shape) {
      if (extent == 1) extent = c.Between(1, 4);
    }
    if (shape.size() < 4 && c.OneIn(3)) shape.insert(shape.begin(), c.Between(1, 3));
    if (type == "expand_v2" && shape.size() == dims.size() && c.OneIn(3)) {
      shape[0] = -1;
    }
    c.Op(type, "(X=", SomeElements(c, dims), ") -> (Out=out) {", attribute, "=", ListText(shape),
         "}");
    c.Sums(256);
  };
}

// X repeated until it has the sizes of another tensor.
void ExpandAs(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  Dims target = dims;
  for (int64_t& extent : target) extent *= c.Between(1, 3);
  const std::string x = c.Numbers(dims);
  c.Op("expand_as(X=", x, ", target_tensor=", c.Numbers(target), ") -> (Out=out)");
  c.Sums(81);
}

}  // namespace

Generators ShapeGenerators() {
  Generators generators = {{"flatten_contiguous_range", FlattenRange},
                           {"assign", Assign},
                           {"shuffle_channel", ShuffleChannel},
                           {"pixel_shuffle", PixelShuffle},
                           {"concat", Concat},
                           {"split", Split},
                           {"stack", Stack},
                           {"unstack", Unstack("unstack", "Y")},
                           {"unbind", Unstack("unbind", "Out")},
                           {"slice", Slice},
                           {"expand", Repeat("expand", "expand_times")},
                           {"expand_as", ExpandAs},
                           {"tile", Repeat("tile", "repeat_times")},
                           {"expand_v2", Expand("expand_v2", "shape")},
                           {"expand_as_v2", Expand("expand_as_v2", "target_shape")}};
  for (const char* suffix : {"", "2"}) {
    const auto add = [&](const char* prefix, Generator (*make)(const std::string&)) {
      const std::string type = absl::StrCat(prefix, suffix);
      generators.push_back({type, make(type)});
    };
    add("reshape", Reshape);
    add("flatten", Flatten);
    add("squeeze", Squeeze);
    add("unsqueeze", Unsqueeze);
    add("transpose", Transpose);
  }
  return generators;
}

}  // namespace fixpoint::random_cases
