// Pooling over windows of an image.

#include <algorithm>
#include <array>
#include <cfloat>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The part of an axis of the image that one output uses.
struct Span {
  int64_t begin;   // in the image
  int64_t end;     // after the last, in the image
  int64_t padded;  // how long the window is with the padding that counts
};
// The parts by the place on the output's axis.
using SpanOf = std::function<Span(int64_t)>;

struct Pooling {
  bool exclusive;
  Dims x_dims;
  Dims out_dims;
  int channel_axis;
  std::array<int, 2> axes;  // height, width
  std::array<SpanOf, 2> spans;
};

// For the windows of an axis of that size. A window may be in padding alone; then it takes nothing.
SpanOf WindowSpans(int64_t size, const WindowAxis& axis, Era era) {
  return [=](int64_t i) {
    const int64_t start = i * axis.stride - axis.pad_before;
    const int64_t end = start + axis.kernel;
    // 2.x does not count what is beyond the padding, which ceil_mode can reach; 1.x does.
    const int64_t last = era == Era::kPaddle2 ? std::min(end, size + axis.pad_after) : end;
    const int64_t begin_in_image = std::clamp<int64_t>(start, 0, size);
    return Span{begin_in_image, std::max(std::min(end, size), begin_in_image), last - start};
  };
}

// For `count` parts of an axis that cover it; neighbours overlap if it is no multiple.
SpanOf AdaptiveSpans(int64_t size, int64_t count) {
  return [=](int64_t i) {
    const int64_t begin = i * size / count;
    const int64_t end = ((i + 1) * size + count - 1) / count;
    return Span{begin, end, end - begin};
  };
}

absl::Status CheckKernel(const std::vector<int64_t>& ksize) {
  if (ksize.size() == 2 && ksize[0] > 0 && ksize[1] > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ksize is [", absl::StrJoin(ksize, ", "), "]; want two positive numbers"));
}

absl::StatusOr<bool> IsMax(const OpRun& op) {
  const std::string type = op.String("pooling_type");
  if (type == "max" || type == "avg") return type == "max";
  return absl::InvalidArgumentError(
      absl::StrCat("pooling_type is \"", type, "\"; want max or avg"));
}

absl::StatusOr<Pooling> PoolingOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  Pooling p;
  p.exclusive = op.Bool("exclusive");
  p.x_dims = p.out_dims = op.Input("X").dims;
  const bool channels_last = IsChannelsLast(op.String("data_format"));
  p.channel_axis = channels_last ? 3 : 1;
  p.axes = channels_last ? std::array<int, 2>{1, 2} : std::array<int, 2>{2, 3};
  const Dims sizes{p.x_dims[p.axes[0]], p.x_dims[p.axes[1]]};
  const std::vector<int64_t> ksize = op.Ints("ksize");

  if (op.Bool("global_pooling") || op.Bool("adaptive")) {
    std::vector<int64_t> counts = {1, 1};
    if (!op.Bool("global_pooling")) {
      RETURN_IF_ERROR(CheckKernel(ksize));
      counts = ksize;
    }
    for (int i = 0; i < 2; ++i) {
      p.out_dims[p.axes[i]] = counts[i];
      p.spans[i] = AdaptiveSpans(sizes[i], counts[i]);
    }
  } else {
    RETURN_IF_ERROR(CheckKernel(ksize));
    const WindowAttrs attrs{
        op.Ints("strides"), op.Ints("paddings"), {1, 1}, op.String("padding_algorithm")};
    ASSIGN_OR_RETURN(const Window window, MakeWindow(attrs, ksize, sizes));
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(p.out_dims[p.axes[i]],
                       WindowCount(sizes[i], window[i], op.Bool("ceil_mode")));
      p.spans[i] = WindowSpans(sizes[i], window[i], op.era());
    }
  }
  return p;
}

// Where element (n, c, y, x) is.
int64_t At(const Pooling& p, const Dims& strides, int64_t n, int64_t c, int64_t y, int64_t x) {
  return n * strides[0] + c * strides[p.channel_axis] + y * strides[p.axes[0]] +
         x * strides[p.axes[1]];
}

// Calls f(out_i, places of X in the window, what an average divides by) for each output.
template <typename F>
void ForEachWindow(const Pooling& p, F f) {
  const Dims x_strides = Strides(p.x_dims);
  const Dims out_strides = Strides(p.out_dims);
  std::vector<int64_t> places;
  for (int64_t n = 0; n < p.out_dims[0]; ++n) {
    for (int64_t c = 0; c < p.out_dims[p.channel_axis]; ++c) {
      for (int64_t y = 0; y < p.out_dims[p.axes[0]]; ++y) {
        const Span rows = p.spans[0](y);
        for (int64_t x = 0; x < p.out_dims[p.axes[1]]; ++x) {
          const Span columns = p.spans[1](x);
          places.clear();
          for (int64_t i = rows.begin; i < rows.end; ++i) {
            for (int64_t j = columns.begin; j < columns.end; ++j) {
              places.push_back(At(p, x_strides, n, c, i, j));
            }
          }
          const double count = p.exclusive ? static_cast<double>(places.size())
                                           : static_cast<double>(rows.padded * columns.padded);
          f(At(p, out_strides, n, c, y, x), places, count);
        }
      }
    }
  }
}

// A window without elements has the maximum that the reference begins with, and an average of 0.
absl::Status Pool2d(OpRun& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingOf(op));
  const Array& x = op.Input("X");
  Array out(x.dtype, pooling.out_dims);
  ForEachWindow(pooling, [&](int64_t i, const std::vector<int64_t>& places, double count) {
    if (is_max) out[i] = -FLT_MAX;
    for (const int64_t at : places) {
      out[i] = is_max ? std::max(out[i], x[at]) : out[i] + x[at] / count;
    }
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Averages codes.
absl::Status IntegerAveragePool2d(OpRun& op) {
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingOf(op));
  RETURN_IF_ERROR(CheckCodes(op, "X"));
  RETURN_IF_ERROR(op.CheckSize("Scales", 1));
  const Array& x = op.Input("X");
  const auto step = static_cast<float>(op.Input("Scales")[0]);
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "input_zero_point", x.dtype));
  Array averages(VarType::FP64, pooling.out_dims);
  ForEachWindow(pooling, [&](int64_t i, const std::vector<int64_t>& places, double count) {
    if (places.empty()) return;
    double sum = 0;
    for (const int64_t at : places) sum += x[at] - zero_point;
    averages[i] = static_cast<float>(sum) * (step / static_cast<float>(count));
  });
  ASSIGN_OR_RETURN(Array out, StoreNumbers(op, std::move(averages), pooling.channel_axis));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The gradient of a maximum goes to the first element that is equal to it.
absl::Status Pool2dGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Pooling pooling, PoolingOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out", pooling.out_dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", pooling.out_dims));
  const Array& x = op.Input("X");
  const Array& out = op.Input("Out");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachWindow(pooling, [&](int64_t i, const std::vector<int64_t>& places, double count) {
    for (const int64_t at : places) {
      if (!is_max) {
        dx[at] += dout[i] / count;
      } else if (x[at] == out[i]) {
        dx[at] += dout[i];
        break;
      }
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels PoolingKernels() {
  return {{"pool2d", Pool2d},
          {"pool2d_grad", Pool2dGradient},
          {"integer_average_pool2d", IntegerAveragePool2d}};
}

}  // namespace fixpoint::reference
