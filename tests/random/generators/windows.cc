#include "tests/random/generators/windows.h"

#include <algorithm>
#include <vector>

namespace fixpoint::random_cases {
namespace {

struct Axis {
  int64_t size;
  int64_t window;
  int64_t stride;
  int64_t dilation;
  int64_t before;  // padding
  int64_t after;

  int64_t extent() const { return dilation * (window - 1) + 1; }
  // The output's size; below 1 where the window does not fit.
  int64_t count() const {
    const int64_t room = size + before + after - extent();
    return room < 0 ? 0 : room / stride + 1;
  }
  int64_t transposed_count() const { return (size - 1) * stride - before - after + extent(); }
};

// `at`: which axis of the images it is.
Axis DrawAxis(CaseMaker& c, int largest_window, const Dims& input, int at) {
  Axis axis;
  axis.size = !input.empty() ? input[at]
              : c.OneIn(3)   ? c.OneOf({7, 8, 14, 16})
                             : c.Between(1, c.OneIn(3) ? 2 : 10);
  axis.window = c.OneIn(3) ? 3 : c.Between(1, largest_window);
  axis.stride = c.OneIn(2) ? 1 : c.Between(1, 4);
  axis.dilation = c.OneIn(4) ? c.Between(1, 3) : 1;
  axis.before = c.OneIn(2) ? 0 : c.Between(0, static_cast<int>(axis.extent()) - 1);
  axis.after = c.OneIn(4) ? c.Between(0, static_cast<int>(axis.extent()) - 1) : axis.before;
  return axis;
}

std::string PaddingText(CaseMaker& c, const Axis& h, const Axis& w) {
  if (h.before == h.after && w.before == w.after && c.OneIn(2)) {
    return ListText(std::vector<int64_t>{h.before, w.before});
  }
  return ListText(std::vector<int64_t>{h.before, h.after, w.before, w.after});
}

int DrawChannels(CaseMaker& c) {
  return c.OneIn(3) ? c.Between(1, 20) : c.OneOf({1, 3, 8, 16, 32, 48});
}

// One as a rule.
int64_t SomeGroups(CaseMaker& c, int64_t channels) {
  const int64_t groups = c.OneIn(3) ? c.Between(2, 4) : 1;
  return channels % groups == 0 ? groups : 1;
}

Dims ImagesOf(int64_t images, int64_t channels, const Axis& h, const Axis& w, bool channels_last) {
  return channels_last ? Dims{images, h.size, w.size, channels}
                       : Dims{images, channels, h.size, w.size};
}

// "EXPLICIT" as a rule. The others ignore the paddings, and SAME the dilations.
std::string DrawAlgorithm(CaseMaker& c, Axis* h, Axis* w) {
  const std::string algorithm = c.OneIn(6) ? c.OneOf<std::string>({"SAME", "VALID"}) : "EXPLICIT";
  for (Axis* axis : {h, w}) {
    if (algorithm == "VALID") axis->before = axis->after = 0;
    if (algorithm != "SAME") continue;
    axis->before = axis->after = 0;
    axis->dilation = 1;
  }
  return algorithm;
}

}  // namespace

SomeConvolution DrawConvolution(CaseMaker& c, const ConvolutionOptions& options) {
  const bool is_transposed = options.direction == Direction::kTransposed;
  const int64_t largest_work = c.OneIn(20) ? 400000 : 40000;
  for (;;) {
    SomeConvolution drawn;
    Axis h = DrawAxis(c, 5, options.input, 2);
    Axis w = DrawAxis(c, 5, options.input, 3);
    const std::string algorithm = DrawAlgorithm(c, &h, &w);
    const auto count = [&](const Axis& axis) {
      if (!is_transposed && algorithm == "SAME") return (axis.size + axis.stride - 1) / axis.stride;
      return is_transposed ? axis.transposed_count() : axis.count();
    };
    if (count(h) < 1 || count(w) < 1) continue;
    int64_t in_group;
    int64_t out_group;
    if (options.is_depthwise) {
      drawn.groups = options.input.empty() ? DrawChannels(c) : options.input[1];
      in_group = 1;
      out_group = c.OneIn(4) ? 2 : 1;
    } else if (!options.input.empty()) {
      drawn.groups = SomeGroups(c, options.input[1]);
      in_group = options.input[1] / drawn.groups;
      out_group = DrawChannels(c);
    } else {
      drawn.groups = c.OneIn(4) ? c.Between(2, 4) : 1;
      in_group = DrawChannels(c);
      out_group = DrawChannels(c);
    }
    drawn.images = !options.input.empty() ? options.input[0] : c.OneIn(3) ? c.Between(2, 3) : 1;
    drawn.filters = out_group * drawn.groups;
    drawn.taps = in_group * h.window * w.window;
    const int64_t places = is_transposed ? h.size * w.size : count(h) * count(w);
    if (drawn.images * drawn.filters * drawn.taps * places > largest_work) continue;
    drawn.is_channels_last = options.may_be_channels_last && c.OneIn(8);
    drawn.input = ImagesOf(drawn.images, in_group * drawn.groups, h, w, drawn.is_channels_last);
    drawn.filter = is_transposed ? Dims{in_group * drawn.groups, out_group, h.window, w.window}
                                 : Dims{drawn.filters, in_group, h.window, w.window};
    drawn.attributes =
        absl::StrCat("strides=", ListText(std::vector<int64_t>{h.stride, w.stride}),
                     ", paddings=", PaddingText(c, h, w),
                     ", dilations=", ListText(std::vector<int64_t>{h.dilation, w.dilation}),
                     ", groups=", drawn.groups, ", padding_algorithm=\"", algorithm, "\"",
                     drawn.is_channels_last ? ", data_format=\"NHWC\"" : "");
    if (is_transposed && algorithm != "SAME" && c.OneIn(2)) {
      const int more_rows = c.Between(0, static_cast<int>(h.stride) - 1);
      const int more_columns = c.Between(0, static_cast<int>(w.stride) - 1);
      absl::StrAppend(&drawn.attributes,
                      c.OneIn(2)
                          ? absl::StrCat(", output_size=[", count(h) + more_rows, ", ",
                                         count(w) + more_columns, "]")
                          : absl::StrCat(", output_padding=[", more_rows, ", ", more_columns, "]"));
    }
    return drawn;
  }
}

SomePooling DrawPooling(CaseMaker& c, bool may_be_channels_last, const Dims& input) {
  for (;;) {
    Axis h = DrawAxis(c, 4, input, 2);
    Axis w = DrawAxis(c, 4, input, 3);
    h.dilation = w.dilation = 1;
    for (Axis* axis : {&h, &w}) {
      axis->before = std::min(axis->before, axis->window - 1);
      axis->after = std::min(axis->after, axis->window - 1);
    }
    const std::string algorithm = DrawAlgorithm(c, &h, &w);
    const bool is_global = c.OneIn(8);
    const bool is_adaptive = !is_global && c.OneIn(6);
    if (is_adaptive) {
      h.window = c.Between(1, static_cast<int>(h.size));
      w.window = c.Between(1, static_cast<int>(w.size));
    } else if (!is_global && algorithm != "SAME" && (h.count() < 1 || w.count() < 1)) {
      continue;
    }
    const bool is_channels_last = may_be_channels_last && c.OneIn(8);
    SomePooling drawn;
    drawn.input =
        !input.empty() ? input : ImagesOf(c.Between(1, 3), DrawChannels(c), h, w, is_channels_last);
    drawn.taps = is_global || is_adaptive ? h.size * w.size : h.window * w.window;
    drawn.attributes =
        absl::StrCat("ksize=", ListText(std::vector<int64_t>{h.window, w.window}),
                     ", strides=", ListText(std::vector<int64_t>{h.stride, w.stride}),
                     ", paddings=", PaddingText(c, h, w), ", padding_algorithm=\"", algorithm,
                     "\", exclusive=", BoolText(c.OneIn(2)), ", ceil_mode=", BoolText(c.OneIn(3)),
                     is_global ? ", global_pooling=true" : "", is_adaptive ? ", adaptive=true" : "",
                     is_channels_last ? ", data_format=\"NHWC\"" : "");
    return drawn;
  }
}

}  // namespace fixpoint::random_cases
