// Padding.

#include <utility>
#include <vector>

#include "ops/element_places.h"
#include "ops/window_axes.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

struct Padding {
  std::vector<PaddedAxis> axes;
  PadMode mode = PadMode::kConstant;
};

absl::StatusOr<Padding> PaddingOf(const OpRun& op, PadForm form, int rank) {
  Padding padding;
  if (form == PadForm::kEachAxis) {
    ASSIGN_OR_RETURN(padding.axes, PaddedAxes(form, rank, false, op.Ints("paddings")));
    return padding;
  }
  ASSIGN_OR_RETURN(padding.mode, PadModeOf(op.String("mode")));
  ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, IntsFrom(op, "Paddings", "", "paddings"));
  ASSIGN_OR_RETURN(padding.axes,
                   PaddedAxes(form, rank, AreChannelsLast(op.String("data_format")), paddings));
  return padding;
}

absl::StatusOr<Dims> DimsOf(const Padding& padding, DimsView x) {
  Dims dims;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t size, PaddedSize(x[i], padding.axes[i], padding.mode));
    dims.push_back(size);
  }
  return dims;
}

// Calls f(i, x_i) with each element of a padded tensor and its place in X, -1 for padding.
template <typename F>
void ForEachPadded(const Padding& padding, DimsView x, DimsView dims, F f) {
  const Dims strides = Strides(x);
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < Volume(dims); ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < dims.size() && at >= 0; ++axis) {
      const int64_t place = PaddedPlace(index[axis], x[axis], padding.axes[axis], padding.mode);
      at = place < 0 ? -1 : at + place * strides[axis];
    }
    f(i, at);
    for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0; --axis) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

absl::Status Pad(OpRun& op, PadForm form) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(op, form, x.rank()));
  ASSIGN_OR_RETURN(const Dims dims, DimsOf(padding, x.dims));
  const double value = op.Float(form == PadForm::kVolume ? "value" : "pad_value");
  Array out(x.dtype, dims);
  ForEachPadded(padding, x.dims, dims,
                [&](int64_t i, int64_t x_i) { out[i] = x_i < 0 ? value : x[x_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The gradient op of pad does not read X, whose dims are those of the gradient without padding.
absl::StatusOr<Dims> ForwardDims(const OpRun& op, PadForm form, const Padding& padding) {
  if (form != PadForm::kEachAxis) return op.Input("X").dims;
  Dims dims = op.Input("Out@GRAD").dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const PaddedAxis& axis = padding.axes[i];
    ASSIGN_OR_RETURN(dims[i], PaddedSize(dims[i], {-axis.before, -axis.after}, PadMode::kConstant));
  }
  return dims;
}

absl::Status PadGradient(OpRun& op, PadForm form) {
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const Padding padding, PaddingOf(op, form, dout.rank()));
  ASSIGN_OR_RETURN(const Dims dims, ForwardDims(op, form, padding));
  if (form != PadForm::kEachAxis) RETURN_IF_ERROR(op.CheckRank("X", dout.rank()));
  ASSIGN_OR_RETURN(const Dims padded, DimsOf(padding, dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", padded));
  Array dx(dout.dtype, dims);
  ForEachPadded(padding, dims, padded, [&](int64_t i, int64_t x_i) {
    if (x_i >= 0) dx[x_i] += dout[i];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels PaddingKernels() {
  Kernels kernels;
  const auto add = [&](const std::string& type, PadForm form) {
    kernels.push_back({type, [form](OpRun& op) { return Pad(op, form); }});
    kernels.push_back({type + "_grad", [form](OpRun& op) { return PadGradient(op, form); }});
  };
  add("pad", PadForm::kEachAxis);
  add("pad2d", PadForm::kImage);
  add("pad3d", PadForm::kVolume);
  return kernels;
}

}  // namespace fixpoint::reference
