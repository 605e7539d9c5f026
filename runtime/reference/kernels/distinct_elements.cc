// Ops that pick elements by what they are: masked_select, and unique.

#include <map>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::Status MaskedSelect(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Mask", x.dims));
  std::vector<double> selected;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (op.Input("Mask")[i] != 0) selected.push_back(x[i]);
  }
  Array y(x.dtype, Dims{static_cast<int64_t>(selected.size())});
  y.values = std::move(selected);
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status MaskedSelectGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& mask = op.Input("Mask");
  const Array& dy = op.Input("Y@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Mask", x.dims));
  int64_t selected = 0;
  for (const double value : mask.values) selected += value != 0 ? 1 : 0;
  RETURN_IF_ERROR(op.CheckSize("Y@GRAD", selected));
  Array dx(dy.dtype, x.dims);
  int64_t next = 0;
  for (int64_t i = 0; i < dx.size(); ++i) {
    if (mask[i] != 0) dx[i] = dy[next++];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

Array Vector(VarType::Type dtype, std::vector<double> values) {
  Array vector(dtype, Dims{static_cast<int64_t>(values.size())});
  vector.values = std::move(values);
  return vector;
}

absl::Status Unique(OpRun& op) {
  const Array& x = op.Input("X");
  const bool is_fluid = op.era() == Era::kFluid;
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  if (dtype != VarType::INT32 && dtype != VarType::INT64) {
    return absl::InvalidArgumentError("dtype is no type of indices; want i32 or i64");
  }
  if (!is_fluid && !op.Ints("axis").empty()) {
    return absl::UnimplementedError("axis is there; want the elements of X alone");
  }
  for (const double element : x.values) {
    if (element != element) return absl::InvalidArgumentError("X has a NaN; want numbers");
  }
  std::map<double, int64_t> places;  // among the distinct ones
  std::vector<double> distinct;
  std::vector<double> first;
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool is_new = places.try_emplace(x[i], static_cast<int64_t>(distinct.size())).second;
    if (!is_new) continue;
    distinct.push_back(x[i]);
    first.push_back(static_cast<double>(i));
  }
  if (!is_fluid && op.Bool("is_sorted")) {
    const std::vector<double> unsorted = std::move(first);
    distinct.clear();
    first.clear();
    for (auto& [element, place] : places) {
      first.push_back(unsorted[place]);
      place = static_cast<int64_t>(distinct.size());
      distinct.push_back(element);
    }
  }
  std::vector<double> index;
  std::vector<double> counts(distinct.size());
  for (const double element : x.values) {
    index.push_back(static_cast<double>(places[element]));
    ++counts[places[element]];
  }
  op.SetOutput("Out", Vector(x.dtype, std::move(distinct)));
  op.SetOutput("Index", Vector(dtype, std::move(index)));
  if (is_fluid) return absl::OkStatus();
  op.SetOutput("Indices", Vector(dtype, std::move(first)));
  op.SetOutput("Counts", Vector(dtype, std::move(counts)));
  return absl::OkStatus();
}

}  // namespace

Kernels DistinctElementsKernels() {
  return {{"masked_select", MaskedSelect},
          {"masked_select_grad", MaskedSelectGradient},
          {"unique", Unique}};
}

}  // namespace fixpoint::reference
