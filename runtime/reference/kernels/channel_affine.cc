// A factor and an addend for each channel.

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X around its channels.
absl::StatusOr<AxisView> ChannelsOf(const OpRun& op) {
  const Array& x = op.Input("X");
  if (x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want 2 dimensions or more"));
  }
  const AxisView view = ViewAround(x.dims, op.String("data_layout") == "NCHW" ? 1 : x.rank() - 1);
  RETURN_IF_ERROR(op.CheckDims("Scale", {view.size}));
  return view;
}

// Calls f(i, c) with each element and its channel.
template <typename F>
void ForEachOfChannels(const AxisView& view, F f) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t c = 0; c < view.size; ++c) {
      for (int64_t k = 0; k < view.inner; ++k) f(view.At(o, c, k), c);
    }
  }
}

absl::Status ChannelAffine(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Bias", {view.size}));
  const Array& scale = op.Input("Scale");
  const Array& bias = op.Input("Bias");
  Array out = op.Input("X");
  ForEachOfChannels(view, [&](int64_t i, int64_t c) { out[i] = out[i] * scale[c] + bias[c]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ChannelAffineGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelsOf(op));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", x.dims));
  const Array& scale = op.Input("Scale");
  const Array& dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  Array dscale(scale.dtype, scale.dims);
  Array dbias(scale.dtype, scale.dims);
  ForEachOfChannels(view, [&](int64_t i, int64_t c) {
    dx[i] = dout[i] * scale[c];
    dscale[c] += dout[i] * x[i];
    dbias[c] += dout[i];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Scale@GRAD", std::move(dscale));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  return absl::OkStatus();
}

}  // namespace

Kernels ChannelAffineKernels() {
  return {{"affine_channel", ChannelAffine}, {"affine_channel_grad", ChannelAffineGradient}};
}

}  // namespace fixpoint::reference
