// Local response normalization: each element over the sum of squares of its neighbours' channels.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The channels whose squares an element is divided by.
struct Neighbours {
  AxisView channels;
  int64_t reach;  // to either side

  int64_t begin(int64_t c) const { return std::max<int64_t>(c - reach, 0); }
  int64_t end(int64_t c) const { return std::min(c + reach + 1, channels.size); }
};

absl::StatusOr<Neighbours> NeighboursOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  const int64_t n = op.Int("n");
  if (n < 1 || n % 2 == 0) {
    return absl::InvalidArgumentError(absl::StrCat("n is ", n, "; want an odd number from 1 on"));
  }
  const int axis = IsChannelsLast(op.String("data_format")) ? 3 : 1;
  return Neighbours{ViewAround(op.Input("X").dims, axis), n / 2};
}

absl::Status Lrn(OpRun& op) {
  ASSIGN_OR_RETURN(const Neighbours near, NeighboursOf(op));
  const Array& x = op.Input("X");
  Array sums(x.dtype, x.dims);
  Array out(x.dtype, x.dims);
  ForEachLine(near.channels, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) {
      double squares = 0;
      for (int64_t i = near.begin(c); i < near.end(c); ++i) {
        squares += x[start + i * stride] * x[start + i * stride];
      }
      const int64_t at = start + c * stride;
      sums[at] = op.Float("k") + op.Float("alpha") * squares;
      out[at] = x[at] * std::pow(sums[at], -op.Float("beta"));
    }
  });
  op.SetOutput("MidOut", std::move(sums));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status LrnGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Neighbours near, NeighboursOf(op));
  const Array& x = op.Input("X");
  for (const char* slot : {"Out", "MidOut", "Out@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, x.dims));
  }
  const Array& out = op.Input("Out");
  const Array& sums = op.Input("MidOut");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  const double factor = 2 * op.Float("alpha") * op.Float("beta");
  ForEachLine(near.channels, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t c = 0; c < size; ++c) {
      double shares = 0;
      for (int64_t i = near.begin(c); i < near.end(c); ++i) {
        const int64_t at = start + i * stride;
        shares += dout[at] * out[at] / sums[at];
      }
      const int64_t at = start + c * stride;
      dx[at] = dout[at] * std::pow(sums[at], -op.Float("beta")) - factor * x[at] * shares;
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels ResponseNormKernels() { return {{"lrn", Lrn}, {"lrn_grad", LrnGradient}}; }

}  // namespace fixpoint::reference
