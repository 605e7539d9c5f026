// Ops over sequences: rows of a tensor, cut by its offsets (LoD), of which the last level counts.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The rows of a sequence are pooled to one row, column by column.
enum class Pool { kAverage, kSum, kSqrt, kMax, kLast, kFirst };

absl::StatusOr<Pool> PoolOf(const OpRun& op) {
  const std::string type = op.String("pooltype");
  if (type == "AVERAGE") return Pool::kAverage;
  if (type == "SUM") return Pool::kSum;
  if (type == "SQRT") return Pool::kSqrt;
  if (type == "MAX") return Pool::kMax;
  if (type == "LAST") return Pool::kLast;
  if (type == "FIRST") return Pool::kFirst;
  return absl::InvalidArgumentError(
      absl::StrCat("pooltype is \"", type, "\"; want AVERAGE, SUM, SQRT, MAX, LAST or FIRST"));
}

// The factor of row `row` in the pooled row, of the types that are linear.
double Weight(Pool pool, const Sequence& sequence, int64_t row) {
  switch (pool) {
    case Pool::kAverage:
      return 1.0 / sequence.length();
    case Pool::kSqrt:
      return 1 / std::sqrt(sequence.length());
    case Pool::kLast:
      return row == sequence.end - 1;
    case Pool::kFirst:
      return row == sequence.begin;
    default:
      return 1;
  }
}

int64_t RowWidth(const Array& x) { return ViewAround(x.dims, 0).inner; }

// The first row in which a column is largest.
int64_t LargestRow(const Array& x, const Sequence& sequence, int64_t column) {
  const int64_t width = RowWidth(x);
  int64_t largest = sequence.begin;
  for (int64_t row = sequence.begin; row < sequence.end; ++row) {
    if (x[row * width + column] > x[largest * width + column]) largest = row;
  }
  return largest;
}

// One row per sequence, pad_value for an empty one. MaxIndex: the row of X that has the largest
// element, whatever is pooled.
absl::Status SequencePool(OpRun& op) {
  ASSIGN_OR_RETURN(const Pool pool, PoolOf(op));
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("X", op.Input("X").dims, op.Input("X").lod));
  const Array& x = op.Input("X");
  const int64_t width = RowWidth(x);
  Dims dims = x.dims;
  dims[0] = static_cast<int64_t>(sequences.size());
  Array out(x.dtype, dims);
  Array index(VarType::INT32, dims);
  for (size_t s = 0; s < sequences.size(); ++s) {
    const Sequence& sequence = sequences[s];
    for (int64_t column = 0; column < width; ++column) {
      double& pooled = out[s * width + column];
      if (sequence.length() == 0) {
        pooled = op.Float("pad_value");
        index[s * width + column] = -1;
        continue;
      }
      const int64_t largest = LargestRow(x, sequence, column);
      index[s * width + column] = static_cast<double>(largest);
      if (pool == Pool::kMax) {
        pooled = x[largest * width + column];
        continue;
      }
      for (int64_t row = sequence.begin; row < sequence.end; ++row) {
        pooled += Weight(pool, sequence, row) * x[row * width + column];
      }
    }
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("MaxIndex", std::move(index));
  return absl::OkStatus();
}

