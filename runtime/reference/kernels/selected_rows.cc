// Selected rows of a table by themselves.

#include "runtime/reference/selected_rows.h"

#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::Status Merge(OpRun& op) {
  ASSIGN_OR_RETURN(const TableRows* rows, RowsOf(op, "X"));
  const Array& x = op.Input("X");
  op.SetSelectedRows("Out", TableOf(x.dtype, x.dims, Merged(*rows)));
  return absl::OkStatus();
}

absl::Status GetTensor(OpRun& op) {
  ASSIGN_OR_RETURN(const TableRows* rows, RowsOf(op, "X"));
  const Array& x = op.Input("X");
  Array out(x.dtype, Dims{static_cast<int64_t>(rows->ids.size()), x.dims[1]});
  out.values = rows->values;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels SelectedRowsKernels() {
  return {{"merge_selected_rows", Merge}, {"get_tensor_from_selected_rows", GetTensor}};
}

}  // namespace fixpoint::reference
