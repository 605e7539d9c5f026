#include "runtime/reference/kernels/convolved.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<Features> FeaturesOf(const OpRun& op, absl::string_view slot, int axes) {
  RETURN_IF_ERROR(op.CheckRank(slot, axes + 2));
  const Dims& dims = op.Input(slot).dims;
  const bool is_last = AreChannelsLast(op.String("data_format"));
  const auto first = dims.begin() + (is_last ? 1 : 2);
  return Features{dims[0], dims[is_last ? axes + 1 : 1], Dims(first, first + axes), is_last};
}

// Error: the filter does not fit channels and groups.
absl::Status CheckChannels(const OpRun& op, const Convolution& c) {
  const Dims& filter = op.Input("Filter").dims;
  const bool fits = c.from.channels % c.groups == 0 && c.to.channels % c.groups == 0 &&
                    filter[0] == c.to.channels && filter[1] == c.from.channels / c.groups;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(op.Input("Input").dims),
                                                 " and Filter ", DimsText(filter), " in ", c.groups,
                                                 " groups; want channels that fit"));
}

// A convolution whose input and output are both Input, but for what follows from the filter.
absl::StatusOr<Convolution> ReadConvolution(const OpRun& op, int axes) {
  ASSIGN_OR_RETURN(const Features input, FeaturesOf(op, "Input", axes));
  RETURN_IF_ERROR(op.CheckRank("Filter", axes + 2));
  Convolution c{input, input, op.Int("groups"), {}};
  if (c.groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", c.groups, "; want 1 or more"));
  }
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          op.String("padding_algorithm")};
  ASSIGN_OR_RETURN(
      c.window, MakeWindowAxes(attrs, DimsView(op.Input("Filter").dims).subspan(2), input.sizes));
  return c;
}

}  // namespace

Dims Features::dims() const {
  Dims dims = sizes;
  dims.insert(channels_last ? dims.end() : dims.begin(), channels);
  dims.insert(dims.begin(), batch);
  return dims;
}

int64_t Convolution::taps() const {
  int64_t count = 1;
  for (const WindowAxis& axis : window) count *= axis.kernel;
  return count;
}

std::vector<Convolution::Tap> Convolution::TapsAt(int64_t place) const {
  const int axes = static_cast<int>(window.size());
  Dims corner(axes);
  for (int axis = axes - 1; axis >= 0; --axis) {
    corner[axis] = place % to.sizes[axis] * window[axis].stride - window[axis].pad_before;
    place /= to.sizes[axis];
  }
  std::vector<Tap> found;
  for (int64_t number = 0; number < taps(); ++number) {
    int64_t rest = number;
    int64_t at = 0;
    int64_t row = 1;
    bool is_padding = false;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const int64_t along = corner[axis] + rest % window[axis].kernel * window[axis].dilation;
      rest /= window[axis].kernel;
      is_padding |= along < 0 || along >= from.sizes[axis];
      at += along * row;
      row *= from.sizes[axis];
    }
    if (!is_padding) found.push_back({number, at});
  }
  return found;
}

absl::StatusOr<Convolution> ForwardConvolution(const OpRun& op, int axes) {
  ASSIGN_OR_RETURN(Convolution c, ReadConvolution(op, axes));
  c.to.channels = op.Input("Filter").dims[0];
  for (int i = 0; i < axes; ++i) {
    ASSIGN_OR_RETURN(c.to.sizes[i], WindowCount(c.from.sizes[i], c.window[i]));
  }
  RETURN_IF_ERROR(CheckChannels(op, c));
  return c;
}

absl::StatusOr<Convolution> TransposedConvolution(const OpRun& op, int axes) {
  ASSIGN_OR_RETURN(Convolution c, ReadConvolution(op, axes));
  c.from.channels = op.Input("Filter").dims[1] * c.groups;
  RETURN_IF_ERROR(CheckChannels(op, c));
  // Either asks for up to stride - 1 more at the end.
  for (const char* attribute : {"output_size", "output_padding"}) {
    const size_t count = op.Ints(attribute).size();
    if (count == 0 || static_cast<int>(count) == axes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(attribute, " has ", count, " values; want ", axes, " or none"));
  }
  const std::vector<int64_t> wanted = op.Ints("output_size");
  const std::vector<int64_t> added = op.Ints("output_padding");
  for (int i = 0; i < axes; ++i) {
    ASSIGN_OR_RETURN(const int64_t made, TransposedSize(c.to.sizes[i], c.window[i]));
    c.from.sizes[i] = !wanted.empty() ? wanted[i] : !added.empty() ? made + added[i] : made;
    if (c.from.sizes[i] < made || c.from.sizes[i] - made >= c.window[i].stride) {
      return absl::InvalidArgumentError(absl::StrCat("the output is to be ", c.from.sizes[i],
                                                     "; want ", made,
                                                     ", or less than a stride more"));
    }
  }
  return c;
}

}  // namespace fixpoint::reference