absl::Status SequencePoolGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Pool pool, PoolOf(op));
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("X", op.Input("X").dims, op.Input("X").lod));
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  const int64_t width = RowWidth(x);
  Dims dims = x.dims;
  dims[0] = static_cast<int64_t>(sequences.size());
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  Array dx(dout.dtype, x.dims);
  for (size_t s = 0; s < sequences.size(); ++s) {
    const Sequence& sequence = sequences[s];
    for (int64_t column = 0; column < width && sequence.length() > 0; ++column) {
      const double d = dout[s * width + column];
      if (pool == Pool::kMax) {
        dx[LargestRow(x, sequence, column) * width + column] = d;
        continue;
      }
      for (int64_t row = sequence.begin; row < sequence.end; ++row) {
        dx[row * width + column] = Weight(pool, sequence, row) * d;
      }
    }
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// Each row of Out is the product of Filter [length * D, M] with the `length` rows of X [T, D] from
// contextStart on beside it, those beyond its sequence 0. Calls f(out_i, x_i, filter_i) with each
// product.
template <typename F>
absl::Status ForEachContextProduct(const OpRun& op, F f) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  RETURN_IF_ERROR(op.CheckRank("Filter", 2));
  if (op.Bool("paddingTrainable") || op.Int("contextStride") != 1) {
    return absl::UnimplementedError(
        "paddingTrainable or a contextStride; want rows of 0 around sequences, and a stride of 1");
  }
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("X", op.Input("X").dims, op.Input("X").lod));
  const int64_t length = op.Int("contextLength");
  const int64_t start = op.Int("contextStart");
  const int64_t depth = op.Input("X").dims[1];
  const Dims& filter = op.Input("Filter").dims;
  if (length < 1 || filter[0] % length != 0 || filter[0] / length != depth) {
    return absl::InvalidArgumentError(
        absl::StrCat("Filter is ", DimsText(filter), ", contextLength ", length, " and X ",
                     DimsText(op.Input("X").dims), "; want contextLength * X's width rows"));
  }
  for (const Sequence& sequence : sequences) {
    for (int64_t t = sequence.begin; t < sequence.end; ++t) {
      for (int64_t i = 0; i < length; ++i) {
        const int64_t row = t + start + i;
        if (row < sequence.begin || row >= sequence.end) continue;
        for (int64_t j = 0; j < depth; ++j) {
          for (int64_t m = 0; m < filter[1]; ++m) {
            f(t * filter[1] + m, row * depth + j, (i * depth + j) * filter[1] + m);
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status SequenceConv(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  RETURN_IF_ERROR(op.CheckRank("Filter", 2));
  const Array& x = op.Input("X");
  const Array& filter = op.Input("Filter");
  Array out(x.dtype, Dims{x.dims[0], filter.dims[1]});
  RETURN_IF_ERROR(ForEachContextProduct(
      op, [&](int64_t i, int64_t x_i, int64_t filter_i) { out[i] += x[x_i] * filter[filter_i]; }));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SequenceConvGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  RETURN_IF_ERROR(op.CheckRank("Filter", 2));
  const Array& x = op.Input("X");
  const Array& filter = op.Input("Filter");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", Dims{x.dims[0], filter.dims[1]}));
  Array dx(x.dtype, x.dims);
  Array dfilter(filter.dtype, filter.dims);
  RETURN_IF_ERROR(ForEachContextProduct(op, [&](int64_t i, int64_t x_i, int64_t filter_i) {
    dx[x_i] += dout[i] * filter[filter_i];
    dfilter[filter_i] += dout[i] * x[x_i];
  }));
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Filter@GRAD", std::move(dfilter));
  return absl::OkStatus();
}

// Softmax over each sequence of X [T] or [T, 1].
absl::Status SequenceSoftmax(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("X", op.Input("X").dims, op.Input("X").lod));
  RETURN_IF_ERROR(op.CheckSize("X", x.dims[0]));
  Array out = x;
  for (const Sequence& sequence : sequences) {
    double largest = -INFINITY;
    double sum = 0;
    for (int64_t i = sequence.begin; i < sequence.end; ++i) largest = std::max(largest, x[i]);
    for (int64_t i = sequence.begin; i < sequence.end; ++i) sum += std::exp(x[i] - largest);
    for (int64_t i = sequence.begin; i < sequence.end; ++i) out[i] = std::exp(x[i] - largest) / sum;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Calls f(out_i, x_i, filter_i) with each product: out[t] is the sum of x[t + i] * filter[i],
// within a sequence.
template <typename F>
absl::Status ForEachRowProduct(const OpRun& op, F f) {
  const Array& x = op.Input("X");
  const Array& filter = op.Input("Filter");
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  RETURN_IF_ERROR(op.CheckRank("Filter", 2));
  const int64_t width = x.dims[1];
  RETURN_IF_ERROR(op.CheckDims("Filter", Dims{filter.dims[0], width}));
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOf("X", x.dims, x.lod));
  for (const Sequence& sequence : sequences) {
    for (int64_t t = sequence.begin; t < sequence.end; ++t) {
      for (int64_t i = 0; i < filter.dims[0] && t + i < sequence.end; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          f(t * width + j, (t + i) * width + j, i * width + j);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RowConv(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& filter = op.Input("Filter");
  Array out(x.dtype, x.dims);
  RETURN_IF_ERROR(ForEachRowProduct(
      op, [&](int64_t i, int64_t x_i, int64_t f_i) { out[i] += x[x_i] * filter[f_i]; }));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status RowConvGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& filter = op.Input("Filter");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  Array dx(x.dtype, x.dims);
  Array dfilter(filter.dtype, filter.dims);
  RETURN_IF_ERROR(ForEachRowProduct(op, [&](int64_t i, int64_t x_i, int64_t f_i) {
    dx[x_i] += dout[i] * filter[f_i];
    dfilter[f_i] += dout[i] * x[x_i];
  }));
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Filter@GRAD", std::move(dfilter));
  return absl::OkStatus();
}

// The places of a window over images.
struct WindowPlaces {
  int64_t kernel[2];
  int64_t stride[2];
  int64_t before[2];
  int64_t places[2];
};

absl::StatusOr<WindowPlaces> PlacesOf(const OpRun& op) {
  if (op.HasInputSlot("Y") && op.FindInput("Y") != nullptr) {
    return absl::UnimplementedError("Y, the sizes of images, is given; want images of one size");
  }
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  const std::vector<int64_t> kernels = op.Ints("kernels");
  const std::vector<int64_t> strides = op.Ints("strides");
  const std::vector<int64_t> paddings = op.Ints("paddings");
  if (kernels.size() != 2 || strides.size() != 2 || paddings.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("kernels, strides and paddings have ",
                                                   kernels.size(), ", ", strides.size(), " and ",
                                                   paddings.size(), " numbers; want 2, 2 and 4"));
  }
  WindowPlaces window;
  for (int i = 0; i < 2; ++i) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int64_t extent = op.Input("X").dims[2 + i];
    const bool is_sane = kernels[i] >= 1 && strides[i] >= 1 && paddings[i] >= 0 &&
                         paddings[i + 2] >= 0 && kernels[i] <= kMost && paddings[i] <= kMost &&
                         paddings[i + 2] <= kMost;
    const bool has_pixels = op.Input("X").dims[0] >= 1 && op.Input("X").dims[1] >= 1;
    const int64_t room =
        is_sane && has_pixels ? extent + paddings[i] + paddings[i + 2] - kernels[i] : -1;
    if (room < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "kernels are ", DimsText(kernels), ", strides ", DimsText(strides), ", paddings ",
          DimsText(paddings), " and X is ", DimsText(op.Input("X").dims),
          "; want windows that fit in the padded images"));
    }
    window.kernel[i] = kernels[i];
    window.stride[i] = strides[i];
    window.before[i] = paddings[i];
    window.places[i] = room / strides[i] + 1;
  }
  return window;
}

// Calls f(out_i, x_i) with each element of a row that lies in the image.
template <typename F>
void ForEachWindowElement(const Dims& x, const WindowPlaces& w, F f) {
  int64_t out = 0;
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t y = 0; y < w.places[0]; ++y) {
      for (int64_t z = 0; z < w.places[1]; ++z) {
        for (int64_t c = 0; c < x[1]; ++c) {
          for (int64_t i = 0; i < w.kernel[0]; ++i) {
            for (int64_t j = 0; j < w.kernel[1]; ++j, ++out) {
              const int64_t row = y * w.stride[0] - w.before[0] + i;
              const int64_t column = z * w.stride[1] - w.before[1] + j;
              const bool is_inside = row >= 0 && row < x[2] && column >= 0 && column < x[3];
              if (is_inside) f(out, ((n * x[1] + c) * x[2] + row) * x[3] + column);
            }
          }
        }
      }
    }
  }
}

Dims WindowDims(const Dims& x, const WindowPlaces& w) {
  return {x[0] * w.places[0] * w.places[1], x[1] * w.kernel[0] * w.kernel[1]};
}

absl::Status Im2Sequence(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const WindowPlaces window, PlacesOf(op));
  RETURN_IF_ERROR(ElementCount({x.dims[0], window.places[0], window.places[1], x.dims[1],
                                window.kernel[0], window.kernel[1]})
                      .status());
  Array out(x.dtype, WindowDims(x.dims, window));
  ForEachWindowElement(x.dims, window, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  out.lod = {OffsetsOf(std::vector<int64_t>(x.dims[0], window.places[0] * window.places[1]))};
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Im2SequenceGradient(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const WindowPlaces window, PlacesOf(op));
  RETURN_IF_ERROR(ElementCount({x.dims[0], window.places[0], window.places[1], x.dims[1],
                                window.kernel[0], window.kernel[1]})
                      .status());
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", WindowDims(x.dims, window)));
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  ForEachWindowElement(x.dims, window, [&](int64_t i, int64_t x_i) { dx[x_i] += dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels SequenceKernels() {
  return {
      {"sequence_pool", SequencePool},           {"sequence_pool_grad", SequencePoolGradient},
      {"sequence_conv", SequenceConv},           {"sequence_conv_grad", SequenceConvGradient},
      {"sequence_softmax", SequenceSoftmax},     {"row_conv", RowConv},
      {"row_conv_grad", RowConvGradient},        {"im2sequence", Im2Sequence},
      {"im2sequence_grad", Im2SequenceGradient},
  };
}

}  // namespace fixpoint::reference
