// Ops over sequences: rows of a tensor, cut by its offsets (LoD), of which the last level counts.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
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
  Array dx(x.dtype, x.dims);
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

}  // namespace

Kernels SequenceKernels() {
  return {
      {"sequence_pool", SequencePool},       {"sequence_pool_grad", SequencePoolGradient},
      {"sequence_conv", SequenceConv},       {"sequence_conv_grad", SequenceConvGradient},
      {"sequence_softmax", SequenceSoftmax},
  };
}

}  // namespace fixpoint::reference
