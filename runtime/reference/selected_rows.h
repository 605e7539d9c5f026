// Tables of which an op gives only some rows, such as the gradient of a sparse embedding. An op
// that does not know of them reads the whole table.

#ifndef FIXPOINT_RUNTIME_REFERENCE_SELECTED_ROWS_H_
#define FIXPOINT_RUNTIME_REFERENCE_SELECTED_ROWS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "proto/wire/program.pb.h"
#include "runtime/reference/array.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// The table of those rows. REQUIRES: dims are [height, width], the ids from 0 to height - 1.
Array TableOf(VarType::Type dtype, DimsView dims, TableRows rows);

// A row for each id, ids ascending: the sum of its rows.
TableRows Merged(const TableRows& rows);

// The table with a function of each element of its rows. REQUIRES: table.rows.
Array WithRows(const Array& table, const std::function<double(double)>& function);

// The rows of an input. Error (kInvalidArgument): it has none selected.
absl::StatusOr<const TableRows*> RowsOf(const OpRun& op, absl::string_view slot);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_SELECTED_ROWS_H_
