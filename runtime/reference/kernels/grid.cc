// Ops that make grids and matrices, or take a triangle of one.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

absl::Status Eye(OpRun& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  const int64_t rows = op.Int("num_rows");
  const int64_t columns = op.Int("num_columns") == -1 ? rows : op.Int("num_columns");
  RETURN_IF_ERROR(CheckSizes({rows, columns}));
  Array out(dtype, {rows, columns});
  for (int64_t i = 0; i < rows && i < columns; ++i) out[i * columns + i] = 1;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Counted from the nearer end, so that both are exact.
absl::Status Linspace(OpRun& op) {
  for (const char* slot : {"Start", "Stop", "Num"}) RETURN_IF_ERROR(op.CheckSize(slot, 1));
  const double start = op.Input("Start")[0];
  const double stop = op.Input("Stop")[0];
  const int64_t count = ToInt(op.Input("Num")[0]);
  if (count < 1) {
    return absl::InvalidArgumentError(absl::StrCat("Num is ", count, "; want 1 or more"));
  }
  VarType::Type dtype = op.Input("Start").dtype;
  if (op.era() == Era::kPaddle2) {
    ASSIGN_OR_RETURN(dtype, op.DataType("dtype"));
  }
  Array out(dtype, {count});
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_near_start = i < count / 2 || count == 1;
    out[i] = is_near_start ? start + step * static_cast<double>(i)
                           : stop - step * static_cast<double>(count - 1 - i);
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Meshgrid(OpRun& op) {
  const std::vector<const Array*> all = op.Inputs("X");
  Dims dims;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is ", DimsText(all[i]->dims), "; want one dimension"));
    }
    dims.push_back(all[i]->size());
  }
  if (static_cast<size_t>(op.OutputCount("Out")) != all.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", all.size(), " inputs and ", op.OutputCount("Out"), " outputs; want as many"));
  }
  for (int axis = 0; axis < static_cast<int>(all.size()); ++axis) {
    Array out(all[axis]->dtype, dims);
    const AxisView view = ViewAround(dims, axis);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.size; ++i) {
        for (int64_t k = 0; k < view.inner; ++k) out[view.At(o, i, k)] = (*all[axis])[i];
      }
    }
    op.SetOutput("Out", axis, std::move(out));
  }
  return absl::OkStatus();
}

// The gradient is the same triangle of the gradient.
absl::Status Triangle(OpRun& op, const char* input, const char* output) {
  Array out = op.Input(input);
  if (out.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(input, " is ", DimsText(out.dims), "; want 2 dimensions or more"));
  }
  const int64_t rows = out.dims[out.rank() - 2];
  const int64_t columns = out.dims[out.rank() - 1];
  const int64_t diagonal = std::clamp<int64_t>(op.Int("diagonal"), -rows, columns);
  const bool lower = op.Bool("lower");
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t right = i % columns - i / columns % rows;  // of the main diagonal
    if (lower ? right > diagonal : right < diagonal) out[i] = 0;
  }
  op.SetOutput(output, std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels GridKernels() {
  return {{"eye", Eye},
          {"linspace", Linspace},
          {"meshgrid", Meshgrid},
          {"tril_triu", [](OpRun& op) { return Triangle(op, "X", "Out"); }},
          {"tril_triu_grad", [](OpRun& op) { return Triangle(op, "Out@GRAD", "X@GRAD"); }}};
}

}  // namespace fixpoint::reference
