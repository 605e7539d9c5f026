// Variables that hold some rows of a tensor, such as the gradients of sparse embeddings.

#ifndef FIXPOINT_OPS_SELECTED_ROWS_H_
#define FIXPOINT_OPS_SELECTED_ROWS_H_

#include "proto/program/op.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

inline bool HoldsSelectedRows(const Variable& variable) {
  return variable.desc() != nullptr && variable.desc()->type().type() == VarType::SELECTED_ROWS;
}

// Turns a tensor's type into that of some of its rows, unless it already is one.
inline void MakeSelectedRows(VarType* type) {
  if (type->type() == VarType::SELECTED_ROWS) return;
  *type->mutable_selected_rows() = type->lod_tensor().tensor();
  type->clear_lod_tensor();
  type->set_type(VarType::SELECTED_ROWS);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SELECTED_ROWS_H_
