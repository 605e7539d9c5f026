// dot: products of the vectors along the last axis.

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// The length of each vector.
absl::StatusOr<int64_t> WidthOf(const OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Y", x.dims));
  if (x.rank() < 1 || x.dims.back() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want vectors along its last axis"));
  }
  return x.dims.back();
}

absl::Status Dot(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t width, WidthOf(op));
  const Array& x = op.Input("X");
  Dims dims = x.dims;
  dims.back() = 1;
  if (op.era() == Era::kPaddle2) dims.pop_back();
  if (dims.empty()) dims = op.ScalarDims();
  Array out(x.dtype, dims);
  for (int64_t i = 0; i < x.size(); ++i) out[i / width] += x[i] * op.Input("Y")[i];
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status DotGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t width, WidthOf(op));
  Array dx = op.Input("Y");
  Array dy = op.Input("X");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", dx.size() / width));
  for (Array* gradient : {&dx, &dy}) {
    for (int64_t i = 0; i < dx.size(); ++i) (*gradient)[i] *= op.Input("Out@GRAD")[i / width];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

}  // namespace

Kernels DotKernels() { return {{"dot", Dot}, {"dot_grad", DotGradient}}; }

}  // namespace fixpoint::reference
