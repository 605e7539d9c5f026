// maxout: the largest of adjacent channels.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X as [outer, channels of Out, groups, inner], and the dims of Out.
struct Channels {
  AxisView groups;
  Dims out_dims;
};

absl::StatusOr<Channels> ChannelsOf(const OpRun& op) {
  const Array& x = op.Input("X");
  const int64_t groups = op.Int("groups");
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  if (groups < 1 || x.dims[axis] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", groups, " and X ",
                                                   DimsText(x.dims), "; want a divisor of the ",
                                                   x.dims[axis], " channels"));
  }
  const AxisView view = ViewAround(x.dims, axis);
  Channels channels{{view.outer * (view.size / groups), groups, view.inner}, x.dims};
  channels.out_dims[axis] /= groups;
  return channels;
}

absl::Status Maxout(OpRun& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  const Array& x = op.Input("X");
  Array out(x.dtype, channels.out_dims);
  int64_t line = 0;
  ForEachLine(channels.groups, [&](int64_t start, int64_t stride, int64_t size) {
    double largest = x[start];
    for (int64_t i = 1; i < size; ++i) largest = std::max(largest, x[start + i * stride]);
    out[line++] = largest;
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The first of equal ones has the gradient.
absl::Status MaxoutGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  for (const char* slot : {"Out", "Out@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, channels.out_dims));
  }
  const Array& x = op.Input("X");
  Array dx(x.dtype, x.dims);
  int64_t line = 0;
  ForEachLine(channels.groups, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      if (x[start + i * stride] != op.Input("Out")[line]) continue;
      dx[start + i * stride] = op.Input("Out@GRAD")[line];
      break;
    }
    ++line;
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels MaxoutKernels() { return {{"maxout", Maxout}, {"maxout_grad", MaxoutGradient}}; }

}  // namespace fixpoint::reference
