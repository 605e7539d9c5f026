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

void SpaceToDepth(CaseMaker& c) {
  Dims dims = c.SomeDims(4, 4, 4);
  const int size = c.Between(2, 3);
  dims[1] *= size * size;
  dims[2] *= size;
  dims[3] *= size;
  c.Op("space_to_depth(X=", SomeElements(c, dims), ") -> (Out=out) {blocksize=", size, "L}");
  c.Exact();
}

void RnnMemoryHelper(CaseMaker& c) {
  c.Op("rnn_memory_helper(X=", SomeElements(c, c.SomeDims(1, 4)), ") -> (Out=out)");
  c.Exact();
}

// The size of an image's side, and the values of unfold's attributes along it.
struct UnfoldedSide {
  explicit UnfoldedSide(CaseMaker& c)
      : kernel(c.Between(1, 3)),
        stride(c.Between(1, 3)),
        dilation(c.Between(1, 2)),
        before(c.Between(0, 2)),
        after(c.Between(0, 2)),
        size(c.Between(1, 4) + dilation * (kernel - 1)) {}

  int kernel;
  int stride;
  int dilation;
  int before;
  int after;
  int size;
};

void Unfold(CaseMaker& c) {
  const UnfoldedSide rows(c);
  const UnfoldedSide columns(c);
  const Dims dims = {c.Between(1, 2), c.Between(1, 3), rows.size, columns.size};
  c.Op("unfold(X=", SomeElements(c, dims), ") -> (Y=out) {kernel_sizes=[", rows.kernel, ", ",
       columns.kernel, "], strides=[", rows.stride, ", ", columns.stride, "], dilations=[",
       rows.dilation, ", ", columns.dilation, "], paddings=[", rows.before, ", ", columns.before,
       ", ", rows.after, ", ", columns.after, "]}");
  c.Sums(9);
}

void Fold(CaseMaker& c) {
  const UnfoldedSide rows(c);
  const UnfoldedSide columns(c);
  const auto windows = [](const UnfoldedSide& side) {
    return (side.size + side.before + side.after - side.dilation * (side.kernel - 1) - 1) /
               side.stride +
           1;
  };
  const Dims dims = {c.Between(1, 2), c.Between(1, 3) * rows.kernel * columns.kernel,
                     windows(rows) * windows(columns)};
  const std::string x = c.Numbers(dims);
  c.Op("fold(X=", x, ") -> (Y=out) {output_sizes=[", rows.size, ", ", columns.size,
       "], kernel_sizes=[", rows.kernel, ", ", columns.kernel, "], strides=[", rows.stride, ", ",
       columns.stride, "], dilations=[", rows.dilation, ", ", columns.dilation, "], paddings=[",
       rows.before, ", ", columns.before, ", ", rows.after, ", ", columns.after, "]}");
  c.Sums(9);
}

void AffineGrid(CaseMaker& c) {
  const int batch = c.Between(1, 3);
  const int height = c.Between(1, 5);
  const int width = c.Between(1, 5);
  const std::string theta = c.Numbers({batch, 2, 3});
  const bool is_of_edges = c.is_2x() && c.OneIn(2);
  c.Op("affine_grid(Theta=", theta, ") -> (Output=out) {output_shape=[", batch, ", 3, ", height,
       ", ", width, "]", is_of_edges ? ", align_corners=false" : "", "}");
  c.Sums(height * width + 3);
}

// Of what was pooled, so that each place is that of one element.
void Unpool(CaseMaker& c) {
  Dims dims = c.SomeDims(4, 4, 3);
  const int window = c.Between(1, 3);
  dims[2] *= window;
  dims[3] *= window;
  const std::string windows =
      absl::StrCat("ksize=[", window, ", ", window, "], strides=[", window, ", ", window, "]");
  c.Op("max_pool2d_with_index(X=", c.Numbers(dims), ") -> (Out=largest, Mask=places) {", windows,
       "}");
  c.Op("unpool(X=largest, Indices=places) -> (Out=out) {", windows, ", unpooling_type=\"max\"",
       c.is_2x() ? absl::StrCat(", output_size=", ListText(Dims{dims[2], dims[3]})) : "", "}");
  c.Exact();
}

void MaskedSelect(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = SomeElements(c, dims);
  c.Op("masked_select(X=", x, ", Mask=", c.Integers(VarType::BOOL, dims, 0, 1), ") -> (Y=out)");
  c.Exact();
}

void Unique(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = c.OneIn(2) ? c.Numbers(dims) : c.Integers(VarType::INT64, dims, -3, 3);
  const int dtype = c.OneOf({2, 3});
  if (!c.is_2x()) {
    c.Op("unique(X=", x, ") -> (Out=out, Index=index) {dtype=", dtype, "}");
  } else {
    c.Op("unique(X=", x,
         ") -> (Out=out, Index=index, Indices=first, Counts=counts) {return_index=true, "
         "return_inverse=true, return_counts=true, dtype=",
         dtype, ", is_sorted=", BoolText(c.OneIn(2)), "}");
  }
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
                           {"space_to_depth", SpaceToDepth},
                           {"rnn_memory_helper", RnnMemoryHelper},
                           {"unfold", Unfold},
                           {"fold", Fold},
                           {"affine_grid", AffineGrid},
                           {"masked_select", MaskedSelect},
                           {"unique", Unique},
                           {"unpool", Unpool},
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
